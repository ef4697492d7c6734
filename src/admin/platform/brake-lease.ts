// Owns what this isolate knows of what is stopped in every tenant, under one lease for all of them, and putting that into what
// it holds of a tenant. Refuses everybody while no replica gives a lease.

import type { BrakeGround, Brakes } from "../../deployment/brakes.ts";
import { failure, type Failure } from "../../protocol/errors.ts";
import { isFailure } from "../../protocol/methods/params.ts";
import type { Policy } from "../../tenants/authority/policy-records.ts";
import { remote } from "../../tenants/authority/tables.ts";
import type { Suspension } from "../../tenants/document/visibility.ts";
import { inTime } from "../../tenants/isolate/in-time.ts";
import { lasts } from "../../tenants/isolate/lasting.ts";
import type { Snapshot } from "../../tenants/isolate/snapshot.ts";
import { BRAKE_LEASE_MS, brakeTables, RENEWED_IN, type BrakeGrant, type StoppedTenant } from "./brake-tables.ts";
import { unwatchBrakes, watchBrakes } from "./brake-watch.ts";
import { platformAt, replicaName, REPLICAS } from "./platform-door.ts";

/** The same object as long as nothing of it changes. */
interface Stopped {
  readonly version: number;
  readonly tools: readonly Suspension[];
  readonly tenants: ReadonlyMap<string, readonly StoppedTenant[]>;
}

const NOTHING: Stopped = { version: -1, tools: [], tenants: new Map() };

interface Lease {
  readonly stopped: Stopped;
  /** Milliseconds since the epoch: when it was asked for, plus `leaseMs`. */
  readonly validUntil: number;
  readonly leaseMs: number;
}

/** Bindings; `BRAKE_LEASE_MS` may shorten the lease, as tests do. */
type LeaseEnv = { readonly BRAKE_LEASE_MS?: string };

/** A replica that takes longer is one that cannot be reached. */
const ANSWERED_WITHIN_MS = 2000;
/** How many are asked before nobody is let in. */
const TRIES = 2;
/** An object that was reset is there again by then, about. */
const RESET_MS = 50;
/** How long the others wait for who asks before one of them asks, too, and how often they look. */
const WAITED_MS = 250;
const LOOK_AGAIN_MS = 8;

const AWAY: Failure = {
  ...failure("unavailable", "Service unavailable: nobody can be let in right now"),
  retryAfter: 5,
};

let held: Lease | undefined;
/** The version that a replica told of, until it was asked for it. */
let told = -1;
/** The replica that is asked; -1: none was yet. */
let chosen = -1;
/** Until when the others wait for who asks; milliseconds since the epoch. */
let askedUntil = 0;

/** One lease for all tenants of an isolate. */
export const brakes: Brakes = {
  hold: (ground, taken) => {
    if (!(taken instanceof Promise) && isFailure(taken)) return taken;
    const lease = currentLease(ground);
    if (lease instanceof Promise || taken instanceof Promise) return holdLater(ground, taken, lease);
    return braked(taken, lease);
  },
  changed: async (ground, { tenant, created, policy }, view) => {
    watchBrakes(ground, chosenReplica, (version) => {
      told = Math.max(told, version);
    });
    // Whether it lasts is nothing to a stream: who watches is told when there is another.
    const lease = held && !isBehind(held) ? held : await takeLease(ground);
    if (isFailure(lease)) return false;
    const { tools, tenants } = lease.stopped;
    const lifted = (madeWith.get(policy)?.tools ?? []).some(({ name }) => !tools.some((tool) => tool.name === name));
    return (
      lifted ||
      tools.some(({ name }) => view.tools.some(({ target }) => [target.name, target.listedName].includes(name))) ||
      stopsOf(tenants, tenant, created).length > 0
    );
  },
  left: unwatchBrakes,
};

function isBehind({ stopped }: Lease): boolean {
  return stopped.version < told;
}

/** Never rejects where `taken` does not. */
async function holdLater(
  ground: BrakeGround,
  taken: Parameters<Brakes["hold"]>[1],
  asked: Leasing,
): Promise<Snapshot | Failure> {
  const snapshot = await taken;
  let lease = await asked;
  if (isFailure(snapshot)) return snapshot;
  // The tenant's own object may have taken longer than this lease lasts.
  if (!isFailure(lease) && !isValid(lease)) lease = await currentLease(ground);
  return isFailure(lease) ? lease : braked(snapshot, lease);
}

type Leasing = Lease | Promise<Lease | Failure>;

function isValid({ validUntil, leaseMs }: Lease): boolean {
  return lasts(validUntil, leaseMs, Date.now());
}

function currentLease(ground: BrakeGround): Leasing {
  if (!held || !isValid(held)) return takeLease(ground);
  const isEnding = held.validUntil - Date.now() < RENEWED_IN * held.leaseMs;
  if (isEnding && !isAsked()) ground.waitUntil(ask(ground.env).catch((error) => ground.onError(error)));
  return held;
}

function isAsked(): boolean {
  return lasts(askedUntil, WAITED_MS, Date.now());
}

async function takeLease(ground: BrakeGround): Promise<Lease | Failure> {
  // Nothing is awaited between finding that nobody asks and asking: fifty who come at once would all find that.
  const others = isAsked() ? await leaseOfOthers() : undefined;
  if (others) return others;
  const wanted = told;
  try {
    const lease = await ask(ground.env);
    // A replica that was not told itself knows less, until its own lease ends.
    if (told === wanted && lease.stopped.version >= wanted) told = -1;
    return lease;
  } catch (error) {
    ground.onError(error);
    return AWAY;
  }
}

