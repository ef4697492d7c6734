// Owns what this isolate remembers of how much everybody asked lately: buckets by tenant, caller and tool, in bounded
// memory. Refuses I/O: what the location should be asked is handed to whoever can.

import type { MetLimit } from "../protocol/errors.ts";
import type { LimitName } from "../tenants/document/tenant-document.ts";
import { Bucket } from "./bucket.ts";
import { InUse } from "./in-use.ts";
import { LIMITS, type LimitsInForce } from "./limit-table.ts";
import { RecentMap } from "./recent-map.ts";

/** Who asks a tenant for something. */
export interface LimitedCaller {
  readonly tenant: string;
  /** A principal's id, or the address of one without a credential. */
  readonly id: string;
  readonly isAnonymous: boolean;
  readonly limits: LimitsInForce;
}

/** A limit that was met, and when there is room again, in milliseconds. */
export interface LimitMet extends MetLimit {
  readonly name: LimitName;
  readonly waitMs: number;
}

/** Asks the platform's limiter of this location. false: as much as it allows was reported under this key. */
export type Edge = (key: string) => Promise<boolean>;

interface Callers {
  readonly bucket: Bucket;
  readonly principals: Map<string, CallerMeter>;
  readonly addresses: Map<string, CallerMeter>;
}

/** What is known of one caller. */
export class CallerMeter {
  readonly bucket: Bucket;
  readonly running = new InUse();
  readonly tools = new Map<string, Bucket>();

  constructor(perMinute: number, now: number) {
    this.bucket = new Bucket(perMinute, now);
  }
}

/** Of each generation, of which there are two: about 200 bytes each. */
const MOST_METERS = 20_000;
const MINUTE_S = 60;

export class Limiter {
  /** What was used since the last turn, and what was used in the time before it and not since. */
  #young = new Map<string, Callers>();
  #old = new Map<string, Callers>();
  #size = 0;
  readonly #refusals = new RecentMap<Bucket>(MOST_METERS / 2);

  /**
   * Counts one message, and the tool that it calls under the name that its source gives it. undefined: it may pass. A
   * promise only where more than half of a limit is used and there is somebody to ask.
   */
  take(
    caller: LimitedCaller,
    tool: string | undefined,
    now: number,
    edge?: Edge,
  ): LimitMet | undefined | Promise<LimitMet | undefined> {
    const { limits, isAnonymous } = caller;
    const callers = this.#callersOf(caller.tenant, limits, now);
    const meter = this.#meterOf(callers, caller, now);
    const own: LimitName = isAnonymous ? "addressMessages" : "principalMessages";
    if (!meter.bucket.take(limits[own], now)) return metRate(own, limits[own], meter.bucket);
    if (!callers.bucket.take(limits.tenantMessages, now)) {
      meter.bucket.giveBack();
      return metRate("tenantMessages", limits.tenantMessages, callers.bucket);
    }
    const ofTool: LimitName = isAnonymous ? "addressToolCalls" : "toolCalls";
    if (tool !== undefined) {
      const bucket = this.#toolOf(meter, tool, limits[ofTool], now);
      if (!bucket.take(limits[ofTool], now)) return metRate(ofTool, limits[ofTool], bucket);
    }
    if (!edge) return undefined;
    const isLow = meter.bucket.level < limits[own] / 2 || callers.bucket.level < limits.tenantMessages / 2;
    return isLow ? this.#askEdge(caller, own, { meter, callers, edge }) : undefined;
  }

  /** What counts how many requests of this caller run. */
  running(caller: LimitedCaller, now: number): InUse {
    return this.#meterOf(this.#callersOf(caller.tenant, caller.limits, now), caller, now).running;
  }

  /** Counts a refusal to an address. A limit: it has had too many. */
  refuse(
    address: string,
    { addressRefusals }: Pick<LimitsInForce, "addressRefusals">,
    now: number,
  ): LimitMet | undefined {
    const bucket = this.#refusals.get(address) ?? new Bucket(addressRefusals, now);
    this.#refusals.set(address, bucket);
    return bucket.take(addressRefusals, now) ? undefined : metRate("addressRefusals", addressRefusals, bucket);
  }

  /** Whether an address has had so many refusals that nothing more is looked up for it. */
  isRefused(
    address: string,
    { addressRefusals }: Pick<LimitsInForce, "addressRefusals">,
    now: number,
  ): LimitMet | undefined {
    const bucket = this.#refusals.get(address);
    bucket?.flow(addressRefusals, now);
    return !bucket || bucket.level >= 1 ? undefined : metRate("addressRefusals", addressRefusals, bucket);
  }

  async #askEdge(
    { tenant, id, limits }: LimitedCaller,
    own: LimitName,
    { meter, callers, edge }: { meter: CallerMeter; callers: Callers; edge: Edge },
  ): Promise<LimitMet | undefined> {
    const asks: [name: LimitName, bucket: Bucket, key: string][] = [
      [own, meter.bucket, `${tenant} ${own} ${id}`],
      ["tenantMessages", callers.bucket, tenant],
    ];
    for (const [name, bucket, key] of asks) {
      const parts = bucket.partsDue(limits[name]);
      const passed = await Promise.all(Array.from({ length: parts }, () => edge(key)));
      if (passed.every(Boolean)) continue;
      bucket.pause(limits[name]);
      return metRate(name, limits[name], bucket);
    }
    return undefined;
  }

  #callersOf(tenant: string, { tenantMessages }: LimitsInForce, now: number): Callers {
    const known = this.#young.get(tenant);
    if (known) return known;
    const bucket = this.#old.get(tenant)?.bucket ?? new Bucket(tenantMessages, now);
    const callers = { bucket, principals: new Map(), addresses: new Map() };
    this.#young.set(tenant, callers);
    this.#grow();
    return callers;
  }

  #meterOf(callers: Callers, { tenant, id, isAnonymous, limits }: LimitedCaller, now: number): CallerMeter {
    const kind = isAnonymous ? "addresses" : "principals";
    const known = callers[kind].get(id);
    if (known) return known;
    const perMinute = isAnonymous ? limits.addressMessages : limits.principalMessages;
    const meter = this.#old.get(tenant)?.[kind].get(id) ?? new CallerMeter(perMinute, now);
    callers[kind].set(id, meter);
    this.#grow();
    return meter;
  }

  #toolOf({ tools }: CallerMeter, name: string, perMinute: number, now: number): Bucket {
    const known = tools.get(name);
    if (known) return known;
    const bucket = new Bucket(perMinute, now);
    tools.set(name, bucket);
    this.#grow();
    return bucket;
  }

  /** A generation that is full becomes the old one, and what was not used since the last turn is forgotten. */
  #grow(): void {
    this.#size += 1;
    if (this.#size < MOST_METERS) return;
    this.#size = 0;
    this.#old = this.#young;
    this.#young = new Map();
  }
}

/** `name` counts what happens in a minute. */
function metRate(name: LimitMet["name"], most: number, bucket: Bucket): LimitMet {
  return { name, most, seconds: MINUTE_S, waitMs: bucket.waitMs(most) };
}

/** In words, after what was met: `principalMessages allows 3000 messages of one key a minute`. */
export function describeMet({ name, most }: LimitMet): string {
  const { unit, about } = LIMITS[name];
  return `${name} allows ${most} ${unit} (${about})`;
}
