// The event of one answered request: its content, its sampling, and its data point in Workers Analytics Engine.
// Contains nothing that a client sent but names: no argument, body or credential.

import type { Counts } from "./counters.ts";
import type { Gauges } from "./gauges.ts";

/** One answered request, as `telemetry()` emits it. */
export interface RequestEvent {
  /** ISO 8601: when the request arrived. */
  readonly at: string;
  readonly tenant: string;
  readonly profile: string | null;
  /**
   * A pseudonym: the same for the same caller of a tenant, and different in another tenant. null: anonymous or not
   * authorized.
   */
  readonly principal: string | null;
  readonly era: "2025" | "2026";
  /**
   * The MCP method, such as `tools/call`; `batch`; `unknown` for a method that does not exist. Without a message: the
   * HTTP method.
   */
  readonly method: string;
  /** The listed name of the tool or prompt; for a resource, its scheme. Empty if the caller cannot see the target. */
  readonly name: string;
  /** The number of messages that ran. */
  readonly messages: number;
  /** HTTP status. */
  readonly status: number;
  /**
   * `complete`; `stream` for a stream that was opened; `toolError` for a result with `isError`; else an error code (see
   * docs/errors.md), or `http` with the HTTP status.
   */
  readonly outcome: string;
  /**
   * `fetched`: the tenant object was asked for the policy. `cached`: it was not. `none`: the request was not
   * authorized.
   */
  readonly policy: "cached" | "fetched" | "none";
  /** Number of calls to the Worker's Durable Objects. */
  readonly objectCalls: number;
  readonly kvReads: number;
  /**
   * Milliseconds until the response was ready. In a Worker the clock advances only with I/O, so computation alone takes
   * 0.
   */
  readonly ms: number;
  /** Characters of the body as received; for a body that was rejected unread, its declared bytes. */
  readonly bytesIn: number;
  /** Characters of the responses as JSON, which equal bytes for ASCII text. */
  readonly bytesOut: number;
  /** The id in the client's error response. */
  readonly requestId: string;
  /** The trace that the request belongs to; empty if none. */
  readonly traceId: string;
  /** The number of errors passed to `onError` meanwhile. */
  readonly errors: number;
  /** The number of requests that this event stands for: 1 for a failed request, 100 if one of a hundred is sampled. */
  readonly weight: number;
  /** This isolate's counters since its last event, over all requests. */
  readonly counts: Counts;
  /** This isolate's gauges at the time of the event. Do not add them up. */
  readonly levels: Gauges;
}

/** Outcomes that are sampled: they are not errors of the Worker, and callers can cause any number of them. */
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
 * The number of requests that an event stands for; 0: no event. Errors always get an event: those of the Worker, and
 * rejections of callers that may have expected service.
 */
export function weightOf(outcome: string, faults: number, { sample, chance }: { sample: number; chance: number }) {
  if (faults > 0 || !EXPECTED_OUTCOMES.has(outcome)) return 1;
  return chance < sample ? 1 / sample : 0;
}

/** From 0 to 1; undefined if the text is anything else. */
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

/** In this order, documented in `docs/metrics.md`: a column never changes its meaning once released. */
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
