// Owns what a client needs to reach a server: its URL, what every request to it carries, `fetch`, and a clock.
// Refuses to know which era the server speaks.

import type { Clock } from "./clock.ts";
import { CALL_LIMITS, type AnswerLimits } from "./answer-limits.ts";

/** What `fetch` is called with. The global `fetch` of every platform takes it. */
export interface FetchInit {
  readonly method: "POST" | "GET" | "DELETE";
  readonly headers: Record<string, string>;
  readonly body?: string;
  /** A redirect may lead where the credentials must not go, so the caller decides. */
  readonly redirect: "manual";
  readonly signal: AbortSignal;
  /** For a `fetch` that counts what is open: runs it once, when the answer was read or nobody will read it any more. */
  readonly onEnd?: (run: () => void) => void;
}

export type Fetch = (url: string, init: FetchInit) => Promise<Response>;

export interface RemoteEndpoint {
  readonly url: string;
  /** Sent with every request, such as credentials. Names are in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** It may throw an `McpFault` itself, for instance because it refuses to connect to this address. */
  readonly fetch: Fetch;
  readonly clock: Clock;
  /** For calls. A stream that stands open has `STANDING_LIMITS` instead. */
  readonly limits?: Partial<AnswerLimits>;
  /** Is told how many bytes wait until a message is whole, and throws where there is no room for them. */
  readonly reserveBytes?: (bytes: number) => void;
  /** Is told why an event of a stream was no message. The stream is read on. */
  readonly onSkipped?: (why: string) => void;
}

/** What one request may have of its own. */
export interface RequestOptions {
  readonly signal?: AbortSignal | undefined;
  /** They take precedence over those of the endpoint. */
  readonly limits?: Partial<AnswerLimits> | undefined;
}

/** By those of an endpoint: most requests have none of their own. */
const mergedLimits = new WeakMap<Partial<AnswerLimits>, AnswerLimits>();

export function limitsOf({ limits: own }: RemoteEndpoint, { limits }: RequestOptions): AnswerLimits {
  if (own === undefined || limits !== undefined) return { ...CALL_LIMITS, ...own, ...limits };
  let cached = mergedLimits.get(own);
  if (!cached) mergedLimits.set(own, (cached = { ...CALL_LIMITS, ...own }));
  return cached;
}
