// Owns the one door by which requests leave that somebody outside can steer: every hop is looked at before it is taken,
// and what comes back is counted. Refuses to follow the platform's own redirects, which nobody would look at.

import { dropFrames } from "../protocol/drop-frames.ts";
import { refusalOf, type Destinations, type WrittenUrl } from "./destination.ts";
import { HOPS, USER_AGENT } from "./hops.ts";
import { OutboundError } from "./outbound-error.ts";

export interface OutboundInit extends RequestInit {
  /** Headers that another origin must not be sent when the answer leads there, beside those that look like credentials. */
  readonly sensitiveHeaders?: readonly string[];
  /** The most bytes that are read of the answer; 8 MiB when absent. */
  readonly maxBytes?: number | undefined;
  /**
   * Of a caller that reads and counts the answer itself: it is handed what to run when that is over, and the answer is the
   * platform's own, whatever `maxBytes` says.
   */
  readonly onEnd?: (run: () => void) => void;
}

/** Variables of the Worker that say where its tools may go. */
export interface OutboundVars {
  /** See `Destinations`. */
  readonly OUTBOUND_ALLOW?: string;
  /** The same, for whoever starts a Worker on a machine of their own: what is allowed there beside it. */
  readonly OUTBOUND_LOCAL?: string;
  /** The URL of a resolver that answers `application/dns-json`; `off`: names are not looked up before a request. */
  readonly OUTBOUND_RESOLVER?: string;
}

export interface OutboundDoorOptions extends Destinations {
  /** Whose connections are counted together, in this isolate. */
  readonly tenant: string;
  /** How many Workers of ours the request went through that this is done for. */
  readonly hops: number;
  /** Of which trace the call is a part, in small letters: sent along where who calls says nothing of one. */
  readonly headers?: object | undefined;
  /** Ends every request, and the reading of its answer, that has no signal of its own. */
  readonly signal: () => AbortSignal;
  readonly fetch?: ((request: Request) => Promise<Response>) | undefined;
  /** In place of `fetch`, for requests to a service of the Worker's own: they go there, whatever their URL says. */
  readonly service?: ((request: Request) => Promise<Response>) | undefined;
  readonly answerWithinMs?: number;
  readonly now?: () => number;
}

const MOST_BYTES = 8 * 1024 * 1024;
const MOST_REDIRECTS = 5;
const ANSWER_WITHIN_MS = 30_000;
const MOST_OF_CALL = 32;
const MOST_OF_TENANT = 128;
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
const CREDENTIAL = /auth|cookie|key|secret|session|token/i;

/** The platform may drop a call without a word: what it had open counts no longer after this. */
const FORGOTTEN_AFTER_MS = 180_000;

/**
 * Requests under way, answers that are being read among them, by tenant: each with when it began, the oldest first. Bound:
 * MOST_OF_TENANT of MOST_TENANTS; beyond, those of the tenant that was met first are counted anew.
 */
const openOf = new Map<string, Map<object, number>>();
const MOST_TENANTS = 10_000;

/** A `URL` without its fragment, as plain texts: each that is read of the platform's own is a step out of JavaScript. */
type Place = WrittenUrl & Readonly<Pick<URL, "href" | "origin">>;

/** What the next request is made of. */
interface Hop {
  readonly url: Place;
  readonly method: string;
  /** Names are in lower case. */
  readonly headers: Headers | Record<string, string>;
  readonly body: BodyInit | null;
}

/** Where a Worker's requests may go beside the public internet. */
export function allowedBy(env: unknown): string {
  const { OUTBOUND_ALLOW = "", OUTBOUND_LOCAL = "" } = (env ?? {}) as OutboundVars;
  return `${OUTBOUND_ALLOW},${OUTBOUND_LOCAL}`;
}

export class OutboundDoor {
  readonly #options: OutboundDoorOptions;
  readonly #open = new Set<object>();
  #isClosed = false;

  constructor(options: OutboundDoorOptions) {
    this.#options = options;
  }

