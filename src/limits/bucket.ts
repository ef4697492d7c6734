// A token bucket. It holds up to one minute's messages, and refills at that rate. The caller passes the clock and the
// limit, which may change between calls.

const MINUTE_MS = 60_000;

/**
 * How many parts a full bucket has for the platform's rate limiter, which counts whole units: `limit` of the binding in
 * wrangler.toml.
 */
export const PLATFORM_PARTS = 20;
/** How long a bucket gives nothing after the location's limiter was exceeded. */
const PLATFORM_PAUSE_MS = 15_000;

export class Bucket {
  /** The available tokens. Below 0: nothing until they have been refilled. */
  level: number;
  /** When `level` was computed, in milliseconds since the epoch. */
  updatedAt: number;
  /** Tokens that were taken and not yet reported to the location's limiter. */
  unreported = 0;

  constructor(perMinute: number, now: number) {
    this.level = perMinute;
    this.updatedAt = now;
  }

  /** Takes one token. false: there is none, and nothing was taken. */
  take(perMinute: number, now: number): boolean {
    this.refill(perMinute, now);
    if (this.level < 1) return false;
    this.level -= 1;
    this.unreported += 1;
    return true;
  }

  /** Returns a token that was taken for a message that another limit refused. */
  refund(): void {
    this.level += 1;
    this.unreported = Math.max(0, this.unreported - 1);
  }

  /** A clock that goes backwards removes nothing; the bucket continues from the new time. */
  refill(perMinute: number, now: number): void {
    this.level += (Math.max(0, now - this.updatedAt) * perMinute) / MINUTE_MS;
    this.updatedAt = now;
    if (this.level > perMinute) this.level = perMinute;
  }

  /** Milliseconds until the next token. Call it right after `take`, which refills the bucket. */
  waitMs(perMinute: number): number {
    return this.level >= 1 ? 0 : Math.ceil(((1 - this.level) * MINUTE_MS) / perMinute);
  }

  /**
   * How many parts to report to the location's limiter now: none while more than half of the bucket is left. Tokens
   * that were refilled since are not reported.
   */
  partsDue(perMinute: number): number {
    if (this.level >= perMinute / 2) return 0;
    this.unreported = Math.min(this.unreported, perMinute - this.level);
    const parts = Math.floor((this.unreported * PLATFORM_PARTS) / perMinute);
    this.unreported -= (parts * perMinute) / PLATFORM_PARTS;
    return parts;
  }

  /** The location's limiter was exceeded, so this isolate pauses. */
  pause(perMinute: number): void {
    this.level = Math.min(this.level, 1 - (perMinute * PLATFORM_PAUSE_MS) / MINUTE_MS);
  }
}
