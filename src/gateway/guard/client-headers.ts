// Which client headers may go on to an upstream: only those that the document names, and the trace context. Credentials
// of the client for this Worker, such as its key and cookies, are never forwarded.

import { parseTrace } from "../../telemetry/trace-context.ts";

export type GetClientHeader = (name: string) => string | null;

const NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const VALUE = /^[\x20-\x7e\t]{0,4000}$/;
/** Also covers hop-by-hop headers, headers that the platform adds, and MCP headers of one hop. */
const FORBIDDEN =
  /^(authorization|cookie2?|set-cookie|accept.*|content-.*|host|connection|keep-alive|te|trailer|transfer-encoding|upgrade|last-event-id|(mcp|cf|proxy|sec|tenantry)-.*)$/;

/** The NAME in `client:NAME`, in lower case. Returns undefined for another placeholder or a forbidden header. */
export function parseClientPlaceholder(placeholder: string): string | undefined {
  const name = placeholder.startsWith("client:") ? placeholder.slice("client:".length).toLowerCase() : "";
  return NAME.test(name) && !FORBIDDEN.test(name) ? name : undefined;
}

/** Returns undefined if the client did not send the header, or if its value cannot be forwarded. */
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
