// An MCP client over plain HTTP: no retries, no negotiation. It checks every message that comes back against the official
// schema of its revision.

import { logExchange } from "./exchange-log.ts";
import { expectOfficial } from "./official-schema.ts";

export const REVISIONS_2025 = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] as const;
export const ERAS = [
  { era: "2025", revision: "2025-11-25" },
  { era: "2026", revision: "2026-07-28" },
] as const;

export type Json = Record<string, unknown>;

export interface RpcError {
  readonly code: number;
  readonly message: string;
  readonly data?: Json;
}

export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** Every JSON-RPC message of the answer, notifications first. */
  readonly messages: readonly Json[];
  /** The response's result, `{}` when there is none. */
  readonly result: Json;
  readonly error: RpcError | undefined;
  readonly id: unknown;
}

const BOTH = "application/json, text/event-stream";

/** Posts a body as it stands; checks what comes back when `revision` is given. */
export async function post(
  url: string,
  body: unknown,
  options: { headers?: Record<string, string>; revision?: string; method?: string } = {},
): Promise<Reply> {
  const sent = typeof body === "string" ? body : JSON.stringify(body);
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", ...options.headers },
    body: sent,
  });
  const text = await response.text();
  logExchange({ method: "POST", url, body: sent }, { status: response.status, text });
  const messages = readMessages(response.headers.get("content-type") ?? "", text);
  const { revision, method } = options;
  if (revision !== undefined) {
    for (const message of messages) {
      expectOfficial(revision, message, { direction: "server", ...methodOf(message, method) });
    }
  }
  const last = messages.at(-1) ?? {};
  return {
    status: response.status,
    headers: response.headers,
    text,
    messages,
    result: (last.result ?? {}) as Json,
    error: last.error as RpcError | undefined,
    id: last.id,
  };
}

function methodOf(message: Json, asked: string | undefined): { method?: string } {
  if (typeof message.method === "string") return { method: message.method };
  return asked === undefined || !("result" in message) ? {} : { method: asked };
}

function readMessages(contentType: string, text: string): Json[] {
  if (text === "") return [];
  if (!contentType.startsWith("text/event-stream")) return [JSON.parse(text)].flat() as Json[];
  return text
    .split("\n")
    .filter((line) => line.startsWith("data: "))
    .map((line) => JSON.parse(line.slice(6)) as Json);
}

let nextId = 1;

export interface Client {
  readonly era: "2025" | "2026";
  readonly revision: string;
  /** Of every request: in era 2025 the session's. */
  readonly headers: Readonly<Record<string, string>>;
  request(method: string, params?: Json, options?: { headers?: Record<string, string> }): Promise<Reply>;
  notify(method: string, params?: Json): Promise<Reply>;
}

/** `Mcp-Name` and friends as a client of 2026-07-28 writes them. */
export function encodeHeader(value: string): string {
  const plain = /^[\x21-\x7e]+(?: +[\x21-\x7e]+)*$/.test(value) && !/^=\?base64\?.*\?=$/.test(value);
  return plain ? value : `=?base64?${Buffer.from(value).toString("base64")}?=`;
}

export function client2026(
  url: string,
  capabilities: Json = {},
  meta: Json = {},
  always: Record<string, string> = {},
): Client {
  const revision = "2026-07-28";
  const send = (method: string, params: Json, headers: Record<string, string>, id?: number) => {
    const body = {
      jsonrpc: "2.0",
      ...(id === undefined ? {} : { id }),
      method,
      params: {
        ...params,
        _meta: {
          "io.modelcontextprotocol/protocolVersion": revision,
          "io.modelcontextprotocol/clientInfo": { name: "test", version: "1" },
          "io.modelcontextprotocol/clientCapabilities": capabilities,
          ...meta,
        },
      },
    };
    const subject = method === "resources/read" ? params.uri : params.name;
    const named = ["tools/call", "prompts/get", "resources/read"].includes(method) && typeof subject === "string";
    return post(url, body, {
      revision,
      method,
      headers: {
        accept: BOTH,
        "mcp-protocol-version": revision,
        "mcp-method": method,
        ...(named ? { "mcp-name": encodeHeader(subject) } : {}),
        ...always,
        ...headers,
      },
    });
  };
  return {
    era: "2026",
    revision,
    headers: { accept: BOTH, "mcp-protocol-version": revision, ...always },
    request: (method, params = {}, options = {}) => send(method, params, options.headers ?? {}, nextId++),
    notify: (method, params = {}) => send(method, params, {}),
  };
}

/** Opens a session with `initialize`. */
export async function client2025(
  url: string,
  revision = "2025-11-25",
  capabilities: Json = {},
  always: Record<string, string> = {},
): Promise<Client> {
  const begun = await post(
    url,
    {
      jsonrpc: "2.0",
      id: nextId++,
      method: "initialize",
      params: { protocolVersion: revision, capabilities, clientInfo: { name: "test", version: "1" } },
    },
    { headers: { accept: BOTH, ...always }, revision, method: "initialize" },
  );
  const session = begun.headers.get("mcp-session-id");
  if (session === null) throw new Error(`no session: ${begun.text}`);
  const headers = {
    accept: BOTH,
    ...always,
    "mcp-session-id": session,
    ...(revision >= "2025-06-18" ? { "mcp-protocol-version": revision } : {}),
  };
  const send = (body: Json, extra: Record<string, string> = {}) =>
    post(url, body, { headers: { ...headers, ...extra }, revision, method: String(body.method) });
  const client: Client = {
    era: "2025",
    revision,
    headers,
    request: (method, params, options = {}) =>
      send({ jsonrpc: "2.0", id: nextId++, method, ...(params === undefined ? {} : { params }) }, options.headers),
    notify: (method, params) => send({ jsonrpc: "2.0", method, ...(params === undefined ? {} : { params }) }),
  };
  await client.notify("notifications/initialized");
  return client;
}

/** `always`: headers of every request, such as a credential. */
export async function mcpClient(
  revision: string,
  url: string,
  capabilities: Json = {},
  always: Record<string, string> = {},
): Promise<Client> {
  return revision === "2026-07-28"
    ? client2026(url, capabilities, {}, always)
    : client2025(url, revision, capabilities, always);
}
