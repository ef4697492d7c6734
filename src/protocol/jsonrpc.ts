// JSON-RPC 2.0 messages: parses unknown values into messages and writes responses. Knows no MCP method.
// https://www.jsonrpc.org/specification

/** The `id` of a JSON-RPC request. `requestId` is another one: the id of an HTTP request in the logs. */
export type MessageId = string | number;
export type JsonObject = Record<string, unknown>;

/** Bytes of memory for an object or list, which may have only two characters in the text. */
export const CONTAINER_MEMORY = 32;
/** Bytes of memory for a member or an element, besides its string. */
export const VALUE_MEMORY = 64;
/**
 * Maximum number of objects and lists in one text. With byte limits alone, a text of 4 MB might take 60 MB of memory.
 */
export const MAX_CONTAINERS = 100_000;
/** Maximum number of members and elements in one request. */
export const MAX_VALUES = 250_000;

/**
 * Cost of one of them against byte limits that stand for memory: a quarter of its memory, in the same ratio as text.
 */
export const CONTAINER_BYTES = 7;

export interface RpcRequest {
  readonly kind: "request";
  readonly id: MessageId;
  readonly method: string;
  readonly params: JsonObject | undefined;
}

export interface RpcNotification {
  readonly kind: "notification";
  readonly method: string;
  readonly params: JsonObject | undefined;
}

export interface RpcResponse {
  readonly kind: "response";
  readonly id: MessageId;
  readonly result?: JsonObject;
  readonly error?: JsonObject;
}

/** The id that a response repeats: null if the message's id was null, undefined if the message had no valid id. */
export type EchoId = MessageId | null | undefined;

export interface RpcInvalid {
  readonly kind: "invalid";
  readonly id: EchoId;
  readonly why: string;
}

export type RpcMessage = RpcRequest | RpcNotification | RpcResponse | RpcInvalid;

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A larger integer was rounded by the JSON parser, so the response would repeat another id. */
export function isMessageId(value: unknown): value is MessageId {
  return typeof value === "string" || Number.isSafeInteger(value);
}

export function parseMessage(value: unknown): RpcMessage {
  if (!isObject(value)) return { kind: "invalid", id: undefined, why: "a message must be a JSON object" };
  const id = isMessageId(value.id) || value.id === null ? value.id : undefined;
  if (value.jsonrpc !== "2.0") return { kind: "invalid", id, why: 'jsonrpc must be "2.0"' };
  // Some clients send null for an omitted id. Only a notification may do that: a request without an id is a mistake.
  const isLeftOut = id === null && String(value.method).startsWith("notifications/");
  if ("id" in value && !isMessageId(id) && !isLeftOut)
    return { kind: "invalid", id, why: "id must be a string or an integer" };
  if (!("method" in value)) return parseResponse(value, id);
  return parseRequest(value, id);
}

function parseRequest(value: JsonObject, id: EchoId): RpcMessage {
  if (typeof value.method !== "string") return { kind: "invalid", id, why: "method must be a string" };
  if ("result" in value || "error" in value) {
    return { kind: "invalid", id, why: "a message with a method must not have a result or an error" };
  }
  const params = value.params ?? undefined;
  if (params !== undefined && !isObject(params)) {
    return { kind: "invalid", id, why: "params must be an object" };
  }
  if (!isMessageId(id)) return { kind: "notification", method: value.method, params };
  return { kind: "request", id, method: value.method, params };
}

function parseResponse(value: JsonObject, id: EchoId): RpcMessage {
  const hasResult = "result" in value;
  const hasError = "error" in value;
  if (!hasResult && !hasError)
    return { kind: "invalid", id, why: "a message must have a method, a result or an error" };
  if (hasResult && hasError) return { kind: "invalid", id, why: "a response must not have both result and error" };
  if (!isMessageId(id)) return { kind: "invalid", id, why: "a response must have an id" };
  const body = hasResult ? value.result : value.error;
  if (!isObject(body)) return { kind: "invalid", id, why: "result and error must be objects" };
  return hasResult ? { kind: "response", id, result: body } : { kind: "response", id, error: body };
}

/** `resultJson` is already JSON, so that a cached list is not serialized again. */
export function resultResponse(id: MessageId, resultJson: string): string {
  return `{"jsonrpc":"2.0","id":${typeof id === "number" ? id : JSON.stringify(id)},"result":${resultJson}}`;
}

export function errorResponse(id: EchoId, code: number, message: string, data?: unknown): string {
  // JSON.stringify omits undefined members.
  return JSON.stringify({ jsonrpc: "2.0", id, error: { code, message, data } });
}

export function notification(method: string, params: JsonObject): string {
  return JSON.stringify({ jsonrpc: "2.0", method, params });
}
