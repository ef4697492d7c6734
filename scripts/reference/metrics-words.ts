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
    "a rising share, because each fetch makes a request wait for an object",
  ],
  overloads: [
    "object calls",
    "calls that an overloaded Durable Object refused",
    "a value above 0 for several minutes; a tenant then overloads one object",
  ],
  kvMisses: [
    "KV reads",
    "reads of keys that KV does not have",
    "nothing, because misses are normal after writes and for unknown names",
  ],
  refusals: [
    "requests",
    "requests that got an error",
    "`unavailable` and `internal` concern the Worker; `limited` concerns one caller",
  ],
  reconnections: [
    "sockets",
    "how often an open stream lost its socket and opened a new one",
    "a rise without a deployment",
  ],
  streams: ["responses", "responses that are event streams", ""],
  errorsDropped: [
    "errors",
    "errors that are in the log, but not in `tenantry errors`",
    "a value above 0; then search the log",
  ],
};

export const GAUGE_WORDS: Readonly<Record<string, CounterWords>> = {
  openStreams: ["streams", "open event streams of clients", ""],
  backlog: [
    "calls",
    "calls that `usage()` and `callAudit()` have not stored yet",
    "a rising value; a tenant's object then does not answer",
  ],
};

export const FIELD_WORDS: Readonly<Record<string, FieldWords>> = {
  tenant: ["text", "the tenant in the URL; empty if there is no such tenant"],
  profile: ["text", "the [profile](words.md) in the URL, or empty"],
  principal: ["text", "a pseudonym of the caller; empty if the caller is anonymous"],
  era: ["`2025`, `2026`", "`2025` means versions with sessions, `2026` means version 2026-07-28"],
  method: ["text", "`tools/call`, `batch`, `unknown`, or the HTTP method"],
  name: ["text", "the tool, the prompt or the URI scheme of the resource; empty if hidden"],
  outcome: ["text", "`complete`, `stream`, `toolError`, or the [name](errors.md#mcp-endpoints) of an error"],
  policy: ["`cached`, `fetched`, `none`", "the source of the tenant's policy"],
  requestId: ["text", "the id in a client's error; Cloudflare's ray id if there is one"],
  traceId: ["text", "the trace of the request, or empty"],
  weight: ["requests", "the number of requests that the event represents; 100 if `sample` is 0.01"],
  ms: ["milliseconds", "the time until the response"],
  status: ["number", "the HTTP status"],
  objectCalls: ["calls", "calls to Durable Objects"],
  kvReads: ["reads", "reads of KV"],
  bytesIn: ["characters", "the body of the request"],
  bytesOut: ["characters", "the responses as JSON"],
  messages: ["messages", "how many messages of the request were processed"],
  errors: ["errors", "errors that `onError` got"],
  at: ["time", "the time at which the request arrived; in the dataset, use `timestamp`"],
  counts: ["numbers", "the increase of each [counter](#counters) since the isolate's last event"],
  levels: ["numbers", "the values of the [gauges](#gauges)"],
};
