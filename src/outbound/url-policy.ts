// Owns where requests may go that somebody outside can steer: by the URL itself, in every notation, and by what its name
// stands for. To be asked where a URL is written, and again before each request. An operator's exceptions pass.

import { isPublicAddress, isPublicAnswer } from "./public-address.ts";
import type { OutboundErrorCode } from "./outbound-error.ts";
import type { Resolve } from "./dns-resolver.ts";

/** Names that lead inside a network, or nowhere, wherever they end a name; a name of one part always does. */
const INTERNAL_NAME =
  /(^[^.]*|(^|\.)(localhost|localdomain|local|internal|intranet|private|lan|home|corp|svc|consul|onion|alt|test|example|invalid|arpa))$/;

export interface UrlPolicy {
  /** `OUTBOUND_ALLOW`: `host`, `host:port`, `*.host`, separated by commas; `http://` in front allows that scheme too. */
  readonly allow: string | undefined;
  /** undefined: nobody is asked. */
  readonly resolve: Resolve | undefined;
}

/** What is looked at of a `URL`, which has brought every notation of a host into one. */
export type UrlParts = Readonly<Pick<URL, "protocol" | "username" | "password" | "hostname" | "host" | "port">>;

/** The rule that keeps a request from going there; undefined where it may. Never says what a name stands for. */
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

/** The part that needs nobody. */
export function findBrokenRuleInUrl(url: UrlParts, allow = ""): OutboundErrorCode | undefined {
  const { protocol, username, password, hostname, port } = url;
  if (username || password) return "credentials";
  if (isAllowed(url, allow)) return undefined;
  if (protocol !== "https:") return "scheme";
  if (port && Number(port) < 1024) return "port";
  return isPublicHost(hostname) ? undefined : isPublicAddress(hostname) === false ? "address" : "name";
}

/** Whether a host may be on the public internet, by its name or its address alone. */
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
