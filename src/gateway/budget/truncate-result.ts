// Truncates a tool result to the budget of a profile: whole items as far as they fit, and a note in place of the rest.
// Items are never split. Structured output that a schema describes is left out as a whole.

import { isObject, type JsonObject } from "../../protocol/jsonrpc.ts";
import type { ResultBudget, TenantDocument, FieldRule } from "../../tenants/document/tenant-document.ts";

/** URI prefix of stored results. No list contains these URIs. */
export const OVERFLOW_URI = "tenantry://results/";
/** A token is about this many bytes of JSON for most models. */
const BYTES_PER_TOKEN = 4;

export interface TruncatedResult {
  readonly result: JsonObject;
  readonly items: readonly unknown[];
  /** How many items of how many are included. */
  readonly summary: string;
  readonly omittedCount: number;
  /** The omitted items, as contents of a resource with this URI. */
  readonly toOverflow: (uri: string) => readonly JsonObject[];
}

/** Maximum bytes of a result. Infinity means no limit. */
export function bytesOf({ bytes = Infinity, tokens = Infinity }: ResultBudget): number {
  return Math.min(bytes, tokens * BYTES_PER_TOKEN);
}

/** Minimum of `bytes` and `tokens`: room for an answer that says what was left out. */
const MIN_BUDGET = { bytes: 1000, tokens: 250 } as const;

export function findBrokenBudgets({ profiles = {} }: TenantDocument): readonly FieldRule[] {
  return Object.entries(profiles).flatMap(([name, { resultBudget = {} }]) =>
    (["bytes", "tokens"] as const)
      .filter((member) => !((resultBudget[member] ?? Infinity) >= MIN_BUDGET[member]))
      .map((member) => ({
        field: `profiles.${name}.resultBudget.${member}`,
        rule: `must be a number of at least ${MIN_BUDGET[member]}`,
      })),
  );
}

/**
 * Returns undefined if the result fits, or if it is not the result of a completed call. `hasSchema`: the tool has an
 * output schema.
 */
export function truncateResult(json: string, maxBytes: number, hasSchema: boolean): TruncatedResult | undefined {
  // A UTF-16 code unit takes at most three bytes in UTF-8.
  if (json.length * 3 <= maxBytes) return undefined;
  const { content, structuredContent, ...others } = JSON.parse(json) as JsonObject;
  if (!Array.isArray(content) || others.resultType === "input_required") return undefined;
  const items: unknown[] = structuredContent === undefined ? content : [...content, structuredContent];
  let remaining = maxBytes;
  let fitting = items.findIndex((item) => (remaining -= sizeOf(item) + 1) < 0);
  if (fitting < 0) return undefined;
  const isAllOrNothing = hasSchema && others.isError !== true;
  if (isAllOrNothing) fitting = 0;
  return {
    result: isAllOrNothing ? { ...others, isError: true } : others,
    items: content.slice(0, fitting),
    summary: `${fitting} of ${items.length} items are here`,
    omittedCount: items.length - fitting,
    toOverflow: (uri) =>
      items.slice(fitting).map((item, at) => toOverflowContent(item, uri, fitting + at >= content.length)),
  };
}

/**
 * The omitted items to store, or undefined if they exceed `maxBytes`. Each item becomes a content with a URI, so one
 * MiB of tiny items may become fifty. The first check uses only their number, before any is built.
 */
export function encodeOverflow(
  { omittedCount, toOverflow }: TruncatedResult,
  uri: string,
  maxBytes: number,
): Uint8Array | undefined {
  if (omittedCount * uri.length > maxBytes) return undefined;
  const body = encoder.encode(JSON.stringify({ contents: toOverflow(uri) }));
  return body.byteLength > maxBytes ? undefined : body;
}

const encoder = new TextEncoder();

function sizeOf(item: unknown): number {
  return encoder.encode(JSON.stringify(item)).byteLength;
}

function toOverflowContent(item: unknown, uri: string, isStructured: boolean): JsonObject {
  const { type, text, data, mimeType, resource } = isObject(item) && !isStructured ? item : {};
  if (type === "text" && typeof text === "string") return { uri, mimeType: "text/plain", text };
  if (typeof data === "string") return { uri, mimeType, blob: data };
  return isObject(resource) ? resource : { uri, mimeType: "application/json", text: JSON.stringify(item) };
}
