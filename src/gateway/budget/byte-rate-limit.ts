// Limits how many bytes of stored results one principal may write and read. The tenant object stores them, and each
// megabyte blocks it for some milliseconds while it also serves the whole tenant's leases.

import { Bucket } from "../../limits/bucket.ts";
import { LruMap } from "../../limits/lru-map.ts";
import { MAX_RESULTS_PER_OWNER } from "./result-store.ts";

/** Per minute: eight times everything that one principal may have stored. */
const BYTES_PER_MINUTE = 8 * MAX_RESULTS_PER_OWNER.bytes;
const MAX_BUCKETS = 4000;

/** Per isolate. */
const buckets = new LruMap<Bucket>(MAX_BUCKETS);

/** Returns false if the limit is reached; the bytes are then not counted. */
export function takeByteRate(key: string, bytes: number, now: number): boolean {
  const bucket = buckets.get(key) ?? new Bucket(BYTES_PER_MINUTE, now);
  buckets.set(key, bucket);
  bucket.refill(BYTES_PER_MINUTE, now);
  if (bucket.level < bytes) return false;
  bucket.level -= bytes;
  return true;
}
