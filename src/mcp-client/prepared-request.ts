// Builds the text of a client's requests, and the headers that each era needs.
// https://modelcontextprotocol.io/specification/2026-07-28/basic#_meta

import { VERSION_2026 } from "../protocol/revisions.ts";
import { encodeHeaderValue, paramHeaders, standardHeaders, type ParamHeader } from "../protocol/headers.ts";
import { isObject, type JsonObject, type MessageId } from "../protocol/jsonrpc.ts";
import { META, type LogLevel } from "../protocol/meta.ts";

export interface PreparedRequest {
  readonly id: MessageId;
  readonly method: string;
  readonly text: string;
  /** Headers of era 2026 that mirror the body. Empty in era 2025. */
  readonly headers: Readonly<Record<string, string>>;
}

export interface RequestSpec {
  readonly id: MessageId;
  readonly method: string;
  readonly params: JsonObject;
  /** JSON of `params.arguments` as the original client wrote it, with numbers that JavaScript could not represent. */
  readonly rawArguments?: string | undefined;
  /** Requests progress notifications, with the request's id as the token. */
  readonly hasProgressToken?: boolean;
}

/** Client identity, which era 2026 sends with each request. */
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

/** `mappedParams` is what `collectParamHeaders` found in the schema of the called tool. */
export function buildRequest2026(
  { id, method, params, rawArguments, hasProgressToken = false }: RequestSpec,
  client: ClientIdentity,
  mappedParams: readonly ParamHeader[] = [],
): PreparedRequest {
  // Assigned one by one, because computed names in an object literal are slow.
  const _meta: Record<string, unknown> = { ...(isObject(params._meta) ? params._meta : {}) };
  if (hasProgressToken) _meta["progressToken"] = id;
  _meta[META.protocolVersion] = VERSION_2026;
  _meta[META.clientInfo] = client.clientInfo;
  _meta[META.clientCapabilities] = client.capabilities;
  if (client.logLevel !== undefined) _meta[META.logLevel] = client.logLevel;
  const text = toRequestText({ id, method, params: { ...params, _meta }, rawArguments });
  return { id, method, text, headers: createHeaders2026(VERSION_2026, { method, params }, mappedParams) };
}

/** The headers that mirror a body. `revision` is the one in its `_meta`. */
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
