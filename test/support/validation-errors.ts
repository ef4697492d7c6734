import type * as z from "zod";
import { validate, type FieldRule } from "../../src/admin/validate.ts";

/** The rules that a value breaks; none if it fits. */
export function validationErrors(schema: z.ZodType, value: unknown): readonly FieldRule[] {
  const validation = validate(schema, value);
  return "errors" in validation ? validation.errors : [];
}
