// Owns the token bucket: as many messages at once as it allows in a minute, then as many as flow in. Pure: whoever asks
// brings the clock and the limit, which may differ from one time to the next.

const MINUTE_MS = 60_000;

/**
 * Into how many parts of a minute's messages a bucket is cut for the platform's limiter, which counts in wholes:
 * `limit` of the binding in wrangler.toml.
 */
export const PLATFORM_PARTS = 20;
/** For how long a bucket that the location found too full gives nothing. */
const PLATFORM_PAUSE_MS = 15_000;

export class Bucket {
  /** What may be taken now. Below 0: nothing until that has flowed in. */
  level: number;
  /** When `level` was right, milliseconds since the epoch. */
  updatedAt: number;
  /** What was taken and not yet reported to the location. */
  unreported = 0;

  constructor(perMinute: number, now: number) {
    this.level = perMinute;
    this.updatedAt = now;
  }

  /** Takes one. false: there is none, and nothing was taken. */
  take(perMinute: number, now: number): boolean {
    this.refill(perMinute, now);
    if (this.level < 1) return false;
    this.level -= 1;
    this.unreported += 1;
    return true;
  }

  /** Gives back what was taken for something that another limit refused. */
  refund(): void {
    this.level += 1;
    this.unreported = Math.max(0, this.unreported - 1);
  }

  /** A clock that goes backwards takes nothing away, and goes on from there. */
  refill(perMinute: number, now: number): void {
    this.level += (Math.max(0, now - this.updatedAt) * perMinute) / MINUTE_MS;
    this.updatedAt = now;
    if (this.level > perMinute) this.level = perMinute;
  }

  /** Milliseconds until there is one to take; right after `take`, which says what has flowed in. */
  waitMs(perMinute: number): number {
    return this.level >= 1 ? 0 : Math.ceil(((1 - this.level) * MINUTE_MS) / perMinute);
  }

  /**
   * How many parts to report to the location now: none while more than half is left. What flowed in since is reported
   * no more.
   */
  partsDue(perMinute: number): number {
    if (this.level >= perMinute / 2) return 0;
    this.unreported = Math.min(this.unreported, perMinute - this.level);
    const parts = Math.floor((this.unreported * PLATFORM_PARTS) / perMinute);
    this.unreported -= (parts * perMinute) / PLATFORM_PARTS;
    return parts;
  }

  /** The location has had as much as is allowed there: this isolate pauses. */
  pause(perMinute: number): void {
    this.level = Math.min(this.level, 1 - (perMinute * PLATFORM_PAUSE_MS) / MINUTE_MS);
  }
}
