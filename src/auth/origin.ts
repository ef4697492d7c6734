// Checks browser origins, the Worker's host names (against DNS rebinding), and insecure transport of credentials.
// https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#security-endpoint

import { isPublicHost } from "../outbound/url-policy.ts";
import { failure, type Failure } from "../protocol/errors.ts";

/**
 * Comma-separated lists. Without HOSTS any host is allowed, because Cloudflare routes only a Worker's own hosts to it.
 */
export interface OriginVars {
  /** Variable: origins whose web pages may call all tenants, such as `https://app.example.com`, separated by commas. */
  readonly ALLOWED_ORIGINS?: string;
  /** Variable: host names that the Worker answers, without ports, separated by commas; any by default. */
  readonly HOSTS?: string;
}

const LOOPBACK = new Set(["localhost", "127.0.0.1", "[::1]"]);

/** Whether a URL's hostname is this machine's own. */
export function isLoopbackHost(hostname: string): boolean {
  return LOOPBACK.has(hostname);
}

/** Bound: the number of the Worker's variables. */
const lists = new Map<string, ReadonlySet<string>>();

function parseList(text: string): ReadonlySet<string> {
  let list = lists.get(text);
  if (!list) {
    list = new Set(
      text
        .split(",")
        .map((entry) => entry.trim().toLowerCase())
        .filter(Boolean),
    );
    lists.set(text, list);
  }
  return list;
}

export function isHostAllowed(headers: Headers, vars: OriginVars): boolean {
  if (!vars.HOSTS) return true;
  const host = headers.get("host");
  return host !== null && parseList(vars.HOSTS).has(hostnameOf(host));
}

/**
 * The name in a Host header, in lower case. A client may add a port, even an empty one, and the root dot. Every
 * spelling must count as the same host, or a tenant's own hostname would pass for one of the Worker's.
 */
export function hostnameOf(host: string): string {
  // A match starts only at the first of the dots: otherwise a long run of dots would take quadratic time.
  return host.toLowerCase().replace(/(?<!\.)\.*(?::\d*)?$/, "");
}

/**
 * A request without Origin does not come from a browser page and is allowed. A page on the caller's own machine is
 * allowed too. Any other origin must be listed.
 */
export function isOriginAllowed(origin: string | null, vars: OriginVars): boolean {
  if (origin === null) return true;
  if (vars.ALLOWED_ORIGINS && parseList(vars.ALLOWED_ORIGINS).has(origin.toLowerCase())) return true;
  if (!URL.canParse(origin)) return false;
  const { hostname, protocol } = new URL(origin);
  return LOOPBACK.has(hostname) && (protocol === "http:" || protocol === "https:");
}

/** Excludes this machine by its usual names without further checks, so that development servers skip them. */
const PLAIN_HTTP = /^http:(?!\/\/(localhost|127\.0\.0\.1)[:/])/;

function isInsecure({ url }: Pick<Request, "url">): boolean {
  return PLAIN_HTTP.test(url) && isPublicHost(new URL(url).hostname);
}

/**
 * Why a request over plain http on a public network is rejected before anything is read, or any credential requested.
 */
export function insecureTransportError(request: Pick<Request, "url">): Failure | undefined {
  return isInsecure(request) ? failure("forbidden", "Use https: http exposes credentials to others") : undefined;
}

/**
 * Applies the scheme that the client used: a proxy that ends TLS before the Worker sends it in `X-Forwarded-Proto`. The
 * host stays.
 */
export function withForwardedProto(request: Request): Request {
  if (!request.url.startsWith("http:") || request.headers.get("x-forwarded-proto") !== "https") return request;
  return new Request(request.url.replace("http:", "https:"), request);
}
