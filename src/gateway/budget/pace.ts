// Owns how fast one principal may have rests of results written and read: they are in the object that grants the leases of
// the whole tenant, and each megabyte keeps that waiting for some milliseconds. Refuses what comes faster.

import { Bucket } from "../../limits/bucket.ts";
import { RecentMap } from "../../limits/recent-map.ts";
import { MOST_RESULTS_OF_OWNER } from "./result-tables.ts";

/** In a minute: all that one may have, eight times. */
export const BYTES_A_MINUTE = 8 * MOST_RESULTS_OF_OWNER.bytes;
const MOST_KNOWN = 4000;

/** Of this isolate. */
const buckets = new RecentMap<Bucket>(MOST_KNOWN);

/** false: so much is too much now, and is not counted. */
export function isInPace(holder: string, bytes: number, now: number): boolean {
  const bucket = buckets.get(holder) ?? new Bucket(BYTES_A_MINUTE, now);
  buckets.set(holder, bucket);
  bucket.flow(BYTES_A_MINUTE, now);
  if (bucket.level < bytes) return false;
  bucket.level -= bytes;
  return true;
}
