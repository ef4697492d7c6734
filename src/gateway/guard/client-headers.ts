// Owns which headers of a client may go on to an upstream: those alone that the document names, and the trace context.
// Refuses what says who the client is to us: its key and its cookies are for this Worker.

import { parseTrace } from "../../telemetry/trace-context.ts";

/** Reads a header of the client's request. */
export type GetClientHeader = (name: string) => string | null;

const NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const VALUE = /^[\x20-\x7e\t]{0,4000}$/;
/** Also what belongs to one connection, what the platform adds, and what MCP says about one hop. */
const FORBIDDEN =
  /^(authorization|cookie2?|set-cookie|accept.*|content-.*|host|connection|keep-alive|te|trailer|transfer-encoding|upgrade|last-event-id|(mcp|cf|proxy|sec|tenantry)-.*)$/;

/** The name in `client:NAME`, in lower case; undefined for what is none, or must not be passed on. */
export function parseClientPlaceholder(placeholder: string): string | undefined {
  const name = placeholder.startsWith("client:") ? placeholder.slice("client:".length).toLowerCase() : "";
  return NAME.test(name) && !FORBIDDEN.test(name) ? name : undefined;
}

/** undefined: the client sent none, or one that no request can carry. */
export function clientHeaderValue(client: GetClientHeader, name: string): string | undefined {
  const value = client(name);
  return value !== null && VALUE.test(value) ? value : undefined;
}

const NO_TRACE = {};

/** https://www.w3.org/TR/trace-context/ */
export function traceHeaders(client: GetClientHeader): Readonly<Record<string, string>> {
  const parent = client("traceparent");
  return parent === null ? NO_TRACE : { ...parseTrace(parent, client("tracestate")) };
}
