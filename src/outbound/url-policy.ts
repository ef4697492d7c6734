// Decides which URLs outbound requests may reach, by the URL and by the addresses its name resolves to. Check when a
// URL is configured and again before each request. The operator's exceptions in `OUTBOUND_ALLOW` pass.

import { isPublicAddress, isPublicAnswer } from "./public-address.ts";
import type { OutboundErrorCode } from "./outbound-error.ts";
import type { Resolve } from "./dns-resolver.ts";

/** Name endings that lead inside a network or nowhere. A name of one label always does. */
const INTERNAL_NAME =
  /(^[^.]*|(^|\.)(localhost|localdomain|local|internal|intranet|private|lan|home|corp|svc|consul|onion|alt|test|example|invalid|arpa))$/;

export interface UrlPolicy {
  /**
   * `OUTBOUND_ALLOW`: `host`, `host:port` or `*.host`, separated by commas. The prefix `http://` also allows that
   * scheme.
   */
  readonly allow: string | undefined;
  /** undefined disables DNS lookups. */
  readonly resolve: Resolve | undefined;
}

/** The parts of a `URL` that are checked. `URL` has normalized every notation of the host. */
export type UrlParts = Readonly<Pick<URL, "protocol" | "username" | "password" | "hostname" | "host" | "port">>;

/** Returns the broken rule, or undefined if the request may go there. Never reveals the addresses of a name. */
export async function findBrokenRule(
  url: UrlParts,
  { allow = "", resolve }: UrlPolicy,
): Promise<OutboundErrorCode | undefined> {
  const rule = findBrokenRuleInUrl(url, allow);
  if (rule !== undefined || resolve === undefined || isAllowed(url, allow)) return rule;
  const { hostname } = url;
  if (isPublicAddress(hostname) === true) return undefined;
  const addresses = await resolve(hostname.replace(/\.+$/, ""));
  if (addresses.length === 0) return "resolution";
  return addresses.every(isPublicAnswer) ? undefined : "address";
}

/** The checks that need no DNS lookup. */
export function findBrokenRuleInUrl(url: UrlParts, allow = ""): OutboundErrorCode | undefined {
  const { protocol, username, password, hostname, port } = url;
  if (username || password) return "credentials";
  if (isAllowed(url, allow)) return undefined;
  if (protocol !== "https:") return "scheme";
  if (port && Number(port) < 1024) return "port";
  return isPublicHost(hostname) ? undefined : isPublicAddress(hostname) === false ? "address" : "name";
}

/** Whether a host may be on the public internet, judged by its name or address alone. */
export function isPublicHost(hostname: string): boolean {
  return isPublicAddress(hostname) ?? !INTERNAL_NAME.test(hostname.replace(/\.+$/, ""));
}

function isAllowed({ protocol, hostname, host }: UrlParts, allow: string): boolean {
  if (protocol !== "https:" && protocol !== "http:") return false;
  const name = hostname.replace(/\.$/, "");
  return allow.split(",").some((entry) => {
    const allowed = entry.trim().toLowerCase();
    const pattern = allowed.replace(/^http:\/\//, "");
    if (pattern === "" || (pattern === allowed && protocol === "http:")) return false;
    if (pattern.startsWith("*.")) return name.endsWith(pattern.slice(1));
    return pattern === name || pattern === host;
  });
}
