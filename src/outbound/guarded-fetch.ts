// Owns the one door by which requests leave that somebody outside can steer: every hop is looked at before it is taken,
// and what comes back is counted. Refuses to follow the platform's own redirects, which nobody would look at.

import { dropFrames } from "../protocol/drop-frames.ts";
import { findBrokenRule, type UrlPolicy, type UrlParts } from "./url-policy.ts";
import { HOPS_HEADER, USER_AGENT } from "./hops.ts";
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

export interface GuardedFetchOptions extends UrlPolicy {
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
  readonly timeoutMs?: number;
  readonly now?: () => number;
}

const DEFAULT_MAX_BYTES = 8 * 1024 * 1024;
const MAX_REDIRECTS = 5;
const DEFAULT_TIMEOUT_MS = 30_000;
const MAX_PER_CALL = 32;
const MAX_PER_TENANT = 128;
const REDIRECT_STATUSES: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
const CREDENTIAL_HEADER = /auth|cookie|key|secret|session|token/i;

/** The platform may drop a call without a word: what it had open counts no longer after this. */
const STALE_AFTER_MS = 180_000;

/**
 * Requests under way, answers that are being read among them, by tenant: each with when it began, the oldest first. Bound:
 * MOST_OF_TENANT of MOST_TENANTS; beyond, those of the tenant that was met first are counted anew.
 */
const openByTenant = new Map<string, Map<object, number>>();
const MAX_TENANTS = 10_000;

/** A `URL` without its fragment, as plain texts: each that is read of the platform's own is a step out of JavaScript. */
type ParsedUrl = UrlParts & Readonly<Pick<URL, "href" | "origin">>;

/** What the next request is made of. */
interface Hop {
  readonly url: ParsedUrl;
  readonly method: string;
  /** Names are in lower case. */
  readonly headers: Headers | Record<string, string>;
  readonly body: BodyInit | null;
}

/** Where a Worker's requests may go beside the public internet. */
export function outboundAllowOf(env: unknown): string {
  const { OUTBOUND_ALLOW = "", OUTBOUND_LOCAL = "" } = (env ?? {}) as OutboundVars;
  return `${OUTBOUND_ALLOW},${OUTBOUND_LOCAL}`;
}

export class GuardedFetch {
  readonly #options: GuardedFetchOptions;
  readonly #open = new Set<object>();
  #isClosed = false;

  constructor(options: GuardedFetchOptions) {
    this.#options = options;
  }

  /** As the global `fetch`. Rejects with an OutboundError for what this Worker refuses. */
  async fetch(input: RequestInfo | URL, init: OutboundInit = {}): Promise<Response> {
    const { signal, timeoutMs = DEFAULT_TIMEOUT_MS } = this.#options;
    const release = this.#acquire();
    const timeout = createTimeoutSignal(timeoutMs, init.signal ?? signal());
    try {
      const fetchInit = { ...init, signal: timeout.signal };
      const { response, url, redirected } = await this.#followRedirects(firstHop(input, init), fetchInit);
      if (init.onEnd) {
        init.onEnd(release);
        return response;
      }
      const counted = limitBody(response, init.maxBytes ?? DEFAULT_MAX_BYTES, release);
      return Object.defineProperties(counted, { url: { value: url }, redirected: { value: redirected } });
    } catch (error) {
      release();
      throw timeout.isTimedOut() ? new OutboundError("time") : error;
    } finally {
      timeout.clear();
    }
  }

  /** What was not read to its end counts no longer: the call is over. */
  close(): void {
    this.#isClosed = true;
    for (const one of this.#open) this.#release(one);
  }

  #acquire(): () => void {
    const { tenant, now = Date.now } = this.#options;
    if (this.#isClosed) throw new OutboundError("over");
    const open = openByTenant.get(tenant) ?? new Map<object, number>();
    const startedAt = now();
    for (const [token, since] of open) {
      if (open.size < MAX_PER_TENANT || Math.abs(startedAt - since) < STALE_AFTER_MS) break;
      open.delete(token);
    }
    if (this.#open.size >= MAX_PER_CALL || open.size >= MAX_PER_TENANT) throw new OutboundError("connections");
    const token = {};
    this.#open.add(token);
    openByTenant.set(tenant, open.set(token, startedAt));
    const [first = ""] = openByTenant.keys();
    if (openByTenant.size > MAX_TENANTS) openByTenant.delete(first);
    return () => {
      this.#release(token);
    };
  }

  #release(token: object): void {
    const { tenant } = this.#options;
    this.#open.delete(token);
    const open = openByTenant.get(tenant);
    open?.delete(token);
    if (open?.size === 0) openByTenant.delete(tenant);
  }

  async #findBrokenRule({ headers, url }: Hop): ReturnType<typeof findBrokenRule> {
    const isUpgrade = headers instanceof Headers ? headers.has("upgrade") : "upgrade" in headers;
    if (isUpgrade) return "upgrade";
    return this.#options.service ? undefined : findBrokenRule(url, this.#options);
  }

