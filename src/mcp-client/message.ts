// Parses a text as JSON-RPC: a request, notification or response, together with its original text. Params, result and
// error are parsed on demand. A message with duplicate members is rejected.

import { ERRORS } from "../protocol/errors.ts";
import { isObject, type JsonObject, type MessageId } from "../protocol/jsonrpc.ts";
import { arrayElements, objectMembers, type JsonMember } from "./json-text.ts";

interface MessageText {
  /** The original text, to be forwarded unchanged. */
  readonly text: string;
  /** The whole message as a value, parsed once on first use. */
  value(): JsonObject;
}

export interface RequestMessage extends MessageText {
  readonly kind: "request";
  readonly id: MessageId;
  readonly method: string;
  /** JSON exactly as in the message. The same holds for `result` and `error`. */
  readonly params: string | undefined;
}

export interface NotificationMessage extends MessageText {
  readonly kind: "notification";
  readonly method: string;
  readonly params: string | undefined;
}

export interface ResponseMessage extends MessageText {
  readonly kind: "response";
  /** null or undefined if the server refused before it knew the id. */
  readonly id: MessageId | null | undefined;
  /** Exactly one of this and `error` is present. */
  readonly result: string | undefined;
  readonly error: string | undefined;
}

export type Message = RequestMessage | NotificationMessage | ResponseMessage;

export interface UnreadableMessage {
  readonly kind: "unreadable";
  readonly rule: "invalidJson" | "notJsonRpc";
  readonly why: string;
}

export interface RpcError {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

/**
 * A message has at most five members. A text of some megabytes could have millions, each of them a string in memory.
 */
const MAX_MEMBERS = 50;
/** Maximum messages in a batch, for the same reason. */
const MAX_BATCH = 1000;

/** Returns one message, or those of a batch. */
export function parseServerMessages(text: string): readonly Message[] | UnreadableMessage {
  const batch = arrayElements(text, MAX_BATCH);
  if (batch === undefined) {
    const message = parseServerMessage(text);
    return message.kind === "unreadable" ? message : [message];
  }
  if (batch.length === 0) return unreadable("notJsonRpc", "the batch is empty");
  const messages: Message[] = [];
  for (const element of batch) {
    const message = parseServerMessage(element);
    if (message.kind === "unreadable") return message;
    messages.push(message);
  }
  return messages;
}

export function parseServerMessage(text: string): Message | UnreadableMessage {
  const list = objectMembers(text, MAX_MEMBERS);
  if (list === undefined) return unreadable("invalidJson", "the message is not a valid JSON object");
  const members = new Map(list.map((member) => [member.name, valueText(member)]));
  // Parsers differ in which duplicate they take: the message that was checked could differ from the one that is read.
  if (members.size < list.length) return unreadable("notJsonRpc", "the message has a field twice");
  if (members.get("jsonrpc") !== '"2.0"') return unreadable("notJsonRpc", 'jsonrpc is not "2.0"');
  const id = idOf(members);
  if (id === undefined) return unreadable("notJsonRpc", "the id is not a string or number");
  return members.get("method") === undefined ? parseResponse(text, members, id) : parseCall(text, members, id);
}

type Members = ReadonlyMap<string, string | undefined>;

/** Some servers write `"error": null` beside a result. */
function valueText({ name, text }: JsonMember): string | undefined {
  return text === "null" && name !== "id" ? undefined : text;
}

/** In a tuple, because a missing id is legal and must differ from an illegal one. */
function idOf(members: Members): readonly [MessageId | null | undefined] | undefined {
  const text = members.get("id");
  const id: unknown = text === undefined ? undefined : JSON.parse(text);
  const isLegal = id === undefined || id === null || typeof id === "string" || typeof id === "number";
  return isLegal ? [id] : undefined;
}

function parseCall(
  text: string,
  members: Members,
  [id]: readonly [MessageId | null | undefined],
): RequestMessage | NotificationMessage | UnreadableMessage {
  const method: unknown = JSON.parse(members.get("method") ?? "");
  if (typeof method !== "string") return unreadable("notJsonRpc", "the method is not a string");
  if (members.get("result") !== undefined || members.get("error") !== undefined) {
    return unreadable("notJsonRpc", "the message has both a method and a result or error");
  }
  const params = members.get("params");
  if (id === undefined) return { kind: "notification", text, method, params, value: createLazyParser(text) };
  if (id === null) return unreadable("notJsonRpc", "the id of the request is null");
  return { kind: "request", text, id, method, params, value: createLazyParser(text) };
}

function parseResponse(
  text: string,
  members: Members,
  [id]: readonly [MessageId | null | undefined],
): ResponseMessage | UnreadableMessage {
  const result = members.get("result");
  const error = members.get("error");
  if ((result === undefined) === (error === undefined)) {
    return unreadable("notJsonRpc", "the response must have either a result or an error");
  }
  if (!(result ?? error)?.startsWith("{")) return unreadable("notJsonRpc", "the result or error is not an object");
  return { kind: "response", text, id, result, error, value: createLazyParser(text) };
}

/**
 * Whether a response answers the request with this id. A server that refuses before it has read the id sends none, and
 * some send a number back as a string.
 */
export function isResponseTo({ id: responseId }: ResponseMessage, id: MessageId): boolean {
  if (responseId === id || responseId === undefined || responseId === null) return true;
  return (
    typeof id === "number" && typeof responseId === "string" && responseId.trim() !== "" && Number(responseId) === id
  );
}

/** The error of a response. Code and message get defaults if the server's are not legal. */
export function rpcErrorOf({ error }: ResponseMessage): RpcError | undefined {
  if (error === undefined) return undefined;
  const { code, message, data } = JSON.parse(error) as JsonObject;
  return {
    code: typeof code === "number" ? code : ERRORS.internal.code,
    message: typeof message === "string" ? message : "",
    ...(data === undefined ? {} : { data }),
  };
}

/** The params as a value. JSON-RPC allows them to be absent, which becomes an empty object. */
export function paramsOf({ params }: RequestMessage | NotificationMessage): JsonObject {
  const value: unknown = params === undefined ? {} : JSON.parse(params);
  return isObject(value) ? value : {};
}

export function resultOf({ result }: ResponseMessage): JsonObject | undefined {
  return result === undefined ? undefined : (JSON.parse(result) as JsonObject);
}

function createLazyParser(text: string): () => JsonObject {
  let value: JsonObject | undefined;
  return () => (value ??= JSON.parse(text) as JsonObject);
}

function unreadable(rule: UnreadableMessage["rule"], why: string): UnreadableMessage {
  return { kind: "unreadable", rule, why };
}
