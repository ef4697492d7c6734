// Owns how a tool's result that is longer than its profile allows is cut: whole items as far as they fit, and what a
// client reads instead of the rest. Pure. Refuses to cut an item in two, and to leave out half of what a schema describes.

import type { FieldError } from "../../deployment/deployment.ts";
import { isObject, type JsonObject } from "../../protocol/jsonrpc.ts";
import type { ResultBudget, TenantDocument } from "../../tenants/document/tenant-document.ts";

/** What the URIs of rests begin with. No list has them. */
export const OVERFLOW_URI = "tenantry://results/";
/** About as many bytes of JSON are a token to most models. */
const BYTES_PER_TOKEN = 4;

export interface TruncatedResult {
  /** Without its content. */
  readonly result: JsonObject;
  readonly items: readonly unknown[];
  /** How many items of how many are in it. */
  readonly summary: string;
  /** How many are not. */
  readonly omittedCount: number;
  /** The others, as the contents of a resource with this URI. */
  readonly toOverflow: (uri: string) => readonly JsonObject[];
}

/** The bytes that a result may have; Infinity: any number. */
export function bytesOf({ bytes = Infinity, tokens = Infinity }: ResultBudget): number {
  return Math.min(bytes, tokens * BYTES_PER_TOKEN);
}

/** The least that `bytes` and `tokens` may say: room for an answer that says what was left out. */
const MIN_BUDGET = { bytes: 1000, tokens: 250 } as const;

export function findBrokenBudgets({ profiles = {} }: TenantDocument): readonly FieldError[] {
  return Object.entries(profiles).flatMap(([name, { resultBudget = {} }]) =>
    (["bytes", "tokens"] as const)
      .filter((member) => !((resultBudget[member] ?? Infinity) >= MIN_BUDGET[member]))
      .map((member) => ({
        field: `profiles.${name}.resultBudget.${member}`,
        rule: `is a number from ${MIN_BUDGET[member]} on`,
      })),
  );
}

/** undefined: it is short enough, or no result of a call that has ended. `hasSchema`: the tool describes its output. */
export function truncateResult(json: string, maxBytes: number, hasSchema: boolean): TruncatedResult | undefined {
  // A character of JavaScript is three bytes at most.
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
 * The rest as it is kept; undefined: it is longer than `most`. An item of one character becomes a content with a URI, so what
 * was a MiB may be fifty: that is known by the number of items, before any is made.
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
