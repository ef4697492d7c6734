// Everything that a client needs to reach a server of any era: URL, common headers, `fetch` and a clock.

import type { Clock } from "./clock.ts";
import { CALL_LIMITS, type AnswerLimits } from "./answer-limits.ts";

/** Options of `fetch`. The global `fetch` of every platform accepts them. */
export interface FetchInit {
  readonly method: "POST" | "GET" | "DELETE";
  readonly headers: Record<string, string>;
  readonly body?: string;
  /** Credentials must not follow a redirect automatically, so the caller decides. */
  readonly redirect: "manual";
  readonly signal: AbortSignal;
  /** For a `fetch` that counts open responses: `run` is called once, when the response was read or abandoned. */
  readonly onEnd?: (run: () => void) => void;
}

export type Fetch = (url: string, init: FetchInit) => Promise<Response>;

export interface RemoteEndpoint {
  readonly url: string;
  /** Sent with every request, such as credentials. Names are in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** May throw an `McpFault`, for example if it refuses to connect to the address. */
  readonly fetch: Fetch;
  readonly clock: Clock;
  /** For calls. Long-lived streams use `STREAM_LIMITS`. */
  readonly limits?: Partial<AnswerLimits>;
  /** Receives the bytes held for an incomplete message. Throws if there is no room for them. */
  readonly reserveBytes?: (bytes: number) => void;
  /** Receives the reason why a stream event was not a message. Reading continues. */
  readonly onSkipped?: (why: string) => void;
}

export interface RequestOptions {
  readonly signal?: AbortSignal | undefined;
  /** Takes precedence over the endpoint's limits. */
  readonly limits?: Partial<AnswerLimits> | undefined;
}

/** Cached by the endpoint's limits: most requests have none of their own. */
const mergedLimits = new WeakMap<Partial<AnswerLimits>, AnswerLimits>();

export function limitsOf({ limits: own }: RemoteEndpoint, { limits }: RequestOptions): AnswerLimits {
  if (own === undefined || limits !== undefined) return { ...CALL_LIMITS, ...own, ...limits };
  let cached = mergedLimits.get(own);
  if (!cached) mergedLimits.set(own, (cached = { ...CALL_LIMITS, ...own }));
  return cached;
}

/**
 * Whether a URL has this origin and carries no credentials of its own, so that the origin's credentials may go there.
 * The origin alone is not enough: a `blob:` URL has the origin inside of it, and a user name and password are not part
 * of an origin.
 */
export function isSameOrigin(origin: string, { protocol, username, password, origin: urlOrigin }: URL): boolean {
  const isHttp = protocol === "https:" || protocol === "http:";
  return isHttp && username === "" && password === "" && urlOrigin === origin;
}
