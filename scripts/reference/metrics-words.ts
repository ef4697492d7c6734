// The unit and the meaning of each counter, gauge and event field.

/** `watch`: the value that deserves a look. */
type CounterWords = readonly [unit: string, meaning: string, watch: string];
type FieldWords = readonly [unit: string, meaning: string];

export const COUNTER_WORDS: Readonly<Record<string, CounterWords>> = {
  requests: ["requests", "answered requests to MCP endpoints", ""],
  policyCacheHits: ["requests", "authorized requests that used a cached policy", ""],
  policyFetches: [
    "requests",
    "authorized requests that fetched the policy from the tenant's object",
    "a rising share: each fetch is an object call in a request",
  ],
  overloads: [
    "object calls",
    "calls that an overloaded Durable Object refused",
    "more than 0 for minutes: a tenant overloads one object",
  ],
  kvMisses: [
    "KV reads",
    "reads of keys that KV does not have",
    "nothing: misses are normal after writes and for unknown names",
  ],
  refusals: [
    "requests",
    "requests that got an error",
    "`unavailable` and `internal` concern the Worker, `limited` a caller",
  ],
  reconnections: ["sockets", "sockets that open streams lost and opened again", "a rise without a deployment"],
  streams: ["responses", "responses that are event streams", ""],
  errorsDropped: ["errors", "errors that are in the log, but not in `tenantry errors`", "more than 0: search the log"],
};

export const GAUGE_WORDS: Readonly<Record<string, CounterWords>> = {
  openStreams: ["streams", "open event streams of clients", ""],
  backlog: [
    "calls",
    "calls that `usage()` and `callAudit()` have not stored yet",
    "growth: a tenant's object does not answer",
  ],
};

export const FIELD_WORDS: Readonly<Record<string, FieldWords>> = {
  tenant: ["text", "the tenant in the URL; empty if there is no such tenant"],
  profile: ["text", "the [profile](words.md) in the URL, or empty"],
  principal: ["text", "a pseudonym of the caller; empty if the caller is anonymous"],
  era: ["`2025`, `2026`", "versions of 2025 have sessions, 2026 is 2026-07-28"],
  method: ["text", "`tools/call`, `batch`, `unknown`, or the HTTP method"],
  name: ["text", "tool, prompt, or scheme of the resource; empty if not visible"],
  outcome: ["text", "`complete`, `stream`, `toolError`, or the [name](errors.md#mcp-endpoints) of an error"],
  policy: ["`cached`, `fetched`, `none`", "the source of the tenant's policy"],
  requestId: ["text", "the id in a client's error; Cloudflare's ray id if there is one"],
  traceId: ["text", "the trace of the request, or empty"],
  weight: ["requests", "the number of requests in the event: 100 if `sample` is 0.01"],
  ms: ["milliseconds", "the time until the response"],
  status: ["number", "the HTTP status"],
  objectCalls: ["calls", "calls to Durable Objects"],
  kvReads: ["reads", "reads of KV"],
  bytesIn: ["characters", "the body of the request"],
  bytesOut: ["characters", "the responses as JSON"],
  messages: ["messages", "messages of the request that ran"],
  errors: ["errors", "errors that `onError` got"],
  at: ["time", "the arrival of the request; the dataset has `timestamp` instead"],
  counts: ["numbers", "the [counters](#counters) since the isolate's last event"],
  levels: ["numbers", "the [gauges](#gauges) at the time of the event"],
};
