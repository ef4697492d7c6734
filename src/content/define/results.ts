// Owns turning what handlers return into results in wire form, and refusing what no client could read.

import type { Finished } from "../../calls/handle.ts";
import { isObject, type JsonObject } from "../../protocol/jsonrpc.ts";
import { given } from "../../protocol/members.ts";
import type { CompiledSchema } from "../../calls/schema.ts";
import { blockInText, blocksInText } from "./block-bytes.ts";
import type { ContentBlock } from "../../calls/content-block.ts";
import type { CallToolReturn } from "./returned.ts";

export interface PromptMessage {
  readonly role: "user" | "assistant";
  readonly content: ContentBlock;
}

/** A text becomes one message of the user. */
export type PromptReturn =
  | string
  | readonly PromptMessage[]
  | { readonly description?: string; readonly messages: readonly PromptMessage[] };

/** `broken`: no content that a client could read, or content that does not fit the `output` schema. */
export async function toolResult(returned: unknown, output: CompiledSchema | undefined): Promise<Finished> {
  if (typeof returned === "string") return checked(textContent(returned), output);
  if (output && isProduct(returned, output)) return checked(wholeResult({ structuredContent: returned }), output);
  if (Array.isArray(returned)) return checked({ content: returned }, output);
  if (!isObject(returned)) return SAYS_NOTHING;
  if (typeof returned.type === "string") return checked({ content: [returned] }, output);
  if ((returned.content ?? returned.structuredContent) !== undefined) return checked(wholeResult(returned), output);
  // A class may write itself as something else, and a result that says only that it failed says nothing.
  const text = "isError" in returned ? undefined : JSON.stringify(returned);
  return text?.startsWith("{") ? checked({ ...textContent(text), structuredContent: returned }, output) : SAYS_NOTHING;
}

const SAYS_NOTHING = { broken: "it returned neither text, content nor an object" };

function textContent(text: string): JsonObject {
  return { content: [{ type: "text", text }] };
}

/**
 * Whether what is returned is the structured content itself. Where the schema has a member by which a result is known, only
 * a result is taken, so that no object is both.
 */
function isProduct(returned: unknown, { json: { properties } }: CompiledSchema): returned is object {
  if (typeof returned !== "object" || returned === null) return false;
  const { structuredContent, isError } = returned as CallToolReturn;
  const isOwn = (name: string) => isObject(properties) && Object.hasOwn(properties, name);
  return structuredContent === undefined && isError !== true && !isOwn("structuredContent") && !isOwn("isError");
}

function wholeResult({ content, structuredContent, isError, _meta }: CallToolReturn): JsonObject {
  return given({ content: contentBlocks(content, structuredContent), structuredContent, isError, _meta });
}

/** Structured content is given as text too where the handler gave no content, for clients that do not know it. */
function contentBlocks(content: CallToolReturn["content"], structured: unknown): readonly unknown[] {
  if (typeof content === "string") return [{ type: "text", text: content }];
  if (Array.isArray(content)) return content;
  if (content !== undefined) return [content];
  return structured === undefined ? [] : [{ type: "text", text: JSON.stringify(structured) }];
}

async function checked(result: JsonObject, output: CompiledSchema | undefined): Promise<Finished> {
  const blocks = result.content as readonly unknown[];
  const content = blocksInText(blocks);
  for (const block of content) {
    const fault = blockFault(block);
    if (fault !== undefined) return { broken: fault };
  }
  const written = content === blocks ? result : { ...result, content };
  return output && result.isError !== true ? fitting(written, output) : { result: written };
}

async function fitting(result: JsonObject, output: CompiledSchema): Promise<Finished> {
  if (result.structuredContent === undefined)
    return { broken: "it has an output schema and returned no structuredContent" };
  const validated = await output.check(result.structuredContent);
  if ("value" in validated) return { result };
  return { broken: `structuredContent: ${validated.violations.map((violation) => violation.message).join("; ")}` };
}

const REQUIRED: ReadonlyMap<string, readonly string[]> = new Map([
  ["text", ["text"]],
  ["image", ["data", "mimeType"]],
  ["audio", ["data", "mimeType"]],
  ["resource_link", ["uri", "name"]],
]);

/** What is wrong with a content block; undefined: nothing. */
function blockFault(block: unknown): string | undefined {
  if (!isObject(block) || typeof block.type !== "string")
    return "a content block is an object with a type: write { items: [...] } for other lists";
  if (block.type === "resource") {
    const { resource } = block;
    const whole =
      isObject(resource) &&
      typeof resource.uri === "string" &&
      (typeof resource.text === "string" || typeof resource.blob === "string");
    return whole ? undefined : "a resource block needs resource.uri and resource.text or resource.blob";
  }
  const members = REQUIRED.get(block.type);
  if (!members) return `no content block has the type ${block.type}`;
  const missing = members.find((member) => typeof block[member] !== "string");
  return missing === undefined ? undefined : `a ${block.type} block needs ${missing}`;
}

export function promptResult(returned: PromptReturn, description: unknown): Finished {
  const whole = typeof returned === "string" || isMessages(returned) ? { messages: messagesOf(returned) } : returned;
  if (!isObject(whole) || !Array.isArray(whole.messages)) return { broken: "it returned no messages" };
  const messages = whole.messages.map((message: unknown) =>
    isObject(message) ? { ...message, content: blockInText(message.content) } : message,
  );
  for (const message of messages) {
    if (!isObject(message) || (message.role !== "user" && message.role !== "assistant")) {
      return { broken: "a message needs the role user or assistant" };
    }
    const fault = blockFault(message.content);
    if (fault !== undefined) return { broken: fault };
  }
  return { result: { ...(typeof description === "string" ? { description } : {}), ...whole, messages } };
}

function isMessages(returned: PromptReturn): returned is Extract<PromptReturn, readonly unknown[]> {
  return Array.isArray(returned);
}

function messagesOf(returned: string | Extract<PromptReturn, readonly unknown[]>): readonly unknown[] {
  return typeof returned === "string" ? [{ role: "user", content: { type: "text", text: returned } }] : returned;
}
