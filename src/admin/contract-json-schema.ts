import * as z from "zod";
import type { JsonObject } from "../protocol/jsonrpc.ts";

/** Converts a schema of the contract to self-contained JSON Schema. */
export function jsonSchemaOf(schema: z.ZodType): JsonObject {
  return { ...z.toJSONSchema(schema, { io: "input", override: omitSafeIntegerBounds }) };
}

/** Removes the bounds of JavaScript's safe integers, which are no rule of this API. */
export function omitSafeIntegerBounds({ jsonSchema }: { readonly jsonSchema: z.core.JSONSchema.BaseSchema }): void {
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
}