  #send(url: string, init: RequestInit): Promise<Response> {
    const { service, fetch: send = service } = this.#options;
    return send ? send(new Request(url, init)) : fetch(url, init);
  }

  /** https://fetch.spec.whatwg.org/#http-redirect-fetch */
  async #followRedirects(
    first: Hop,
    init: OutboundInit & { readonly signal: AbortSignal },
  ): Promise<{ readonly response: Response; readonly url: string; readonly redirected: boolean }> {
    const { hops, headers: traceHeaders } = this.#options;
    for (let hop = first, redirects = 0; ; redirects += 1) {
      const { url, method, body } = hop;
      const rule = await this.#findBrokenRule(hop);
      if (rule !== undefined) throw new OutboundError(rule);
      const headers = withOwnHeaders(hop.headers, hops + 1, traceHeaders);
      const sent = { ...init, method, headers, body, redirect: "manual" } as const;
      const response = await this.#send(url.href, sent);
      const location = REDIRECT_STATUSES.has(response.status) ? response.headers.get("location") : null;
      if (location === null || init.redirect === "manual")
        return { response, url: url.href, redirected: redirects > 0 };
      await response.body?.cancel();
      if (redirects === MAX_REDIRECTS || init.redirect === "error") throw new OutboundError("redirects");
      hop = nextHop(hop, { status: response.status, location, sensitive: init.sensitiveHeaders ?? [] });
    }
  }
}

interface TimeoutSignal {
  readonly signal: AbortSignal;
  readonly isTimedOut: () => boolean;
  /** The answer has begun, or will not. */
  readonly clear: () => void;
}

/** `own` and the time that an answer has to begin; Infinity is for callers that count it themselves. */
function createTimeoutSignal(milliseconds: number, callerSignal: AbortSignal): TimeoutSignal {
  if (milliseconds === Infinity) return { signal: callerSignal, isTimedOut: () => false, clear: () => {} };
  const controller = new AbortController();
  const timer = setTimeout(() => {
    controller.abort(new OutboundError("time"));
  }, milliseconds);
  const signal = AbortSignal.any([callerSignal, controller.signal]);
  return { signal, isTimedOut: () => controller.signal.aborted, clear: () => clearTimeout(timer) };
}

function firstHop(input: RequestInfo | URL, init: OutboundInit): Hop {
  const request = input instanceof Request ? input : undefined;
  const url = input instanceof URL ? input.href : input;
  return {
    url: getParsedUrl(typeof url === "string" ? url : url.url),
    method: (init.method ?? request?.method ?? "GET").toUpperCase(),
    headers: toHopHeaders(init.headers ?? request?.headers),
    body: init.body ?? request?.body ?? null,
  };
}

/** As a plain object, where that says the same: made into `Headers` twice, they cost as much as the rest of the door. */
function toHopHeaders(headers: RequestInit["headers"]): Hop["headers"] {
  const isPlain = headers !== undefined && Object.getPrototypeOf(headers) === Object.prototype;
  const plain = isPlain ? (headers as Record<string, string>) : {};
  return isPlain && Object.keys(plain).every((name) => name === name.toLowerCase()) ? plain : new Headers(headers);
}

function withOwnHeaders(headers: Hop["headers"], hops: number, traceHeaders: object = {}): Hop["headers"] {
  const isPlain = !(headers instanceof Headers);
  const has = (name: string) => (isPlain ? name in headers : headers.has(name));
  const ours = {
    ...(has("traceparent") ? {} : traceHeaders),
    ...(has("user-agent") ? {} : { "user-agent": USER_AGENT }),
    [HOPS_HEADER]: String(hops),
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
  const next = parseUrl(location, url.href);
  const nextHeaders = new Headers(headers);
  if (next.origin !== url.origin) {
    const names = Array.from(nextHeaders.keys());
    for (const name of names) if (CREDENTIAL_HEADER.test(name)) nextHeaders.delete(name);
    for (const name of sensitive) nextHeaders.delete(name);
  }
  const isGet = method === "GET" || method === "HEAD";
  if (status === 303 ? !isGet : status < 303 && method === "POST") {
    for (const name of ["encoding", "language", "location", "type", "length"]) nextHeaders.delete(`content-${name}`);
    return { url: next, method: "GET", headers: nextHeaders, body: null };
  }
  if (body instanceof ReadableStream) throw new OutboundError("body");
  return { url: next, method, headers: nextHeaders, body };
}

/**
 * By the text: an upstream is at the same one for each call. Emptied when it is full.
 * Bound: MOST_PLACES, then all are forgotten.
 */
const urlCache = new Map<string, ParsedUrl>();
const MAX_CACHED_URLS = 256;
const MAX_CACHED_LENGTH = 2000;

function getParsedUrl(text: string): ParsedUrl {
  const cached = urlCache.get(text);
  if (cached) return cached;
  const url = parseUrl(text);
  if (text.length > MAX_CACHED_LENGTH) return url;
  if (urlCache.size >= MAX_CACHED_URLS) urlCache.clear();
  urlCache.set(text, url);
  return url;
}

function parseUrl(text: string, base?: string): ParsedUrl {
  if (!URL.canParse(text, base)) throw new OutboundError("url");
  const url = new URL(text, base);
  url.hash = "";
  const { href, origin, protocol, username, password, hostname, host, port } = url;
  return { href, origin, protocol, username, password, hostname, host, port };
}

/** The same answer, whose body ends in an error where it is too long. `leave` is called once, when it was read. */
function limitBody(response: Response, maxBytes: number, release: () => void): Response {
  const { body } = response;
  const contentLength = response.headers.has("content-encoding") ? 0 : Number(response.headers.get("content-length"));
  if (contentLength > maxBytes && body) {
    void body.cancel();
    throw new OutboundError("size");
  }
  if (!body) {
    release();
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
          if (bytes > maxBytes) throw new OutboundError("size");
          if (!done) return controller.enqueue(value);
          release();
          controller.close();
        } catch (error) {
          release();
          dropFrames(error);
          controller.error(error);
          // `error` is what its reader is told.
          await reader.cancel(error).catch(() => {});
        }
      },
      cancel(reason) {
        release();
        return reader.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
  return new Response(counted, response);
}
