// Owns the requests that a client sends, as text, with the headers that each era wants. A caller who has the text of a
// request already can send that unchanged. Refuses to choose ids.
// https://modelcontextprotocol.io/specification/2026-07-28/basic#_meta

import { VERSION_2026 } from "../protocol/revisions.ts";
import { encodeHeaderValue, paramHeaders, standardHeaders, type ParamHeader } from "../protocol/headers.ts";
import { isObject, type JsonObject, type RequestId } from "../protocol/jsonrpc.ts";
import { META, type LogLevel } from "../protocol/meta.ts";

/** A request, ready to be sent. */
export interface PreparedRequest {
  readonly id: RequestId;
  readonly method: string;
  readonly text: string;
  /** Those of era 2026, which repeat the body; era 2025 has none. */
  readonly headers: Readonly<Record<string, string>>;
}

export interface RequestSpec {
  readonly id: RequestId;
  readonly method: string;
  readonly params: JsonObject;
  /** The JSON of `params.arguments` as somebody else wrote it: numbers in it may be longer than a number can be here. */
  readonly rawArguments?: string | undefined;
  /** Progress is wanted, under the request's own id. */
  readonly hasProgressToken?: boolean;
}

/** Who asks, in era 2026, where each request says so itself. */
export interface ClientIdentity {
  readonly clientInfo: JsonObject;
  readonly capabilities: JsonObject;
  readonly logLevel?: LogLevel;
}

export function buildRequest2025(spec: RequestSpec): PreparedRequest {
  const { id, method } = spec;
  return { id, method, text: toRequestText(spec), headers: {} };
}

function toRequestText({ id, method, params, rawArguments }: RequestSpec): string {
  if (rawArguments === undefined) return JSON.stringify({ jsonrpc: "2.0", id, method, params });
  const { arguments: _rounded, ...rest } = params;
  const paramsStart = Object.keys(rest).length === 0 ? "{" : `${JSON.stringify(rest).slice(0, -1)},`;
  return `${JSON.stringify({ jsonrpc: "2.0", id, method }).slice(0, -1)},"params":${paramsStart}"arguments":${rawArguments}}}`;
}

/** `mirrored` is what `collectParamHeaders` found in the schema of the tool that is called. */
export function buildRequest2026(
  { id, method, params, rawArguments, hasProgressToken = false }: RequestSpec,
  client: ClientIdentity,
  mappedParams: readonly ParamHeader[] = [],
): PreparedRequest {
  // Assigned: in a literal, each name that is computed is a step into the runtime.
  const _meta: Record<string, unknown> = { ...(isObject(params._meta) ? params._meta : {}) };
  if (hasProgressToken) _meta["progressToken"] = id;
  _meta[META.protocolVersion] = VERSION_2026;
  _meta[META.clientInfo] = client.clientInfo;
  _meta[META.clientCapabilities] = client.capabilities;
  if (client.logLevel !== undefined) _meta[META.logLevel] = client.logLevel;
  const text = toRequestText({ id, method, params: { ...params, _meta }, rawArguments });
  return { id, method, text, headers: createHeaders2026(VERSION_2026, { method, params }, mappedParams) };
}

/** The headers that repeat what a body says. `revision` is the one that its `_meta` claims. */
export function createHeaders2026(
  revision: string,
  { method, params }: Pick<RequestSpec, "method" | "params">,
  mappedParams: readonly ParamHeader[] = [],
): Record<string, string> {
  return {
    "mcp-protocol-version": encodeHeaderValue(revision),
    ...standardHeaders(method, params),
    ...paramHeaders(mappedParams, params.arguments),
  };
}
