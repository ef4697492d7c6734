// What a row of rows.ts is, and the messages that its rows are made of.

import type { Json } from "../../support/mcp-client.ts";

export interface Place {
  /** Of a session of 2025-11-25 at the open tenant. */
  readonly session: string;
  readonly key: string;
  /** A key that was revoked. */
  readonly ended: string;
}

export interface WildClient {
  readonly client: string;
  /** Its version, or the report where it was seen. */
  readonly seen: string;
  readonly sends: string;
  readonly gets: string;
  /** A tenant that is open where absent; `origin`: the path is the whole one. */
  readonly to?: "keyed" | "origin";
  readonly path?: string;
  /** POST where absent. */
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>> | ((place: Place) => Readonly<Record<string, string>>);
  readonly body?: Json | string | readonly string[];
  readonly status: number;
  /** Of the answer, text and headers. */
  readonly says?: string;
}

export const BOTH = "application/json, text/event-stream";
export const SSE = "text/event-stream";
export const POSTED = { accept: BOTH, "content-type": "application/json" };
export const CHALLENGE = 'error="invalid_token"';

export const call = (method: string, params?: unknown, id: unknown = 1): Json => ({
  jsonrpc: "2.0",
  id,
  method,
  ...(params === undefined ? {} : { params }),
});
export const hello = (protocolVersion: string, more: Json = { capabilities: {} }) =>
  call("initialize", { protocolVersion, clientInfo: { name: "client", version: "1" }, ...more });
export const echo = (args: unknown, more: Json = {}) =>
  call("tools/call", { name: "lab_echo", arguments: args, ...more });
export const notification = (method: string, more: Json = {}): Json => ({ jsonrpc: "2.0", method, ...more });
export const bearer = (token: string) => ({ ...POSTED, authorization: `Bearer ${token}` });
