// The only way out for requests that a tenant or caller can steer. Checks every hop before it is taken and counts
// response bytes. Follows redirects itself, because the platform would follow them unchecked.

import { dropFrames } from "../protocol/drop-frames.ts";
import { findBrokenRule, type UrlPolicy, type UrlParts } from "./url-policy.ts";
import { HOPS_HEADER, USER_AGENT } from "./hops.ts";
import { OutboundError } from "./outbound-error.ts";

export interface OutboundInit extends RequestInit {
  /** Headers to drop on a cross-origin redirect, in addition to those whose names look like credentials. */
  readonly sensitiveHeaders?: readonly string[];
  /** Maximum bytes to read of the response. Defaults to 8 MiB. */
  readonly maxBytes?: number | undefined;
  /**
   * For a caller that reads and counts the response itself. The caller gets the platform's own response, whatever
   * `maxBytes` says, and calls `run` when it has finished reading.
   */
  readonly onEnd?: (run: () => void) => void;
}

export interface OutboundVars {
  /** Allowed destinations, as described at `UrlPolicy.allow`. */
  readonly OUTBOUND_ALLOW?: string;
  /** Additional destinations in the same format, for a Worker that runs on a developer's machine. */
  readonly OUTBOUND_LOCAL?: string;
  /** URL of a resolver that answers `application/dns-json`. `off` disables lookups before a request. */
  readonly OUTBOUND_RESOLVER?: string;
}

export interface GuardedFetchOptions extends UrlPolicy {
  /** Connections are counted per tenant in this isolate. */
  readonly tenant: string;
  /** How many of our Workers the incoming request has passed through. */
  readonly hops: number;
  /** Trace headers with lower-case names, sent unless the caller sets its own `traceparent`. */
  readonly headers?: object | undefined;
  /** Aborts requests, and the reading of their responses, that have no signal of their own. */
  readonly signal: () => AbortSignal;
  readonly fetch?: ((request: Request) => Promise<Response>) | undefined;
  /** Used instead of `fetch` for a service binding. Requests go to that service, whatever their URL says. */
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

/** The platform may drop a call without notice. Its open requests stop counting after this time. */
const STALE_AFTER_MS = 180_000;

/**
 * Open requests by tenant, including responses being read, each with its start time, oldest first. Bound:
 * MAX_PER_TENANT requests for each of MAX_TENANTS; beyond that, the first tenant's count is dropped.
 */
const openByTenant = new Map<string, Map<object, number>>();
const MAX_TENANTS = 10_000;

/** A `URL` without its fragment, as plain strings: each read of a native property leaves JavaScript and is slow. */
type ParsedUrl = UrlParts & Readonly<Pick<URL, "href" | "origin">>;

interface Hop {
  readonly url: ParsedUrl;
  readonly method: string;
  /** Names are in lower case. */
  readonly headers: Headers | Record<string, string>;
  readonly body: BodyInit | null;
}

/** Destinations that a Worker's requests may reach besides the public internet. */
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

  /** Like the global `fetch`. Rejects with an OutboundError if this Worker refuses the request. */
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

  /** Releases responses that were not read to their end, because the call is over. */
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
  /** Call when the response has begun or failed. */
  readonly clear: () => void;
}

/**
 * Combines the caller's signal with a timeout for the start of the response. Infinity is for callers that time it
 * themselves.
 */
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

/** Stays a plain object if that is equivalent: building `Headers` twice costs as much as the rest of this check. */
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
 * Parsed URLs by text, because an upstream has the same URL on every call. Bound: MAX_CACHED_URLS, then the cache is
 * emptied.
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

/**
 * The same response, whose body errors if it is longer than `maxBytes`. Calls `release` when the body has ended, failed
 * or was cancelled.
 */
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
          // The reader of the response receives `error`; a failed cancel adds nothing.
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
