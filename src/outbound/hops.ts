// The header that counts how often a request has passed through one of our Workers. The entry rejects too many hops, so
// that a cycle of tools that call each other ends.

export const HOPS_HEADER = "tenantry-hops";
/** GitHub and some firewalls refuse requests without a user agent. */
export const USER_AGENT = "tenantry";
/** A chain of agents that call agents is rarely longer than three. */
export const MAX_HOPS = 8;

/**
 * Returns 0 if the request comes from elsewhere. A malformed value counts as Infinity, because only our Workers write
 * this header.
 */
export function hopsOf(headers: Headers): number {
  const text = headers.get(HOPS_HEADER);
  if (text === null) return 0;
  return /^\d\d?$/.test(text) ? Number(text) : Infinity;
}
