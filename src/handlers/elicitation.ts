// Types of the questions to a person and of their answers. Accepted content is parsed by the author's schema, with its
// defaults and with rules that JSON Schema cannot express. JSON Schema rules are checked earlier: content that breaks
// one does not count as an answer.

import { AppError } from "../protocol/app-error.ts";
import type { AnySchema, CheckedSchema, CompiledSchema, Infer } from "./schema.ts";

/**
 * The two kinds of questions to a person. Contexts take `Elicitations<Schema>["form" | "page"]`: the compiler prints the
 * members of such a type in an error, and the name of an alias.
 */
export interface Elicitations<Schema> {
  readonly page: {
    /** Why the person should open the page: one or two sentences. */
    readonly message: string;
    /** Absolute URL that the person opens in a browser. Use it for data that must not pass through the client. */
    readonly url: string;
  };
  readonly form: {
    /** The question, which clients show above the form: one or two sentences. */
    readonly message: string;
    /**
     * Fields of the form: zod or JSON Schema, an object whose members are texts, numbers, booleans or enums. A yes/no
     * question is `z.object({ yes: z.boolean() })`.
     */
    readonly schema: Schema & CheckedSchema<Schema>;
  };
}

export type ElicitOptions = Elicitations<AnySchema>["form" | "page"];

/** The person's answer. `content` is the filled-in form, parsed by the schema. */
export type ElicitAnswer<Content = Record<string, unknown>> =
  | { readonly action: "accept"; readonly content: Content }
  | { readonly action: "decline" | "cancel" };

/** The accepted content. Any object when the schema gives no type, or for a URL. */
export type ElicitedContent<Schema> = Infer<Schema> extends object ? Infer<Schema> : Record<string, unknown>;

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
