// The request's W3C Trace Context, from headers or from `_meta`. A malformed context is ignored.
// https://www.w3.org/TR/trace-context/

/** Passed on unchanged: this Worker records no spans of its own, so it does not appear in the trace. */
export interface TraceContext {
  readonly traceparent: string;
  readonly tracestate?: string;
}

const PARENT = /^(?!ff)[\da-f]{2}-(?!0{32})[\da-f]{32}-(?!0{16})[\da-f]{16}-[\da-f]{2}$/;
const STATE = /^[\x20-\x7e\t]{1,512}$/;

/** A tracestate without a traceparent is ignored. */
export function parseTrace(traceparent: unknown, tracestate: unknown): TraceContext | undefined {
  if (typeof traceparent !== "string" || !PARENT.test(traceparent)) return undefined;
  return typeof tracestate === "string" && STATE.test(tracestate) ? { traceparent, tracestate } : { traceparent };
}

/**
 * `_meta` takes precedence over headers: it belongs to the message, while headers belong to the hop.
 * https://modelcontextprotocol.io/seps/414
 */
export function readTrace(meta: unknown, header: (name: string) => string | null): TraceContext | undefined {
  const { traceparent, tracestate } = Object(meta) as Readonly<Record<string, unknown>>;
  return parseTrace(traceparent, tracestate) ?? parseTrace(header("traceparent"), header("tracestate"));
}

/** The trace id, which all parts of a trace share. */
export function traceIdOf({ traceparent }: TraceContext): string {
  return traceparent.slice(3, 35);
}