  /** As the global `fetch`. Rejects with an OutboundError for what this Worker refuses. */
  async fetch(input: RequestInfo | URL, init: OutboundInit = {}): Promise<Response> {
    const { signal, answerWithinMs = ANSWER_WITHIN_MS } = this.#options;
    const leave = this.#enter();
    const ends = endsWithin(answerWithinMs, init.signal ?? signal());
    try {
      const followed = { ...init, signal: ends.signal };
      const { response, url, redirected } = await this.#follow(firstHop(input, init), followed);
      if (init.onEnd) {
        init.onEnd(leave);
        return response;
      }
      const counted = countedBody(response, init.maxBytes ?? MOST_BYTES, leave);
      return Object.defineProperties(counted, { url: { value: url }, redirected: { value: redirected } });
    } catch (error) {
      leave();
      throw ends.isLate() ? new OutboundError("time") : error;
    } finally {
      ends.began();
    }
  }

  /** What was not read to its end counts no longer: the call is over. */
  close(): void {
    this.#isClosed = true;
    for (const one of this.#open) this.#leave(one);
  }

  #enter(): () => void {
    const { tenant, now = Date.now } = this.#options;
    if (this.#isClosed) throw new OutboundError("over");
    const open = openOf.get(tenant) ?? new Map<object, number>();
    const began = now();
    for (const [one, since] of open) {
      if (open.size < MOST_OF_TENANT || Math.abs(began - since) < FORGOTTEN_AFTER_MS) break;
      open.delete(one);
    }
    if (this.#open.size >= MOST_OF_CALL || open.size >= MOST_OF_TENANT) throw new OutboundError("connections");
    const one = {};
    this.#open.add(one);
    openOf.set(tenant, open.set(one, began));
    const [first = ""] = openOf.keys();
    if (openOf.size > MOST_TENANTS) openOf.delete(first);
    return () => {
      this.#leave(one);
    };
  }

  #leave(one: object): void {
    const { tenant } = this.#options;
    this.#open.delete(one);
    const open = openOf.get(tenant);
    open?.delete(one);
    if (open?.size === 0) openOf.delete(tenant);
  }

  async #refusalOf({ headers, url }: Hop): ReturnType<typeof refusalOf> {
    const isUpgrade = headers instanceof Headers ? headers.has("upgrade") : "upgrade" in headers;
    if (isUpgrade) return "upgrade";
    return this.#options.service ? undefined : refusalOf(url, this.#options);
  }

  #send(url: string, init: RequestInit): Promise<Response> {
    const { service, fetch: send = service } = this.#options;
    return send ? send(new Request(url, init)) : fetch(url, init);
  }

  /** https://fetch.spec.whatwg.org/#http-redirect-fetch */
  async #follow(
    first: Hop,
    init: OutboundInit & { readonly signal: AbortSignal },
  ): Promise<{ readonly response: Response; readonly url: string; readonly redirected: boolean }> {
    const { hops, headers: along } = this.#options;
    for (let hop = first, redirects = 0; ; redirects += 1) {
      const { url, method, body } = hop;
      const rule = await this.#refusalOf(hop);
      if (rule !== undefined) throw new OutboundError(rule);
      const headers = withHops(hop.headers, hops + 1, along);
      const sent = { ...init, method, headers, body, redirect: "manual" } as const;
      const response = await this.#send(url.href, sent);
      const location = REDIRECTS.has(response.status) ? response.headers.get("location") : null;
      if (location === null || init.redirect === "manual")
        return { response, url: url.href, redirected: redirects > 0 };
      await response.body?.cancel();
      if (redirects === MOST_REDIRECTS || init.redirect === "error") throw new OutboundError("redirects");
      hop = nextHop(hop, { status: response.status, location, sensitive: init.sensitiveHeaders ?? [] });
    }
  }
}

interface Ends {
  readonly signal: AbortSignal;
  readonly isLate: () => boolean;
  /** The answer has begun, or will not. */
  readonly began: () => void;
}

/** `own` and the time that an answer has to begin; Infinity is for callers that count it themselves. */
function endsWithin(milliseconds: number, own: AbortSignal): Ends {
  if (milliseconds === Infinity) return { signal: own, isLate: () => false, began: () => {} };
  const late = new AbortController();
  const timer = setTimeout(() => {
    late.abort(new OutboundError("time"));
  }, milliseconds);
  const signal = AbortSignal.any([own, late.signal]);
  return { signal, isLate: () => late.signal.aborted, began: () => clearTimeout(timer) };
}