/** Nobody awaits what another request asked: each looks again by itself, and asks when that takes long. */
async function leaseOfOthers(): Promise<Lease | Failure | undefined> {
  const deadline = Date.now() + TRIES * ANSWERED_WITHIN_MS;
  while (isAsked()) {
    await scheduler.wait(LOOK_AGAIN_MS * (0.5 + Math.random()));
    if (held && isValid(held) && !isBehind(held)) return held;
    if (Date.now() > deadline) return AWAY;
  }
  return undefined;
}

function chosenReplica(): number {
  if (chosen < 0) chosen = Math.floor(Math.random() * REPLICAS);
  return chosen;
}

async function ask(env: LeaseEnv): Promise<Lease> {
  askedUntil = Date.now() + WAITED_MS;
  const leaseMs = Math.min(BRAKE_LEASE_MS, Number(env.BRAKE_LEASE_MS ?? BRAKE_LEASE_MS));
  let failed: unknown;
  for (let tries = 0; tries < TRIES; tries += 1) {
    const at = chosenReplica();
    const before = held?.stopped;
    const asked = Date.now();
    try {
      const replica = remote(platformAt(env, replicaName(at)), brakeTables);
      const leasing = replica.lease({ version: before?.version ?? null, forMs: leaseMs });
      const grant = await inTime(leasing, ANSWERED_WITHIN_MS, replicaName(at));
      askedUntil = 0;
      return keep({ stopped: stoppedOf(grant, before), validUntil: asked + leaseMs, leaseMs });
    } catch (error) {
      // The platform's objects are of an earlier release, which keeps in tenants' own what is stopped.
      if (isBeforeBrakes(error)) return keep({ stopped: before ?? NOTHING, validUntil: asked + leaseMs, leaseMs });
      failed = error;
      // The next one has no part in what is wrong with this one, unless a deployment resets all of them now.
      if (chosen === at) chosen = (at + 1) % REPLICAS;
      await scheduler.wait(RESET_MS * (0.5 + Math.random()));
    }
  }
  askedUntil = 0;
  throw failed;
}

/** One that refuses this Worker, as of a later release, may have something that is stopped. */
function isBeforeBrakes(error: unknown): boolean {
  return error instanceof Error && /^no method|RPC receiver does not implement/.test(error.message);
}

/** Another one's answer may have come first, from a replica that knew more. */
function keep(lease: Lease): Lease {
  if (held && held.stopped.version > lease.stopped.version && isValid(held)) return held;
  return (held = lease);
}

function stoppedOf({ version, policy }: BrakeGrant, before: Stopped | undefined): Stopped {
  if (!policy) {
    if (!before) throw new Error("the replica sent no policy and none is held");
    return before;
  }
  const tenants = new Map<string, StoppedTenant[]>();
  for (const one of policy.tenants) tenants.set(one.id, [...(tenants.get(one.id) ?? []), one]);
  return { version, tools: policy.tools.map((tool) => ({ kind: "tool", ...tool })), tenants };
}

function stopsOf(tenants: Stopped["tenants"], id: string, created: string): Suspension[] {
  const stops = (tenants.get(id) ?? []).filter((one) => one.created === "" || one.created === created);
  return stops.map(({ note, since }) => ({ kind: "tenant", name: "", note, since }));
}

/** What was made last of a tenant's snapshot, under which lease: nothing is made for a request while both last. */
interface Made {
  readonly of: Snapshot;
  readonly lease: Lease;
  readonly snapshot: Snapshot;
}
/** What policies were made with. */
const madeWith = new WeakMap<Policy, Stopped>();

function braked(snapshot: Snapshot, lease: Lease): Snapshot {
  const { tools, tenants } = lease.stopped;
  const isAsItIs = tools.length === 0 && !tenants.has(snapshot.tenant) && snapshot.validUntil <= lease.validUntil;
  if (isAsItIs) return snapshot;
  const known = snapshot.derived.get(braked) as Made | undefined;
  if (known?.of === snapshot && known.lease === lease) return known.snapshot;
  // The lease that ends first.
  const { validUntil, leaseMs } = lease.validUntil < snapshot.validUntil ? lease : snapshot;
  const both = { ...snapshot, ...withStopped(snapshot, lease.stopped), validUntil, leaseMs };
  snapshot.derived.set(braked, { of: snapshot, lease, snapshot: both } satisfies Made);
  return both;
}

type Derived = Pick<Snapshot, "policy" | "derived">;

/** What is computed of a version of the policy is computed anew when something else is stopped. */
function withStopped({ tenant, created, policy, derived }: Snapshot, stopped: Stopped): Derived {
  const stops = [...stopped.tools, ...stopsOf(stopped.tenants, tenant, created)];
  if (stops.length === 0) return { policy, derived };
  const known = derived.get(brakes) as Derived | undefined;
  if (known && madeWith.get(known.policy) === stopped) return known;
  const next = { policy: { ...policy, suspensions: [...policy.suspensions, ...stops] }, derived: new Map() };
  madeWith.set(next.policy, stopped);
  derived.set(brakes, next);
  return next;
}
