// Turns the values that handlers return into results in wire form. Rejects values that no client can read.

import { toBase64 } from "../auth/seal.ts";
import type { HandlerResult } from "./run-handler-call.ts";
import { isObject, type JsonObject } from "../protocol/jsonrpc.ts";
import { omitUndefined, typeOf } from "../protocol/members.ts";
import type { CompiledSchema } from "./schema.ts";
import type { ContentBlock } from "./content-block.ts";
import type { CallToolReturn } from "./checked-return.ts";

export interface PromptMessage {
  readonly role: "user" | "assistant";
  readonly content: ContentBlock;
}

/** The value that a prompt's handler returns. A string becomes one message of the user. */
export type PromptReturn =
  | string
  | readonly PromptMessage[]
  | { readonly description?: string; readonly messages: readonly PromptMessage[] };

/** Gives `broken` when no content is readable by a client, or when the content does not fit the `output` schema. */
export async function toolResult(returned: unknown, output: CompiledSchema | undefined): Promise<HandlerResult> {
  if (typeof returned === "string") return checkResult(textContent(returned), output);
  if (output && isStructuredContent(returned, output))
    return checkResult(toWireResult({ structuredContent: returned }), output);
  if (Array.isArray(returned)) return checkResult({ content: returned }, output);
  if (!isObject(returned)) return { broken: `${NO_CONTENT.broken}, not ${typeOf(returned)}` };
  if (typeof returned.type === "string") return checkResult({ content: [returned] }, output);
  if ((returned.content ?? returned.structuredContent) !== undefined)
    return checkResult(toWireResult(returned), output);
  // A class may define its own `toJSON`, so the text can be something other than an object. A result that has only
  // `isError` holds no information.
  const text = "isError" in returned ? undefined : JSON.stringify(returned);
  return text?.startsWith("{")
    ? checkResult({ ...textContent(text), structuredContent: returned }, output)
    : NO_CONTENT;
}

const NO_CONTENT = { broken: "handler must return a text, content or an object" };

function textContent(text: string): JsonObject {
  return { content: [{ type: "text", text }] };
}

/**
 * Whether the value is the structured content itself. If the schema has a member that marks a result, only a result is
 * accepted, so that no object can be both.
 */
function isStructuredContent(returned: unknown, { json: { properties } }: CompiledSchema): returned is object {
  if (typeof returned !== "object" || returned === null) return false;
  const { structuredContent, isError } = returned as CallToolReturn;
  const hasMember = (name: string) => isObject(properties) && Object.hasOwn(properties, name);
  return (
    structuredContent === undefined && isError !== true && !hasMember("structuredContent") && !hasMember("isError")
  );
}

function toWireResult({ content, structuredContent, isError, _meta }: CallToolReturn): JsonObject {
  return omitUndefined({ content: contentBlocks(content, structuredContent), structuredContent, isError, _meta });
}

/** Structured content without content is also sent as text, for clients that do not support structured content. */
function contentBlocks(content: CallToolReturn["content"], structured: unknown): readonly unknown[] {
  if (typeof content === "string") return [{ type: "text", text: content }];
  if (Array.isArray(content)) return content;
  if (content !== undefined) return [content];
  return structured === undefined ? [] : [{ type: "text", text: JSON.stringify(structured) }];
}

/** Writes bytes as base64. Returns the same array when no block has bytes, so such results pay nothing. */
function encodeBlocks(blocks: readonly unknown[]): readonly unknown[] {
  return blocks.some((block) => isObject(block) && findBytes(block)) ? blocks.map(encodeBlock) : blocks;
}

/** Encodes `data` of an image or audio, and `blob` of an embedded resource. */
function encodeBlock(block: unknown): unknown {
  const bytesMember = isObject(block) && findBytes(block);
  if (!bytesMember) return block;
  const [parent, member] = bytesMember;
  const encoded = { ...parent, [member]: toBase64(parent[member] as Uint8Array) };
  return parent === block ? encoded : { ...block, resource: encoded };
}

function findBytes(block: JsonObject): readonly [parent: JsonObject, member: string] | undefined {
  if (block.data instanceof Uint8Array) return [block, "data"];
  const { resource } = block;
  return isObject(resource) && resource.blob instanceof Uint8Array ? [resource, "blob"] : undefined;
}

async function checkResult(result: JsonObject, output: CompiledSchema | undefined): Promise<HandlerResult> {
  const blocks = result.content as readonly unknown[];
  const content = encodeBlocks(blocks);
  for (const block of content) {
    const error = contentBlockError(block);
    if (error !== undefined) return { broken: error };
  }
  const encoded = content === blocks ? result : { ...result, content };
  return output && result.isError !== true ? validateOutput(encoded, output) : { result: encoded };
}

async function validateOutput(result: JsonObject, output: CompiledSchema): Promise<HandlerResult> {
  if (result.structuredContent === undefined)
    return { broken: "handler must return structuredContent, because output is set" };
  const validated = await output.check(result.structuredContent);
  if ("value" in validated) return { result };
  return { broken: `structuredContent: ${validated.violations.map((violation) => violation.message).join("; ")}` };
}

const REQUIRED_MEMBERS: ReadonlyMap<string, readonly string[]> = new Map([
  ["text", ["text"]],
  ["image", ["data", "mimeType"]],
  ["audio", ["data", "mimeType"]],
  ["resource_link", ["uri", "name"]],
]);

/** Describes the error in a content block; undefined if the block is valid. */
function contentBlockError(block: unknown): string | undefined {
  if (!isObject(block) || typeof block.type !== "string")
    return "a content block must be an object with a type: write { items: [...] } for other lists";
  if (block.type === "resource") {
    const { resource } = block;
    const isValid =
      isObject(resource) &&
      typeof resource.uri === "string" &&
      (typeof resource.text === "string" || typeof resource.blob === "string");
    return isValid ? undefined : "a resource block needs resource.uri and resource.text or resource.blob";
  }
  const members = REQUIRED_MEMBERS.get(block.type);
  if (!members) return `unknown type of content block: ${block.type}`;
  const missing = members.find((member) => typeof block[member] !== "string");
  return missing === undefined ? undefined : `a ${block.type} block needs ${missing}`;
}

export function promptResult(returned: PromptReturn, description: unknown): HandlerResult {
  const result = typeof returned === "string" || isMessages(returned) ? { messages: toMessages(returned) } : returned;
  if (!isObject(result) || !Array.isArray(result.messages)) return { broken: "handler must return messages" };
  const messages = result.messages.map((message: unknown) =>
    isObject(message) ? { ...message, content: encodeBlock(message.content) } : message,
  );
  for (const message of messages) {
    if (!isObject(message) || (message.role !== "user" && message.role !== "assistant")) {
      return { broken: "a message needs the role user or assistant" };
    }
    const error = contentBlockError(message.content);
    if (error !== undefined) return { broken: error };
  }
  return { result: { ...(typeof description === "string" ? { description } : {}), ...result, messages } };
}

function isMessages(returned: PromptReturn): returned is Extract<PromptReturn, readonly unknown[]> {
  return Array.isArray(returned);
}

function toMessages(returned: string | Extract<PromptReturn, readonly unknown[]>): readonly unknown[] {
  return typeof returned === "string" ? [{ role: "user", content: { type: "text", text: returned } }] : returned;
}
