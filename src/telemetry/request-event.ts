// Owns what is told of one request once it was answered, which requests are told of, and how an event becomes a data point of
// Workers Analytics Engine. Refuses everything that a client sent but names: no argument, no body, no credential.

import type { Counts } from "./counters.ts";
import type { Gauges } from "./gauges.ts";

export interface RequestEvent {
  /** ISO 8601: when the request came. */
  readonly at: string;
  readonly tenant: string;
  readonly profile: string | null;
  /** The same for the same caller of a tenant, and different in another tenant; null: nobody was let in, or anonymous. */
  readonly principal: string | null;
  readonly era: "2025" | "2026";
  /** `tools/call`, `batch`; of what holds no message, the method of HTTP. Of a method that there is not: `unknown`. */
  readonly method: string;
  /** Of the tool or prompt, as it is listed; of a resource, its scheme. Empty where what was named is not seen. */
  readonly name: string;
  /** How many messages were run: 0 where none was. */
  readonly messages: number;
  /** Of HTTP. */
  readonly status: number;
  /** `complete`; `stream` for one that was opened; else a key of the table of errors; `toolError`: a result with `isError`. */
  readonly outcome: string;
  /** `asked`: the tenant's authority was asked for it. `none`: nobody was let in. */
  readonly policy: "cached" | "fetched" | "none";
  /** To Durable Objects of the Worker. */
  readonly objectCalls: number;
  readonly kvReads: number;
  /** Milliseconds until the answer was there. In a Worker the clock stands still but for I/O, so work alone takes 0. */
  readonly ms: number;
  /** Characters of the body as it came; of what was refused unread, the bytes that were declared. */
  readonly bytesIn: number;
  /** Characters of the answers as JSON, which are bytes but for what is no ASCII. */
  readonly bytesOut: number;
  /** That which a client was told with an error. */
  readonly requestId: string;
  /** Of the trace of which it is a part; empty: of none. */
  readonly traceId: string;
  /** Errors that were heard meanwhile by `onError`. */
  readonly errors: number;
  /** For how many requests it stands: 1 for one that failed, 100 where one of a hundred is told of. */
  readonly weight: number;
  /** What this isolate counted since its last event, of all requests. */
  readonly counts: Counts;
  /** What there was in this isolate when this was told: not to be summed. */
  readonly levels: Gauges;
}

/** What is told of whatever was sampled. Nobody's fault, and as many as anybody likes to send. */
const EXPECTED_OUTCOMES = new Set([
  "complete",
  "stream",
  "toolError",
  "told",
  "unauthorized",
  "unknownTenant",
  "methodNotFound",
]);

/**
 * For how many requests one stands; 0: nothing is told of it. Errors always: those of the Worker, and what a caller was refused
 * who may have been meant to be served.
 */
export function weightOf(outcome: string, faults: number, { sample, chance }: { sample: number; chance: number }) {
  if (faults > 0 || !EXPECTED_OUTCOMES.has(outcome)) return 1;
  return chance < sample ? 1 / sample : 0;
}

/** From 0 to 1; undefined: it says something else. */
export function parseSampleRate(text: unknown): number | undefined {
  const number = typeof text === "string" && text.trim() === "" ? NaN : Number(text);
  return number >= 0 && number <= 1 ? number : undefined;
}

export interface DataPoint {
  indexes: string[];
  blobs: string[];
  doubles: number[];
}

/** https://developers.cloudflare.com/analytics/analytics-engine/limits/ */
const MOST_BLOB_CHARACTERS = 256;

/** In this order, which `docs/telemetry.md` names: a column that was written is never another one. */
export const BLOBS = [
  "tenant",
  "profile",
  "principal",
  "era",
  "method",
  "name",
  "outcome",
  "policy",
  "requestId",
  "traceId",
] as const satisfies readonly (keyof RequestEvent)[];
export const DOUBLES = [
  "weight",
  "ms",
  "status",
  "objectCalls",
  "kvReads",
  "bytesIn",
  "bytesOut",
  "messages",
  "errors",
] as const satisfies readonly (keyof RequestEvent)[];
export const COUNTER_COLUMNS = [
  "requests",
  "policyCacheHits",
  "policyFetches",
  "overloads",
  "kvMisses",
  "refusals",
  "reconnections",
  "streams",
  "errorsDropped",
] as const satisfies readonly (keyof Counts)[];

export const GAUGE_COLUMNS = ["openStreams", "backlog"] as const satisfies readonly (keyof Gauges)[];

export function dataPointOf(event: RequestEvent): DataPoint {
  return {
    indexes: [event.tenant],
    blobs: BLOBS.map((name) => (event[name] ?? "").slice(0, MOST_BLOB_CHARACTERS)),
    doubles: [
      ...DOUBLES.map((name) => event[name]),
      ...COUNTER_COLUMNS.map((name) => event.counts[name]),
      ...GAUGE_COLUMNS.map((name) => event.levels[name]),
    ],
  };
}
