// Owns the header that counts how often a request went out of one of our Workers and came in at another, or at the same.
// Refuses none by itself: the entry does, so that a circle of tools that call each other ends.

export const HOPS_HEADER = "tenantry-hops";
/** Firewalls, and GitHub, refuse requests without one. */
export const USER_AGENT = "tenantry";
/** A chain of agents that call agents is rarely longer than three. */
export const MAX_HOPS = 8;

/** 0: it comes from elsewhere. What is no small number counts as too many: nobody but us writes this header. */
export function hopsOf(headers: Headers): number {
  const text = headers.get(HOPS_HEADER);
  if (text === null) return 0;
  return /^\d\d?$/.test(text) ? Number(text) : Infinity;
}
