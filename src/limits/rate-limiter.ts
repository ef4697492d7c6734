// Rate limits of this isolate: token buckets by tenant, caller and tool, in bounded memory. It does no I/O: the caller
// passes a function that asks the location's limiter.

import type { ExceededLimit } from "../protocol/errors.ts";
import type { LimitName } from "../tenants/document/tenant-document.ts";
import { Bucket } from "./bucket.ts";
import { ConcurrencyCounter } from "./concurrency-counter.ts";
import { LIMITS, type EffectiveLimits } from "./limit-definitions.ts";
import { LruMap } from "./lru-map.ts";

export interface LimitedCaller {
  readonly tenant: string;
  /** The id of a principal, or the address of a caller without a credential. */
  readonly id: string;
  readonly isAnonymous: boolean;
  readonly limits: EffectiveLimits;
}

/** An exceeded limit, and the milliseconds until there is room again. */
export interface LimitRejection extends ExceededLimit {
  readonly name: LimitName;
  readonly waitMs: number;
}

/** Asks the platform's rate limiter of this location. false: the limit under this key is exceeded. */
export type PlatformRateLimiter = (key: string) => Promise<boolean>;

interface TenantMeters {
  readonly bucket: Bucket;
  readonly principals: Map<string, CallerMeter>;
  readonly addresses: Map<string, CallerMeter>;
}

export class CallerMeter {
  readonly bucket: Bucket;
  readonly concurrency = new ConcurrencyCounter();
  readonly tools = new Map<string, Bucket>();

  constructor(perMinute: number, now: number) {
    this.bucket = new Bucket(perMinute, now);
  }
}

/** The most meters in each of two generations: about 200 bytes each. */
const MAX_METERS = 20_000;
const MINUTE_S = 60;

export class RateLimiter {
  /** Meters that were used since the last rotation, and meters that were only used before it. */
  #young = new Map<string, TenantMeters>();
  #old = new Map<string, TenantMeters>();
  #size = 0;
  readonly #refusals = new LruMap<Bucket>(MAX_METERS / 2);

  /**
   * Counts one message, and the tool that it calls, under the name that the source gives the tool. undefined: the
   * message may pass. Returns a promise only if more than half of a limit is used and there is a platform limiter.
   */
  take(
    caller: LimitedCaller,
    tool: string | undefined,
    now: number,
    platform?: PlatformRateLimiter,
  ): LimitRejection | undefined | Promise<LimitRejection | undefined> {
    const { limits, isAnonymous } = caller;
    const tenantMeters = this.#metersOf(caller.tenant, limits, now);
    const meter = this.#meterOf(tenantMeters, caller, now);
    const messageLimit: LimitName = isAnonymous ? "addressMessages" : "principalMessages";
    if (!meter.bucket.take(limits[messageLimit], now))
      return rateRejection(messageLimit, limits[messageLimit], meter.bucket);
    if (!tenantMeters.bucket.take(limits.tenantMessages, now)) {
      meter.bucket.refund();
      return rateRejection("tenantMessages", limits.tenantMessages, tenantMeters.bucket);
    }
    const toolLimit: LimitName = isAnonymous ? "addressToolCalls" : "toolCalls";
    if (tool !== undefined) {
      const bucket = this.#toolOf(meter, tool, limits[toolLimit], now);
      if (!bucket.take(limits[toolLimit], now)) return rateRejection(toolLimit, limits[toolLimit], bucket);
    }
    if (!platform) return undefined;
    const isLow =
      meter.bucket.level < limits[messageLimit] / 2 || tenantMeters.bucket.level < limits.tenantMessages / 2;
    return isLow ? this.#askPlatform(caller, messageLimit, { meter, tenantMeters, platform }) : undefined;
  }

  concurrencyOf(caller: LimitedCaller, now: number): ConcurrencyCounter {
    return this.#meterOf(this.#metersOf(caller.tenant, caller.limits, now), caller, now).concurrency;
  }

