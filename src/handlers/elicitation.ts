// Owns what a handler asks a person, and what it is answered: content as the author's schema reads it, with its defaults, and
// held to rules that JSON Schema cannot say. Those that it can say were checked before: an answer that breaks one is none.

import { AppError } from "../protocol/app-error.ts";
import type { AnySchema, CompiledSchema, Infer } from "./schema.ts";

export type ElicitOptions<Schema = AnySchema> =
  | {
      readonly message: string;
      /** zod or JSON Schema: a flat object of primitive members. */
      readonly schema: Schema;
    }
  | { readonly message: string; readonly url: string };

export type ElicitAnswer<Content = Record<string, unknown>> =
  | { readonly action: "accept"; readonly content: Content }
  | { readonly action: "decline" | "cancel" };

/** What somebody accepted; where the schema does not say, and at a URL, any object. */
export type ElicitedContent<Schema> = [Schema] extends [never]
  ? Record<string, unknown>
  : Infer<Schema> extends object
    ? Infer<Schema>
    : Record<string, unknown>;

/** Throws an AppError that names the question, the member and the rule. */
export async function parseAcceptedContent(
  name: string,
  schema: CompiledSchema,
  content: Record<string, unknown>,
): Promise<Record<string, unknown>> {
  const result = await schema.validate(content);
  if ("value" in result) return result.value as Record<string, unknown>;
  const [violation] = result.violations;
  throw new AppError("invalidParams", { message: `The answer to "${name}": ${violation?.message}` });
}
