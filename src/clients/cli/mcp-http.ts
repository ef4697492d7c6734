// Owns one HTTP exchange with an MCP endpoint, of either era: who asks, and the answer as messages, however it comes.
// Refuses redirects, answers without end, and to know what a message means.
// https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http

import { CliError, EXIT } from "./exit.ts";
import { unreachable } from "./terminal/problem.ts";
import { readSse, type SseCursor } from "./sse.ts";

export type Json = Record<string, unknown>;

export interface McpPlace {
  readonly url: string;
  readonly token: string | undefined;
}

export interface McpSend {
  readonly method: "POST" | "GET" | "DELETE";
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal: AbortSignal;
}

/** A message, and its text as it came: parsed numbers are not always what was written. */
export interface Received {
  readonly message: Json;
  readonly text: string;
}

export interface McpAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly kind: "json" | "stream" | "empty" | "foreign";
  /** None of an answer that is empty or foreign. To be read once. */
  readonly messages: AsyncIterable<Received>;
  readonly cursor: SseCursor;
  /** Why an answer is none, for a person. */
  readonly why: string;
}

const MAX_JSON_BYTES = 64 * 1024 * 1024;
export const ACCEPT_BOTH = "application/json, text/event-stream";
export const META = "io.modelcontextprotocol/";

export async function sendMcp(place: McpPlace, { method, headers, body, signal }: McpSend): Promise<McpAnswer> {
  const all = {
    ...headers,
    ...(body !== undefined && { "content-type": "application/json" }),
    ...(place.token !== undefined && { authorization: `Bearer ${place.token}` }),
  };
  return during(place, signal, async () => {
    const init = { method, headers: all, redirect: "manual", signal, ...(body !== undefined && { body }) } as const;
    return openAnswer(await fetch(place.url, init), place, signal);
  });
}

async function openAnswer(response: Response, place: McpPlace, signal: AbortSignal): Promise<McpAnswer> {
  const { status, headers } = response;
  const type = mediaTypeOf(headers);
  const cursor: SseCursor = {};
  const answer = { status, headers, cursor, messages: none(), why: "" };
  if (type === "text/event-stream" && response.ok && response.body) {
    return { ...answer, kind: "stream", messages: streamed(response.body, { place, signal, cursor }) };
  }
  const text = await readText(response);
  const message = type === "application/json" ? parseObject(text) : undefined;
  if (message && isMessage(message)) return { ...answer, kind: "json", messages: one({ message, text }) };
  if (response.ok && text === "") return { ...answer, kind: "empty", why: `${place.url} answered nothing` };
  const to = headers.get("location");
  const what = to === null ? `answered ${status} (${type || "no content type"}), not MCP` : `sends us on to ${to}`;
  return { ...answer, kind: "foreign", why: `${place.url} ${what}` };
}

function mediaTypeOf(headers: Headers): string {
  return (headers.get("content-type") ?? "").replace(/;.*$/s, "").trim().toLowerCase();
}

async function* streamed(
  body: ReadableStream<Uint8Array>,
  { place, signal, cursor }: { place: McpPlace; signal: AbortSignal; cursor: SseCursor },
): AsyncGenerator<Received, void, void> {
  const events = readSse(body, cursor);
  try {
    for (;;) {
      const next = await during(place, signal, () => events.next());
      if (next.done === true) return;
      const message = parseObject(next.value);
      if (message && isMessage(message)) yield { message, text: next.value };
    }
  } finally {
    await events.return();
  }
}

async function* one(received: Received): AsyncGenerator<Received, void, void> {
  yield received;
}

async function* none(): AsyncGenerator<Received, void, void> {}

async function during<T>(place: McpPlace, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof CliError) throw error;
    if (signal.aborted) throw new CliError(EXIT.interrupted, "interrupted", { cause: error });
    throw unreachable(error, place.url);
  }
}

async function readText(response: Response): Promise<string> {
  const decoder = new TextDecoder();
  let size = 0;
  let text = "";
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    size += chunk.byteLength;
    if (size > MAX_JSON_BYTES) throw new Error(`the answer is longer than ${MAX_JSON_BYTES} bytes`);
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

function isMessage(value: Json): boolean {
  return typeof value.method === "string" || "result" in value || "error" in value;
}

export function parseObject(text: string): Json | undefined {
  try {
    const value = JSON.parse(text) as Json | null;
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

export function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A header holds ASCII; anything else travels as Base64. */
export function headerValue(value: string): string {
  const plain = /^[\x21-\x7e]+(?: +[\x21-\x7e]+)*$/.test(value) && !/^=\?base64\?.*\?=$/.test(value);
  return plain ? value : `=?base64?${Buffer.from(value).toString("base64")}?=`;
}

/** The headers that repeat what the body of a 2026 message says. */
export function repeatedHeaders(revision: string, method: string, params: Json): Record<string, string> {
  const name = NAMED[method] === undefined ? undefined : params[NAMED[method]];
  return {
    accept: ACCEPT_BOTH,
    "mcp-protocol-version": headerValue(revision),
    "mcp-method": headerValue(method),
    ...(typeof name === "string" && { "mcp-name": headerValue(name) }),
  };
}

const NAMED: Readonly<Record<string, string>> = {
  "tools/call": "name",
  "prompts/get": "name",
  "resources/read": "uri",
};
