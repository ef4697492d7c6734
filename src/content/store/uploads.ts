// Owns who uploads a body to KV: one writer at a time for each key, because KV takes one write of a key in a second. What was
// granted is in memory, for two seconds: whoever is told wrongly after a restart is refused by KV, and asks again.

import { DELETING } from "../../tenants/authority/body-garbage.ts";
import type { TableHost } from "../../tenants/authority/tables.ts";
import { collectedSince, isHeld } from "./garbage.ts";

/**
 * "held": KV has the body. "upload": it is for the caller to upload; `collected` as in `PutResource.resent`. "wait": somebody
 * else uploads or deletes it, and the caller asks again.
 */
export type UploadClaim =
  | { readonly state: "held" | "wait" }
  | { readonly state: "upload"; readonly collected: number | null };

/** KV's second, and one more for what comes to KV that much later than it was granted. */
const GRANTED_MS = 2000;

interface Grant {
  readonly at: number;
  /** What one upload is called by: who asks again, because the answer was lost or KV failed, is told the same. */
  readonly by: string;
}

/**
 * By object: the hash, and what was granted; the oldest first.
 * Bound: those of GRANTED_MS, of an object that has one thread.
 */
const grants = new WeakMap<SqlStorage, Map<string, Grant>>();

function grantsOf(sql: SqlStorage): Map<string, Grant> {
  const known = grants.get(sql) ?? new Map<string, Grant>();
  grants.set(sql, known);
  return known;
}

export function claimUpload(host: TableHost, hash: string, by: string): UploadClaim {
  const { sql } = host;
  const collected = collectedSince(sql, hash, null);
  if (collected === undefined && isHeld(sql, hash)) return { state: "held" };
  const granted = grantsOf(sql);
  const now = host.now();
  for (const [old, { at }] of granted) if (now >= at + GRANTED_MS || now < at) granted.delete(old);
  const earlier = granted.get(hash);
  if (collected === DELETING || (earlier && earlier.by !== by)) return { state: "wait" };
  granted.set(hash, { at: now, by });
  return { state: "upload", collected: collected ?? null };
}
