// Owns `definePrompt`: what the author of a prompt writes, and the definition that is listed.

import type { ContentBlock, PromptDefinition } from "../../protocol/backend.ts";
import type { JsonObject } from "../../protocol/jsonrpc.ts";
import type { Context } from "../../calls/context.ts";

export type Completer = (
  value: string,
  about: { readonly arguments: Readonly<Record<string, string>>; readonly ctx: Context },
) => readonly string[] | Promise<readonly string[]>;

export interface PromptArgument {
  readonly title?: string;
  readonly description?: string;
  readonly required?: boolean;
  readonly complete?: Completer;
}

export interface PromptMessage {
  readonly role: "user" | "assistant";
  readonly content: ContentBlock;
}

/** A text is one message of the user. */
export type PromptReturn =
  | string
  | readonly PromptMessage[]
  | { readonly description?: string; readonly messages: readonly PromptMessage[] };

export interface PromptOptions {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly icons?: readonly JsonObject[];
  readonly arguments?: Readonly<Record<string, PromptArgument>>;
  readonly handler: (args: Record<string, string>, ctx: Context) => PromptReturn | Promise<PromptReturn>;
}

export interface Prompt extends PromptDefinition {
  readonly kind: "prompt";
  readonly name: string;
  readonly arguments: Readonly<Record<string, PromptArgument>>;
  readonly handler: PromptOptions["handler"];
}

export function definePrompt(options: PromptOptions): Prompt {
  const { name, title, description, icons } = options;
  if (name === "" || name.length > 128) throw new TypeError(`prompt "${name}": a name has 1 to 128 characters`);
  const declared = options.arguments ?? {};
  const listed = Object.entries(declared).map(([argument, about]) => ({
    name: argument,
    ...(about.title === undefined ? {} : { title: about.title }),
    ...(about.description === undefined ? {} : { description: about.description }),
    required: about.required ?? false,
  }));
  return {
    kind: "prompt",
    name,
    arguments: declared,
    handler: options.handler,
    wire: {
      name,
      ...(title === undefined ? {} : { title }),
      description: description ?? title ?? name,
      arguments: listed,
      ...(icons === undefined ? {} : { icons }),
    },
  };
}
