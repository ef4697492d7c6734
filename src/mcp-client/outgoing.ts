// Owns the requests that a client sends, as text, with the headers that each era wants. A caller who has the text of a
// request already can send that unchanged. Refuses to choose ids.
// https://modelcontextprotocol.io/specification/2026-07-28/basic#_meta

import { REVISION_2026 } from "../protocol/era.ts";
import { encodeHeaderValue, paramHeaders, standardHeaders, type ParamHeader } from "../protocol/headers.ts";
import { isObject, type JsonObject, type RequestId } from "../protocol/jsonrpc.ts";
import { META, type LogLevel } from "../protocol/meta.ts";

/** A request, ready to be sent. */
export interface Outgoing {
  readonly id: RequestId;
  readonly method: string;
  readonly text: string;
  /** Those of era 2026, which repeat the body; era 2025 has none. */
  readonly headers: Readonly<Record<string, string>>;
}

export interface Asked {
  readonly id: RequestId;
  readonly method: string;
  readonly params: JsonObject;
  /** The JSON of `params.arguments` as somebody else wrote it: numbers in it may be longer than a number can be here. */
  readonly exact?: string | undefined;
  /** Progress is wanted, under the request's own id. */
  readonly isTold?: boolean;
}

/** Who asks, in era 2026, where each request says so itself. */
export interface ClientAbout {
  readonly clientInfo: JsonObject;
  readonly capabilities: JsonObject;
  readonly logLevel?: LogLevel;
}

export function request2025(asked: Asked): Outgoing {
  const { id, method } = asked;
  return { id, method, text: textOfRequest(asked), headers: {} };
}

function textOfRequest({ id, method, params, exact }: Asked): string {
  if (exact === undefined) return JSON.stringify({ jsonrpc: "2.0", id, method, params });
  const { arguments: _rounded, ...rest } = params;
  const written = Object.keys(rest).length === 0 ? "{" : `${JSON.stringify(rest).slice(0, -1)},`;
  return `${JSON.stringify({ jsonrpc: "2.0", id, method }).slice(0, -1)},"params":${written}"arguments":${exact}}}`;
}

/** `mirrored` is what `collectParamHeaders` found in the schema of the tool that is called. */
export function request2026(
  { id, method, params, exact, isTold = false }: Asked,
  about: ClientAbout,
  mirrored: readonly ParamHeader[] = [],
): Outgoing {
  // Assigned: in a literal, each name that is computed is a step into the runtime.
  const _meta: Record<string, unknown> = { ...(isObject(params._meta) ? params._meta : {}) };
  if (isTold) _meta["progressToken"] = id;
  _meta[META.protocolVersion] = REVISION_2026;
  _meta[META.clientInfo] = about.clientInfo;
  _meta[META.clientCapabilities] = about.capabilities;
  if (about.logLevel !== undefined) _meta[META.logLevel] = about.logLevel;
  const text = textOfRequest({ id, method, params: { ...params, _meta }, exact });
  return { id, method, text, headers: headers2026(REVISION_2026, { method, params }, mirrored) };
}

/** The headers that repeat what a body says. `revision` is the one that its `_meta` claims. */
export function headers2026(
  revision: string,
  { method, params }: Pick<Asked, "method" | "params">,
  mirrored: readonly ParamHeader[] = [],
): Record<string, string> {
  return {
    "mcp-protocol-version": encodeHeaderValue(revision),
    ...standardHeaders(method, params),
    ...paramHeaders(mirrored, params.arguments),
  };
}
