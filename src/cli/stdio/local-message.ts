// Parses a line of the local client, and words the bridge's own answers. Messages are passed on as their original
// text.

import { arrayElements } from "../../mcp-client/json-text.ts";
import type { ResponseMessage } from "../../mcp-client/message.ts";
import { MAX_BATCH } from "../../protocol/classify.ts";
import { ERRORS } from "../../protocol/errors.ts";
import { errorResponse, isObject, parseMessage, type JsonObject, type MessageId } from "../../protocol/jsonrpc.ts";
import { META } from "../../protocol/meta.ts";

interface LocalMessageBase {
  readonly text: string;
  /** Empty for a response. */
  readonly method: string;
  readonly params: JsonObject;
  /** The revision that a 2026 message declares; undefined for era 2025, whose messages declare none. */
  readonly revision: string | undefined;
}

export interface LocalRequest extends LocalMessageBase {
  readonly kind: "request";
  readonly id: MessageId;
}

export interface LocalNotification extends LocalMessageBase {
  readonly kind: "notification";
}

export interface LocalResponse extends LocalMessageBase {
  readonly kind: "response";
  readonly id: MessageId;
}

export type LocalMessage = LocalRequest | LocalNotification | LocalResponse;

export interface InvalidMessage {
  readonly kind: "garbage";
  readonly code: number;
  readonly why: string;
  readonly id: MessageId | null;
}

export interface LocalBatch {
  readonly kind: "batch";
  readonly messages: readonly (LocalMessage | InvalidMessage)[];
}

export function parseLocalLine(text: string): LocalMessage | LocalBatch | InvalidMessage {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return invalidLine("a line is not JSON");
  }
  const texts = Array.isArray(value) && value.length > 0 ? arrayElements(text, MAX_BATCH) : undefined;
  if (!texts) return parseLocalMessage(text, value);
  return { kind: "batch", messages: texts.map((one) => parseLocalMessage(one, JSON.parse(one))) };
}

function parseLocalMessage(text: string, value: unknown): LocalMessage | InvalidMessage {
  const parsed = parseMessage(value);
  if (parsed.kind === "invalid") {
    const why = `a line is not one JSON-RPC message: ${parsed.why}`;
    return { kind: "garbage", code: ERRORS.invalidRequest.code, why, id: parsed.id ?? null };
  }
  if (parsed.kind === "response") return { ...parsed, text, method: "", params: {}, revision: undefined };
  const params = parsed.params ?? {};
  return { ...parsed, text, params, revision: claimedRevisionOf(params) };
}

function claimedRevisionOf(params: JsonObject): string | undefined {
  const claim = isObject(params._meta) ? params._meta[META.protocolVersion] : undefined;
  return typeof claim === "string" ? claim : undefined;
}

export function invalidLine(why: string): InvalidMessage {
  return { kind: "garbage", code: ERRORS.parseError.code, why, id: null };
}

export function errorText(id: MessageId | null, why: string, code: number = ERRORS.internal.code): string {
  return errorResponse(id, code, why);
}

/** The response as received, or with the request's own id if the server refused before reading the id. */
export function responseText(id: MessageId, { id: responseId, text, result, error }: ResponseMessage): string {
  if (responseId === id) return text;
  const body = result === undefined ? `"error":${error}` : `"result":${result}`;
  return `{"jsonrpc":"2.0","id":${JSON.stringify(id)},${body}}`;
}
