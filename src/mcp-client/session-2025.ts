// Owns a 2025 session as plain data: whoever has the data can use the session, in another process too.
// Refuses to hold a connection or to know what the session is used for.
// https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#session-management

import { isObject, type JsonObject } from "../protocol/jsonrpc.ts";
import { violation } from "./mcp-reply.ts";

export interface Session2025 {
  /** Undefined where the server keeps no sessions. */
  readonly id: string | undefined;
  /** What both sides agreed to speak; empty where the server said nothing that could be one. */
  readonly revision: string;
  /** The params of `initialize`, with which a lost session can be begun again. */
  readonly hello: JsonObject;
  /** What the server said it can do. */
  readonly capabilities: JsonObject;
}

const SESSION_ID = /^[\x21-\x7e]{1,4096}$/;

/** Reads what was kept as JSON; undefined where it is no session. */
export function parseSession(value: unknown): Session2025 | undefined {
  if (!isObject(value) || !(value.revision === "" || isRevision(value.revision))) return undefined;
  const { id, revision, hello, capabilities } = value;
  if (id !== undefined && (typeof id !== "string" || !SESSION_ID.test(id))) return undefined;
  return isObject(hello) && isObject(capabilities) ? { id, revision, hello, capabilities } : undefined;
}

/** The session that an answer to `initialize` begins. The caller judges its revision, which may be an unknown one. */
export function createSession2025(hello: JsonObject, result: JsonObject, headers: Headers): Session2025 {
  const id = parseSessionIdHeader(headers);
  const { protocolVersion, capabilities } = result;
  const revision = isRevision(protocolVersion) ? protocolVersion : "";
  return { id, revision, hello, capabilities: isObject(capabilities) ? capabilities : {} };
}

/** The id that the head of an answer gives to a session; undefined where it gives none. Throws where it is no id. */
export function parseSessionIdHeader(headers: Headers): string | undefined {
  const id = headers.get("mcp-session-id") || undefined;
  if (id !== undefined && !SESSION_ID.test(id)) throw violation("badSessionId", "the session id is no visible ASCII");
  return id;
}

/** Any word that fits into a header, because it goes back in one. */
function isRevision(value: unknown): value is string {
  return typeof value === "string" && /^[\x21-\x7e]{1,64}$/.test(value);
}

/** The headers of every request in the session; none before it has begun. */
export function sessionHeaders(session: Session2025 | undefined): Record<string, string> {
  if (session === undefined) return {};
  return {
    ...(session.revision === "" ? {} : { "mcp-protocol-version": session.revision }),
    ...(session.id === undefined ? {} : { "mcp-session-id": session.id }),
  };
}
