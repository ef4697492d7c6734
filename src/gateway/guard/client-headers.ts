// Owns which headers of a client may go on to an upstream: those alone that the document names, and the trace context.
// Refuses what says who the client is to us: its key and its cookies are for this Worker.

/** Reads a header of the client's request. */
export type ClientHeader = (name: string) => string | null;

const NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const VALUE = /^[\x20-\x7e\t]{0,4000}$/;
/** Also what belongs to one connection, what the platform adds, and what MCP says about one hop. */
const NEVER =
  /^(authorization|cookie2?|set-cookie|accept.*|content-.*|host|connection|keep-alive|te|trailer|transfer-encoding|upgrade|last-event-id|(mcp|cf|proxy|sec|tenantry)-.*)$/;

/** The name in `client:NAME`, in lower case; undefined for what is none, or must not be passed on. */
export function clientHeaderIn(placeholder: string): string | undefined {
  const name = placeholder.startsWith("client:") ? placeholder.slice("client:".length).toLowerCase() : "";
  return NAME.test(name) && !NEVER.test(name) ? name : undefined;
}

/** undefined: the client sent none, or one that no request can carry. */
export function clientValue(client: ClientHeader, name: string): string | undefined {
  const value = client(name);
  return value !== null && VALUE.test(value) ? value : undefined;
}

const TRACE_PARENT = /^(?!ff)[\da-f]{2}-(?!0{32})[\da-f]{32}-(?!0{16})[\da-f]{16}-[\da-f]{2}$/;
const MAX_TRACE_STATE = 512;

/** https://www.w3.org/TR/trace-context/ A state without its parent means nothing. */
export function traceHeaders(client: ClientHeader): Readonly<Record<string, string>> {
  const traceparent = client("traceparent");
  if (traceparent === null || !TRACE_PARENT.test(traceparent)) return {};
  const tracestate = clientValue(client, "tracestate") ?? "";
  const isState = tracestate !== "" && tracestate.length <= MAX_TRACE_STATE;
  return { traceparent, ...(isState ? { tracestate } : {}) };
}
