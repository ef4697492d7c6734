// Owns who uploads a body to KV: one writer at a time for each key, because KV takes one write of a key in a second. What was
// granted is in memory, for two seconds: whoever is told wrongly after a restart is refused by KV, and asks again.

import type { TableHost } from "../../tenants/authority/tables.ts";
import { collectedSince, DELETING, isHeld } from "./garbage.ts";

/**
 * "held": KV has the body. "upload": it is for the caller to upload; `collected` as in `PutResource.resent`. "wait": somebody
 * else uploads or deletes it, and the caller asks again.
 */
export type UploadClaim =
  | { readonly state: "held" | "wait" }
  | { readonly state: "upload"; readonly collected: number | null };

/** KV's second, and one more for what comes to KV that much later than it was granted. */
const GRANTED_MS = 2000;

/**
 * By object: the hash, and when it was granted, or deleted; the oldest first.
 * Bound: those of GRANTED_MS, of an object that has one thread.
 */
const grants = new WeakMap<SqlStorage, Map<string, number>>();

function grantsOf(sql: SqlStorage): Map<string, number> {
  const known = grants.get(sql) ?? new Map<string, number>();
  grants.set(sql, known);
  return known;
}

/** `claims`: not of Workers of an earlier release, which are told whether KV has the body, and upload as they like. */
export function claimUpload(host: TableHost, hash: string, claims: boolean): UploadClaim | boolean {
  const { sql } = host;
  const collected = collectedSince(sql, hash, null);
  const isThere = collected === undefined && isHeld(sql, hash);
  if (!claims) return isThere;
  if (isThere) return { state: "held" };
  const granted = grantsOf(sql);
  const now = host.now();
  for (const [old, at] of granted) if (now >= at + GRANTED_MS || now < at) granted.delete(old);
  if (collected === DELETING || granted.has(hash)) return { state: "wait" };
  granted.set(hash, now);
  return { state: "upload", collected: collected ?? null };
}
