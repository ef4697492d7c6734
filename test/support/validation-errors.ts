import type * as z from "zod";
import { validate } from "../../src/admin/validate.ts";
import type { FieldRule } from "../../src/tenants/document/tenant-document.ts";

/** The rules that a value breaks; none if it fits. */
export function validationErrors(schema: z.ZodType, value: unknown): readonly FieldRule[] {
  const validation = validate(schema, value);
  return "errors" in validation ? validation.errors : [];
}
