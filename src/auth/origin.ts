// Owns which origins may speak to this Worker from a browser, under which host names it answers (the defence against DNS
// rebinding), and where a credential would be read by others on its way.
// https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#security-endpoint

import { isPublicHost } from "../outbound/url-policy.ts";
import { failure, type Failure } from "../protocol/errors.ts";

/** Comma-separated lists. Unset HOSTS means any host, because Cloudflare routes only a Worker's own hosts to it. */
export interface OriginVars {
  readonly ALLOWED_ORIGINS?: string;
  readonly HOSTS?: string;
}

const LOOPBACK = new Set(["localhost", "127.0.0.1", "[::1]"]);

/** Whether a URL's hostname is this machine's own. */
export function isLoopbackHost(hostname: string): boolean {
  return LOOPBACK.has(hostname);
}

/** Bound: as many as the Worker has variables. */
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
 * The name in a Host header, in small letters. A client may write a port, even an empty one, and the dot of the root:
 * every spelling must count as the same host, or a tenant's own hostname would pass for one of the Worker.
 */
export function hostnameOf(host: string): string {
  // A match begins at the first of the dots only: otherwise a long run of them would be read again from each.
  return host.toLowerCase().replace(/(?<!\.)\.*(?::\d*)?$/, "");
}

/**
 * A request without Origin comes from no page of a browser and is allowed. So is a page on the caller's own machine;
 * any other origin must be listed.
 */
export function isOriginAllowed(origin: string | null, vars: OriginVars): boolean {
  if (origin === null) return true;
  if (vars.ALLOWED_ORIGINS && parseList(vars.ALLOWED_ORIGINS).has(origin.toLowerCase())) return true;
  if (!URL.canParse(origin)) return false;
  const { hostname, protocol } = new URL(origin);
  return LOOPBACK.has(hostname) && (protocol === "http:" || protocol === "https:");
}

/** This machine by its usual names: looked at no further, because a server in development is asked like any other. */
const PLAIN_HTTP = /^http:(?!\/\/(localhost|127\.0\.0\.1)[:/])/;

function isInsecure({ url }: Pick<Request, "url">): boolean {
  return PLAIN_HTTP.test(url) && isPublicHost(new URL(url).hostname);
}

/** Why nothing is read, and nobody is asked for anything, that came by plain http over a public network. */
export function insecureTransportError(request: Pick<Request, "url">): Failure | undefined {
  return isInsecure(request) ? failure("forbidden", "Use https: http shows a credential to others") : undefined;
}

/** With the scheme that its client wrote: what ends TLS before the Worker says so in `X-Forwarded-Proto`. The host stays. */
export function withForwardedProto(request: Request): Request {
  if (!request.url.startsWith("http:") || request.headers.get("x-forwarded-proto") !== "https") return request;
  return new Request(request.url.replace("http:", "https:"), request);
}
