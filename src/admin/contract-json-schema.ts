// Writes a schema of the contract as JSON Schema.

import * as z from "zod";
import type { JsonObject } from "../protocol/jsonrpc.ts";

/** With all that it refers to in it. */
export function jsonSchemaOf(schema: z.ZodType): JsonObject {
  return { ...z.toJSONSchema(schema, { io: "input", override: omitSafeIntegerBounds }) };
}

/** Takes away the bounds of what JavaScript counts exactly, which are no rule of this API. */
export function omitSafeIntegerBounds({ jsonSchema }: { readonly jsonSchema: z.core.JSONSchema.BaseSchema }): void {
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
}
