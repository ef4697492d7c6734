// Owns how a tool's result that is longer than its profile allows is cut: whole items as far as they fit, and what a
// client reads instead of the rest. Pure. Refuses to cut an item in two, and to leave out half of what a schema describes.

import type { BrokenMember } from "../../deployment/deployment.ts";
import { isObject, type JsonObject } from "../../protocol/jsonrpc.ts";
import type { ResultBudget, TenantDocument } from "../../tenants/document/tenant-document.ts";

/** What the URIs of rests begin with. No list has them. */
export const REST_URI = "tenantry://results/";
/** About as many bytes of JSON are a token to most models. */
const BYTES_OF_TOKEN = 4;

export interface CutResult {
  /** Without its content. */
  readonly result: JsonObject;
  readonly items: readonly unknown[];
  /** How many items of how many are in it. */
  readonly said: string;
  /** How many are not. */
  readonly left: number;
  /** The others, as the contents of a resource with this URI. */
  readonly rest: (uri: string) => readonly JsonObject[];
}

/** The bytes that a result may have; Infinity: any number. */
export function bytesOf({ bytes = Infinity, tokens = Infinity }: ResultBudget): number {
  return Math.min(bytes, tokens * BYTES_OF_TOKEN);
}

/** The least that `bytes` and `tokens` may say: room for an answer that says what was left out. */
const LEAST = { bytes: 1000, tokens: 250 } as const;

export function brokenBudgets({ profiles = {} }: TenantDocument): readonly BrokenMember[] {
  return Object.entries(profiles).flatMap(([name, { resultBudget = {} }]) =>
    (["bytes", "tokens"] as const)
      .filter((member) => !((resultBudget[member] ?? Infinity) >= LEAST[member]))
      .map((member) => ({
        field: `profiles.${name}.resultBudget.${member}`,
        rule: `is a number from ${LEAST[member]} on`,
      })),
  );
}

/** undefined: it is short enough, or no result of a call that has ended. `hasSchema`: the tool describes its output. */
export function cutResult(json: string, most: number, hasSchema: boolean): CutResult | undefined {
  // A character of JavaScript is three bytes at most.
  if (json.length * 3 <= most) return undefined;
  const { content, structuredContent, ...others } = JSON.parse(json) as JsonObject;
  if (!Array.isArray(content) || others.resultType === "input_required") return undefined;
  const items: unknown[] = structuredContent === undefined ? content : [...content, structuredContent];
  let room = most;
  let fitting = items.findIndex((item) => (room -= sizeOf(item) + 1) < 0);
  if (fitting < 0) return undefined;
  const isWhole = hasSchema && others.isError !== true;
  if (isWhole) fitting = 0;
  return {
    result: isWhole ? { ...others, isError: true } : others,
    items: content.slice(0, fitting),
    said: `${fitting} of ${items.length} items are here`,
    left: items.length - fitting,
    rest: (uri) => items.slice(fitting).map((item, at) => restOf(item, uri, fitting + at >= content.length)),
  };
}

/**
 * The rest as it is kept; undefined: it is longer than `most`. An item of one character becomes a content with a URI, so what
 * was a MiB may be fifty: that is known by the number of items, before any is made.
 */
export function bodyOfRest({ left, rest }: CutResult, uri: string, most: number): Uint8Array | undefined {
  if (left * uri.length > most) return undefined;
  const body = encoder.encode(JSON.stringify({ contents: rest(uri) }));
  return body.byteLength > most ? undefined : body;
}

const encoder = new TextEncoder();

function sizeOf(item: unknown): number {
  return encoder.encode(JSON.stringify(item)).byteLength;
}

function restOf(item: unknown, uri: string, isStructured: boolean): JsonObject {
  const { type, text, data, mimeType, resource } = isObject(item) && !isStructured ? item : {};
  if (type === "text" && typeof text === "string") return { uri, mimeType: "text/plain", text };
  if (typeof data === "string") return { uri, mimeType, blob: data };
  return isObject(resource) ? resource : { uri, mimeType: "application/json", text: JSON.stringify(item) };
}
