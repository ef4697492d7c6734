// Types of the questions to a person and of their answers. Accepted content is parsed by the author's schema, with its
// defaults and with rules that JSON Schema cannot express. JSON Schema rules are checked earlier: content that breaks
// one does not count as an answer.

import { AppError } from "../protocol/app-error.ts";
import type { AnySchema, CompiledSchema, Infer } from "./schema.ts";

export type ElicitOptions<Schema = AnySchema> =
  | {
      readonly message: string;
      /** zod or JSON Schema: a flat object with primitive members. */
      readonly schema: Schema;
    }
  | {
      readonly message: string;
      /** Page that the person opens in a browser. Use it for data that must not pass through the client. */
      readonly url: string;
    };

/** The person's answer. `content` is the filled-in form, parsed by the schema. */
export type ElicitAnswer<Content = Record<string, unknown>> =
  | { readonly action: "accept"; readonly content: Content }
  | { readonly action: "decline" | "cancel" };

/** The accepted content. Any object when the schema gives no type, or for a URL. */
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