  /** Counts a refusal to an address. Returns the limit if the address had too many. */
  countRefusal(
    address: string,
    { addressRefusals }: Pick<EffectiveLimits, "addressRefusals">,
    now: number,
  ): LimitRejection | undefined {
    const bucket = this.#refusals.get(address) ?? new Bucket(addressRefusals, now);
    this.#refusals.set(address, bucket);
    return bucket.take(addressRefusals, now) ? undefined : rateRejection("addressRefusals", addressRefusals, bucket);
  }

  /** Whether the address had so many refusals that no more lookups are made for it. */
  checkRefusals(
    address: string,
    { addressRefusals }: Pick<EffectiveLimits, "addressRefusals">,
    now: number,
  ): LimitRejection | undefined {
    const bucket = this.#refusals.get(address);
    bucket?.refill(addressRefusals, now);
    return !bucket || bucket.level >= 1 ? undefined : rateRejection("addressRefusals", addressRefusals, bucket);
  }

  async #askPlatform(
    { tenant, id, limits }: LimitedCaller,
    messageLimit: LimitName,
    {
      meter,
      tenantMeters,
      platform,
    }: { meter: CallerMeter; tenantMeters: TenantMeters; platform: PlatformRateLimiter },
  ): Promise<LimitRejection | undefined> {
    const checks: [name: LimitName, bucket: Bucket, key: string][] = [
      [messageLimit, meter.bucket, `${tenant} ${messageLimit} ${id}`],
      ["tenantMessages", tenantMeters.bucket, tenant],
    ];
    for (const [name, bucket, key] of checks) {
      const parts = bucket.partsDue(limits[name]);
      const passed = await Promise.all(Array.from({ length: parts }, () => platform(key)));
      if (passed.every(Boolean)) continue;
      bucket.pause(limits[name]);
      return rateRejection(name, limits[name], bucket);
    }
    return undefined;
  }

  #metersOf(tenant: string, { tenantMessages }: EffectiveLimits, now: number): TenantMeters {
    const known = this.#young.get(tenant);
    if (known) return known;
    const bucket = this.#old.get(tenant)?.bucket ?? new Bucket(tenantMessages, now);
    const tenantMeters = { bucket, principals: new Map(), addresses: new Map() };
    this.#young.set(tenant, tenantMeters);
    this.#countMeter();
    return tenantMeters;
  }

  #meterOf(tenantMeters: TenantMeters, { tenant, id, isAnonymous, limits }: LimitedCaller, now: number): CallerMeter {
    const kind = isAnonymous ? "addresses" : "principals";
    const known = tenantMeters[kind].get(id);
    if (known) return known;
    const perMinute = isAnonymous ? limits.addressMessages : limits.principalMessages;
    const meter = this.#old.get(tenant)?.[kind].get(id) ?? new CallerMeter(perMinute, now);
    tenantMeters[kind].set(id, meter);
    this.#countMeter();
    return meter;
  }

  #toolOf({ tools }: CallerMeter, name: string, perMinute: number, now: number): Bucket {
    const known = tools.get(name);
    if (known) return known;
    const bucket = new Bucket(perMinute, now);
    tools.set(name, bucket);
    this.#countMeter();
    return bucket;
  }

  /** A full generation becomes the old one. Meters that were not used since the last rotation are dropped. */
  #countMeter(): void {
    this.#size += 1;
    if (this.#size < MAX_METERS) return;
    this.#size = 0;
    this.#old = this.#young;
    this.#young = new Map();
  }
}

/** `name`: a limit per minute. */
function rateRejection(name: LimitRejection["name"], most: number, bucket: Bucket): LimitRejection {
  return { name, most, seconds: MINUTE_S, waitMs: bucket.waitMs(most) };
}

/** Describes the limit in words, such as `principalMessages allows 3000 a minute (messages of one key)`. */
export function describeLimit({ name, most }: LimitRejection): string {
  const { unit, about } = LIMITS[name];
  return `${name} allows ${most} ${unit} (${about})`;
}
