// Owns what a line of a local client is: a request, a notification, a response, or none of them; and the errors that
// the bridge itself answers.

import { isObject, META, type Json } from "../mcp-http.ts";

export type RequestId = string | number;

export interface Sent {
  readonly kind: "request" | "notification" | "response";
  readonly message: Json;
  /** As it came; it goes on as it came. */
  readonly text: string;
  readonly method: string;
  readonly params: Json;
  /** What a 2026 message claims; undefined in every other. */
  readonly revision: string | undefined;
}

export interface Garbage {
  readonly kind: "garbage";
  readonly code: number;
  readonly why: string;
  readonly id: RequestId | null;
}

const PARSE_ERROR = -32700;
const INVALID_REQUEST = -32600;
const INTERNAL_ERROR = -32603;

export function readMessage(text: string): Sent | Garbage {
  let message: unknown;
  try {
    message = JSON.parse(text);
  } catch {
    return { kind: "garbage", code: PARSE_ERROR, why: "a line is not JSON", id: null };
  }
  if (!isObject(message)) return invalid("a line is not one JSON-RPC message", null);
  const kind = kindOf(message);
  const id = isId(message.id) ? message.id : null;
  if (kind === undefined) return invalid("a line is not a JSON-RPC message", id);
  const params = isObject(message.params) ? message.params : {};
  const meta = isObject(params._meta) ? params._meta : {};
  const claim = meta[`${META}protocolVersion`];
  const method = typeof message.method === "string" ? message.method : "";
  return { kind, message, text, method, params, revision: typeof claim === "string" ? claim : undefined };
}

export function unreadable(why: string): Garbage {
  return { kind: "garbage", code: PARSE_ERROR, why, id: null };
}

function invalid(why: string, id: RequestId | null): Garbage {
  return { kind: "garbage", code: INVALID_REQUEST, why, id };
}

function kindOf(message: Json): Sent["kind"] | undefined {
  if (message.jsonrpc !== "2.0") return undefined;
  if (typeof message.method === "string") {
    if (!("id" in message)) return "notification";
    return isId(message.id) ? "request" : undefined;
  }
  const answers = message.method === undefined && isId(message.id) && ("result" in message || "error" in message);
  return answers ? "response" : undefined;
}

function isId(value: unknown): value is RequestId {
  return typeof value === "string" || typeof value === "number";
}

export function isResponse(message: Json): boolean {
  return message.method === undefined;
}

/** A server that refuses without reading that far knows no id. */
export function isAnswerTo(id: RequestId, message: Json): boolean {
  return isResponse(message) && (message.id === id || message.id === undefined || message.id === null);
}

export function errorText(id: RequestId | null, why: string, code = INTERNAL_ERROR): string {
  return JSON.stringify({ jsonrpc: "2.0", id, error: { code, message: why } });
}

/** The response as it came, or with the request's own id where a server refused without reading that far. */
export function responseText(id: RequestId, { message, text }: { message: Json; text: string }): string {
  return message.id === id ? text : JSON.stringify({ ...message, id });
}