function firstHop(input: RequestInfo | URL, init: OutboundInit): Hop {
  const request = input instanceof Request ? input : undefined;
  const url = input instanceof URL ? input.href : input;
  return {
    url: placeAt(typeof url === "string" ? url : url.url),
    method: (init.method ?? request?.method ?? "GET").toUpperCase(),
    headers: headersOf(init.headers ?? request?.headers),
    body: init.body ?? request?.body ?? null,
  };
}

/** As a plain object, where that says the same: made into `Headers` twice, they cost as much as the rest of the door. */
function headersOf(given: RequestInit["headers"]): Hop["headers"] {
  const isPlain = given !== undefined && Object.getPrototypeOf(given) === Object.prototype;
  const plain = isPlain ? (given as Record<string, string>) : {};
  return isPlain && Object.keys(plain).every((name) => name === name.toLowerCase()) ? plain : new Headers(given);
}

function withHops(headers: Hop["headers"], hops: number, along: object = {}): Hop["headers"] {
  const isPlain = !(headers instanceof Headers);
  const has = (name: string) => (isPlain ? name in headers : headers.has(name));
  const ours = {
    ...(has("traceparent") ? {} : along),
    ...(has("user-agent") ? {} : { "user-agent": USER_AGENT }),
    [HOPS]: String(hops),
  };
  if (isPlain) return { ...headers, ...ours };
  for (const [name, value] of Object.entries(ours)) headers.set(name, value);
  return headers;
}

interface Redirect {
  readonly status: number;
  readonly location: string;
  readonly sensitive: readonly string[];
}

function nextHop({ url, method, headers, body }: Hop, { status, location, sensitive }: Redirect): Hop {
  const next = parsed(location, url.href);
  const kept = new Headers(headers);
  if (next.origin !== url.origin) {
    const names = Array.from(kept.keys());
    for (const name of names) if (CREDENTIAL.test(name)) kept.delete(name);
    for (const name of sensitive) kept.delete(name);
  }
  const isGet = method === "GET" || method === "HEAD";
  if (status === 303 ? !isGet : status < 303 && method === "POST") {
    for (const name of ["encoding", "language", "location", "type", "length"]) kept.delete(`content-${name}`);
    return { url: next, method: "GET", headers: kept, body: null };
  }
  if (body instanceof ReadableStream) throw new OutboundError("body");
  return { url: next, method, headers: kept, body };
}

/**
 * By the text: an upstream is at the same one for each call. Emptied when it is full.
 * Bound: MOST_PLACES, then all are forgotten.
 */
const places = new Map<string, Place>();
const MOST_PLACES = 256;
const LONGEST_KEPT = 2000;

function placeAt(text: string): Place {
  const known = places.get(text);
  if (known) return known;
  const place = parsed(text);
  if (text.length > LONGEST_KEPT) return place;
  if (places.size >= MOST_PLACES) places.clear();
  places.set(text, place);
  return place;
}

function parsed(text: string, base?: string): Place {
  if (!URL.canParse(text, base)) throw new OutboundError("url");
  const url = new URL(text, base);
  url.hash = "";
  const { href, origin, protocol, username, password, hostname, host, port } = url;
  return { href, origin, protocol, username, password, hostname, host, port };
}

/** The same answer, whose body ends in an error where it is too long. `leave` is called once, when it was read. */
function countedBody(response: Response, most: number, leave: () => void): Response {
  const { body } = response;
  const announced = response.headers.has("content-encoding") ? 0 : Number(response.headers.get("content-length"));
  if (announced > most && body) {
    void body.cancel();
    throw new OutboundError("size");
  }
  if (!body) {
    leave();
    return new Response(null, response);
  }
  const reader = body.getReader();
  let bytes = 0;
  const counted = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const { done, value } = await reader.read();
          bytes += value?.byteLength ?? 0;
          if (bytes > most) throw new OutboundError("size");
          if (!done) return controller.enqueue(value);
          leave();
          controller.close();
        } catch (error) {
          leave();
          dropFrames(error);
          controller.error(error);
          // `error` is what its reader is told.
          await reader.cancel(error).catch(() => {});
        }
      },
      cancel(reason) {
        leave();
        return reader.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
  return new Response(counted, response);
}
