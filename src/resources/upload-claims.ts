// Grants uploads of bodies to KV, one writer at a time for each key, because KV takes one write of a key per second.
// Grants live in memory for two seconds. After a restart KV may reject a second writer, who then asks again.

import { DELETING } from "../tenants/object/body-garbage.ts";
import type { StoreHost } from "../tenants/object/store.ts";
import { deletionOf, isStoredInKv } from "./garbage.ts";

/**
 * "held": KV has the body. "upload": the caller must upload it; `resendToken` is for the later `PutResource`.
 * "wait": another caller uploads or deletes the body, so ask again.
 */
export type UploadClaim =
  | { readonly state: "held" | "wait" }
  | { readonly state: "upload"; readonly resendToken: number | null };

/** KV's one second, and one more for a write that reaches KV late. */
const GRANT_LIFETIME_MS = 2000;

interface UploadGrant {
  readonly at: number;
  /**
   * Identifies one upload. A caller that asks again, because the answer was lost or KV failed, gets the same answer.
   */
  readonly uploader: string;
}

/**
 * Grants by object and hash, the oldest first. Bound: the grants of the last two seconds (GRANT_LIFETIME_MS), of an
 * object with one thread.
 */
const grants = new WeakMap<SqlStorage, Map<string, UploadGrant>>();

function uploadGrantsOf(sql: SqlStorage): Map<string, UploadGrant> {
  const known = grants.get(sql) ?? new Map<string, UploadGrant>();
  grants.set(sql, known);
  return known;
}

export function claimUpload(host: StoreHost, hash: string, uploader: string): UploadClaim {
  const { sql } = host;
  const deletion = deletionOf(sql, hash, null);
  if (deletion === undefined && isStoredInKv(sql, hash)) return { state: "held" };
  const active = uploadGrantsOf(sql);
  const now = host.now();
  for (const [oldHash, { at }] of active) if (now >= at + GRANT_LIFETIME_MS || now < at) active.delete(oldHash);
  const existing = active.get(hash);
  if (deletion === DELETING || (existing && existing.uploader !== uploader)) return { state: "wait" };
  active.set(hash, { at: now, uploader });
  return { state: "upload", resendToken: deletion ?? null };
}
