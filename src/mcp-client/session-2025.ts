// A 2025 session as plain data, which another process can use too.
// https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#session-management

import { isObject, type JsonObject } from "../protocol/jsonrpc.ts";
import { violation } from "./mcp-reply.ts";

export interface Session2025 {
  /** undefined if the server keeps no sessions. */
  readonly id: string | undefined;
  /** The negotiated revision. Empty if the server sent no usable one. */
  readonly revision: string;
  /** The params of `initialize`, to restart a lost session. */
  readonly hello: JsonObject;
  readonly capabilities: JsonObject;
}

const SESSION_ID = /^[\x21-\x7e]{1,4096}$/;

/** Validates a stored session. Returns undefined if the value is not one. */
export function parseSession(value: unknown): Session2025 | undefined {
  if (!isObject(value) || !(value.revision === "" || isRevision(value.revision))) return undefined;
  const { id, revision, hello, capabilities } = value;
  if (id !== undefined && (typeof id !== "string" || !SESSION_ID.test(id))) return undefined;
  return isObject(hello) && isObject(capabilities) ? { id, revision, hello, capabilities } : undefined;
}

/** The session that an `initialize` response starts. The caller checks its revision, which may be unknown. */
export function createSession2025(hello: JsonObject, result: JsonObject, headers: Headers): Session2025 {
  const id = parseSessionIdHeader(headers);
  const { protocolVersion, capabilities } = result;
  const revision = isRevision(protocolVersion) ? protocolVersion : "";
  return { id, revision, hello, capabilities: isObject(capabilities) ? capabilities : {} };
}

/** The session id in the response headers, or undefined. Throws if the id is malformed. */
export function parseSessionIdHeader(headers: Headers): string | undefined {
  const id = headers.get("mcp-session-id") || undefined;
  if (id !== undefined && !SESSION_ID.test(id)) throw violation("badSessionId", "the session id is not visible ASCII");
  return id;
}

/** Any word that fits into a header, because the revision is sent back in one. */
function isRevision(value: unknown): value is string {
  return typeof value === "string" && /^[\x21-\x7e]{1,64}$/.test(value);
}

/** Headers of every request in the session. Empty before it has started. */
export function sessionHeaders(session: Session2025 | undefined): Record<string, string> {
  if (session === undefined) return {};
  return {
    ...(session.revision === "" ? {} : { "mcp-protocol-version": session.revision }),
    ...(session.id === undefined ? {} : { "mcp-session-id": session.id }),
  };
}
