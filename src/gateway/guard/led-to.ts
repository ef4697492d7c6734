// Owns where a redirect that was not followed led, as operators are told: the host alone. Refuses what is no web address, and
// a host with a credential in it, which a server that was sent one could put there.

import type { Fault } from "../../mcp-client/fault.ts";

/** As in a `Location`: of letters, digits, dots, hyphens and a port, or an address in brackets. */
const HOST = /^[a-z0-9.\-_:[\]]{1,261}$/;
const SHORTEST_SECRET = 8;

export function ledTo(fault: Fault, secrets: readonly string[]): string | undefined {
  if (fault.kind !== "redirect" || fault.location === undefined) return undefined;
  const { protocol, host } = new URL(fault.location);
  const isWeb = protocol === "https:" || protocol === "http:";
  if (!isWeb || !HOST.test(host)) return undefined;
  const isToldOf = secrets.some((one) => one.length >= SHORTEST_SECRET && host.includes(one.trim().toLowerCase()));
  return isToldOf ? undefined : host;
}

/** `why`, for who may see it all. */
export function whyWithHost(why: string, to: string | undefined): string {
  return to === undefined ? why : `${why}; it leads to ${to}`;
}
