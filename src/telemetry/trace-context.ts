// Owns the trace of which a request is a part, as it came: W3C Trace Context from headers or from `_meta`. Refuses what is
// malformed: that is as if nothing had been sent. https://www.w3.org/TR/trace-context/

/** Passed on as it came: who records no span of its own is none in between. */
export interface TraceContext {
  readonly traceparent: string;
  readonly tracestate?: string;
}

const PARENT = /^(?!ff)[\da-f]{2}-(?!0{32})[\da-f]{32}-(?!0{16})[\da-f]{16}-[\da-f]{2}$/;
const STATE = /^[\x20-\x7e\t]{1,512}$/;

/** A state without its parent means nothing. */
export function parseTrace(traceparent: unknown, tracestate: unknown): TraceContext | undefined {
  if (typeof traceparent !== "string" || !PARENT.test(traceparent)) return undefined;
  return typeof tracestate === "string" && STATE.test(tracestate) ? { traceparent, tracestate } : { traceparent };
}

/**
 * What `_meta` says goes before what headers say: it is of this message, and they are of the hop.
 * https://modelcontextprotocol.io/seps/414
 */
export function readTrace(meta: unknown, header: (name: string) => string | null): TraceContext | undefined {
  const { traceparent, tracestate } = Object(meta) as Readonly<Record<string, unknown>>;
  return parseTrace(traceparent, tracestate) ?? parseTrace(header("traceparent"), header("tracestate"));
}

/** The part by which all that belongs to one trace is found. */
export function traceIdOf({ traceparent }: TraceContext): string {
  return traceparent.slice(3, 35);
}
