// Owns who uploads a body to KV: one writer at a time for each key, because KV takes one write of a key in a second. What was
// granted is in memory, for two seconds: whoever is told wrongly after a restart is refused by KV, and asks again.

import { DELETING } from "../tenants/object/body-garbage.ts";
import type { StoreHost } from "../tenants/object/store.ts";
import { deletionOf, isStoredInKv } from "./garbage.ts";

/**
 * "held": KV has the body. "upload": it is for the caller to upload; `collected` as in `PutResource.resent`. "wait": somebody
 * else uploads or deletes it, and the caller asks again.
 */
export type UploadClaim =
  | { readonly state: "held" | "wait" }
  | { readonly state: "upload"; readonly collected: number | null };

/** KV's second, and one more for what comes to KV that much later than it was granted. */
const GRANT_LIFETIME_MS = 2000;

interface UploadGrant {
  readonly at: number;
  /** What one upload is called by: who asks again, because the answer was lost or KV failed, is told the same. */
  readonly uploader: string;
}

/**
 * By object: the hash, and what was granted; the oldest first.
 * Bound: those of GRANTED_MS, of an object that has one thread.
 */
const grants = new WeakMap<SqlStorage, Map<string, UploadGrant>>();

function uploadGrantsOf(sql: SqlStorage): Map<string, UploadGrant> {
  const known = grants.get(sql) ?? new Map<string, UploadGrant>();
  grants.set(sql, known);
  return known;
}

export function claimUpload(host: StoreHost, hash: string, uploader: string): UploadClaim {
  const { sql } = host;
  const collected = deletionOf(sql, hash, null);
  if (collected === undefined && isStoredInKv(sql, hash)) return { state: "held" };
  const active = uploadGrantsOf(sql);
  const now = host.now();
  for (const [oldHash, { at }] of active) if (now >= at + GRANT_LIFETIME_MS || now < at) active.delete(oldHash);
  const existing = active.get(hash);
  if (collected === DELETING || (existing && existing.uploader !== uploader)) return { state: "wait" };
  active.set(hash, { at: now, uploader });
  return { state: "upload", collected: collected ?? null };
}
