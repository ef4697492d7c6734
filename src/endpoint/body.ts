// Reads a request body once, within limits of type, size, depth and number of values, before anything interprets it.

import type { Deployment } from "../deployment/deployment.ts";
import { LIMITS } from "../limits/limit-definitions.ts";
import { nestingOf, type Nesting } from "../mcp-client/json-text.ts";
import { failure, type Failure } from "../protocol/errors.ts";
import { CONTAINER_MEMORY, MAX_CONTAINERS, MAX_VALUES, VALUE_MEMORY } from "../protocol/jsonrpc.ts";
import { hasEscapes, stringMemory, type BodyState, type RequestBody } from "../streams/request-body.ts";
import { MEMORY_RETRY_AFTER_S } from "../tenants/cache/memory-budget.ts";
import type { Env } from "./request-context.ts";

export const DEFAULT_MAX_BODY_BYTES = 4 * 1024 * 1024;

/** The limit for every tenant, in bytes; each tenant may have a lower one. Memory for a larger body never fits. */
export function getMaxBodyBytes({ MAX_BODY_BYTES }: Env): number {
  return Math.min(Number(MAX_BODY_BYTES ?? Infinity), LIMITS.bodyBytes.most);
}

/** The limit for a tenant whose document sets none. */
export function getDefaultBodyBytes({ catalog: { limits } }: Deployment, { MAX_BODY_BYTES }: Env): number {
  return Number(MAX_BODY_BYTES ?? limits?.bodyBytes ?? DEFAULT_MAX_BODY_BYTES);
}

const MAX_DEPTH = 128;
/** A shorter text cannot nest deep enough to do harm. */
const SHALLOW_CHARACTERS = 2048;
const SHALLOW: Nesting = { containers: 0, values: 0, depth: 0 };

const encoder = new TextEncoder();
const JSON_TYPE = "application/json";

export function isJsonType(contentType: string | null): boolean {
  if (contentType === JSON_TYPE) return true;
  if (contentType === null) return false;
  const end = contentType.indexOf(";");
  const type = end < 0 ? contentType : contentType.slice(0, end);
  return type.trim().toLowerCase() === JSON_TYPE;
}

export interface AcceptedTypes {
  readonly json: boolean;
  readonly stream: boolean;
}

/** The value in the specification, which most clients send. */
const ACCEPT_BOTH = "application/json, text/event-stream";
const ACCEPTS_BOTH: AcceptedTypes = { json: true, stream: true };

/** A missing header accepts everything and gets JSON, as does a bare wildcard. */
export function parseAccept(accept: string | null): AcceptedTypes {
  if (accept === ACCEPT_BOTH) return ACCEPTS_BOTH;
  if (accept === null || accept === "") return { json: true, stream: false };
  let json = false;
  let stream = false;
  for (const range of accept.split(",")) {
    const [type = "", ...parameters] = range.split(";").map((part) => part.trim().toLowerCase());
    if (parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter))) continue;
    if (type === "application/json" || type === "application/*" || type === "*/*") json = true;
    if (type === "text/event-stream" || type === "text/*") stream = true;
  }
  return { json, stream };
}

const BODY_FAILURES: Readonly<Record<Exclude<BodyState, "whole" | "more">, Failure>> = {
  tooSlow: failure("tooSlow"),
  noRoom: {
    ...failure("unavailable", "Service unavailable: other requests use too much memory"),
    retryAfter: MEMORY_RETRY_AFTER_S,
  },
};

/** Names the limit, so that the sender knows how much may be sent. */
export function bodyTooLarge(most: number): Failure {
  return failure("tooLarge", `Request body too large: at most ${most} bytes`);
}

/** A body that is not UTF-8 is not JSON: replacement characters would store something other than what was sent. */
export async function readBodyText(body: RequestBody, most: number): Promise<string | Failure> {
  const state = await body.read(most);
  if (state === "more") return bodyTooLarge(most);
  if (state !== "whole") return BODY_FAILURES[state];
  return body.text ?? failure("parseError");
}

export interface ParsedBody {
  readonly text: string;
  readonly value: unknown;
}

/** `canReserve`: whether parsed values of so many bytes, without their strings, fit in memory. */
export function parseJson(text: string, canReserve: (bytes: number) => boolean = () => true): ParsedBody | Failure {
  const isShallow = text.length <= SHALLOW_CHARACTERS;
  const nesting = isShallow ? SHALLOW : nestingOf(text, MAX_CONTAINERS);
  if (nesting.depth > MAX_DEPTH) return invalid(`nested deeper than ${MAX_DEPTH} levels`);
  if (nesting.containers > MAX_CONTAINERS) return invalid(`more than ${MAX_CONTAINERS} objects and lists`);
  if (nesting.values > MAX_VALUES) return invalid(`more than ${MAX_VALUES} values`);
  if (!isShallow && !canReserve(valueMemory(nesting))) return BODY_FAILURES.noRoom;
  try {
    return { text, value: JSON.parse(text) as unknown };
  } catch {
    return failure("parseError");
  }
}

function valueMemory({ containers, values }: Nesting): number {
  return CONTAINER_MEMORY * containers + VALUE_MEMORY * values;
}

/** Bytes of memory for a JSON text and the values parsed from it. */
export function parsedMemory(text: string): number {
  const isAscii = encoder.encode(text).byteLength === text.length && !hasEscapes(text);
  return stringMemory(text, isAscii) + valueMemory(nestingOf(text));
}

function invalid(rule: string): Failure {
  return failure("invalidRequest", `Invalid Request: ${rule}`);
}
