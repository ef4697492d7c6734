// Owns how fast one principal may have rests of results written and read: they are in the object that grants the leases of
// the whole tenant, and each megabyte keeps that waiting for some milliseconds. Refuses what comes faster.

import { Bucket } from "../../limits/bucket.ts";
import { LruMap } from "../../limits/lru-map.ts";
import { MAX_RESULTS_PER_OWNER } from "./result-store.ts";

/** In a minute: all that one may have, eight times. */
export const BYTES_PER_MINUTE = 8 * MAX_RESULTS_PER_OWNER.bytes;
const MAX_BUCKETS = 4000;

/** Of this isolate. */
const buckets = new LruMap<Bucket>(MAX_BUCKETS);

/** false: so much is too much now, and is not counted. */
export function takeByteRate(key: string, bytes: number, now: number): boolean {
  const bucket = buckets.get(key) ?? new Bucket(BYTES_PER_MINUTE, now);
  buckets.set(key, bucket);
  bucket.refill(BYTES_PER_MINUTE, now);
  if (bucket.level < bytes) return false;
  bucket.level -= bytes;
  return true;
}
