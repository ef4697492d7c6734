// Owns what this isolate holds of each tenant, and for how long: the serving half of the lease rule, within a budget of
// memory. No request awaits another's promise: where two ask at once, the later answer is held.

import { idsOf, type KeyRing } from "../../auth/seal.ts";
import { lasts } from "./lasting.ts";
import { EndedSessions } from "./ended-sessions.ts";
import type { KeyGrant, LeaseAnswer, LeaseAsk, LeaseGranted, Policy } from "../authority/policy-records.ts";
import type { Placement } from "../directory/placement.ts";
import { policyCalls } from "../authority/policy-calls.ts";
import { remote } from "../authority/tables.ts";
import type { TenantStub } from "../authority/incarnation.ts";

/** Milliseconds that a lease lasts from the moment it was asked for, unless the tenant says otherwise. */
export const DEFAULT_MAX_STALENESS_MS = 5000;
const MAX_BYTES = 32 * 1024 * 1024;
/** What a snapshot costs besides its policy: views, the ring. */
export const BASE_BYTES = 16 * 1024;
const MAX_KEYS = 1000;
/** A key, and what it grants. */
const KEY_BYTES = 512;
const HOUR_MS = 3_600_000;

/** What an isolate remembers of keys is of one hour. */
function hourOf(time: number): number {
  return Math.floor(time / HOUR_MS);
}
/** What is made of a text of JSON costs several times its characters. */
const TEXT_FACTOR = 4;

export interface Snapshot {
  readonly tenant: string;
  readonly version: number;
  /** When the tenant was made: another one of the same name counts its versions anew. */
  readonly created: string;
  readonly policy: Policy;
  /** Hashes of what is leased beside the policy, by name. */
  readonly sections: ReadonlyMap<string, string>;
  readonly ring: KeyRing;
  readonly seeded: boolean;
  /**
   * Milliseconds since the epoch: when the lease was asked for, plus the tenant's staleness. The authority counts from
   * when it answered, which is later, so it never takes a lease for ended that is still served from.
   */
  readonly validUntil: number;
  /** How long that was when it was asked for. */
  readonly leaseMs: number;
  /**
   * From when on who comes asks for the next lease, though this one holds; milliseconds since the epoch. Infinity: somebody does.
   * Of the tenant's own lease, where another one ends sooner.
   */
  readonly renewal: { from: number };
  /** What the authority said of keys, by `memoOf` the credential; null: no such key. Begins anew with each version. */
  readonly keys: Map<string, KeyGrant | null>;
  /** Of these, what was asked in this hour of the clock: the authority notes that a key is used when it is asked about it. */
  readonly asked: Set<string>;
  /** The hour, from the epoch. */
  readonly keysHour: number;
  /** Whatever is computed from this version of the policy, under a key that whoever computes it chooses. */
  readonly derived: Map<unknown, unknown>;
  /** The same for what is computed from `offerPart` alone: a change of keys, secrets or limits leaves it as it is. */
  readonly offers: Map<unknown, unknown>;
  /** Goes on from version to version. */
  readonly ended: EndedSessions;
  /** Without its keys and ended sessions. */
  readonly bytes: number;
  /** Where its authority is: whoever holds this need not ask the directory. */
  readonly placement: Placement;
  /** Whether it was asked for as a tenant that code declares: then the directory may know nothing of it. */
  readonly inCode: boolean;
}

export interface SnapshotAsk {
  readonly placement: Placement;
  readonly maxStalenessMs: number;
  readonly inCode: boolean;
  /** A key that this isolate does not know yet: the text under which to remember it, and its hash. */
  readonly key: { readonly memo: string; readonly hash: string } | null;
}

/** By tenant, the least recently leased first. Bound: MAX_BYTES, as BASE_BYTES each at least. */
const held = new Map<string, Snapshot>();
/** What each weighed when it was held: keys and ended sessions go on from lease to lease, and grow. Bound: as `held`. */
const weights = new Map<string, number>();
let heldBytes = 0;

/** The snapshot from the last lease, even if that has ended. */
export function lastSnapshot(tenant: string): Snapshot | undefined {
  return held.get(tenant);
}

/** The snapshot while its lease lasts. */
export function validSnapshot(tenant: string): Snapshot | undefined {
  const snapshot = held.get(tenant);
  return snapshot !== undefined && isLeased(snapshot) ? snapshot : undefined;
}

/** Whether its lease lasts. */
export function isLeased({ validUntil, leaseMs }: Pick<Snapshot, "validUntil" | "leaseMs">): boolean {
  return lasts(validUntil, leaseMs, Date.now());
}

/** Of a lease, so much at its end is for taking the next one while this one serves. */
const RENEWED_IN = 0.3;

/** Whether who comes now should see to the next lease, though this one holds. */
export function isEnding({ renewal }: Snapshot): boolean {
  return Date.now() >= renewal.from;
}

/** Takes a new lease. undefined: the authority says that there is no such tenant. Throws when it cannot be reached. */
export async function askSnapshot(tenant: string, stub: TenantStub, ask: SnapshotAsk): Promise<Snapshot | undefined> {
  const asked = Date.now();
  const before = held.get(tenant);
  const told: LeaseAnswer = await remote(stub, policyCalls).lease(askWith(before, ask));
  if (told.state === "absent") {
    dropSnapshot(tenant);
    return undefined;
  }
  const answer = told.state === "granted" ? told : asBefore(before);
  const snapshot = renewed(tenant, answer, { before, asked, ask });
  if (ask.key) rememberKey(snapshot, ask.key.memo, answer.key);
  hold(snapshot);
  return snapshot;
}

function askWith(before: Snapshot | undefined, ask: SnapshotAsk): LeaseAsk {
  return {
    version: before ? { number: before.version, created: before.created } : null,
    maxStalenessMs: ask.maxStalenessMs,
    inCode: ask.inCode,
    ring: before && idsOf(before.ring),
    keyHash: ask.key?.hash ?? null,
    endedAfter: before?.ended.cursor ?? null,
  };
}

function asBefore(before: Snapshot | undefined): LeaseGranted {
  if (!before) throw new Error("the authority sent nothing and nothing is held");
  // Of one in code it is told only once that is so, and of all others nobody asks.
  const { version, created, ring } = before;
  const nothing = { policy: null, sections: null, key: null, ended: null };
  return { state: "granted", version, created, ring, seeded: true, ...nothing };
}

function renewed(
  tenant: string,
  answer: LeaseGranted,
  { before, asked, ask }: { before: Snapshot | undefined; asked: number; ask: SnapshotAsk },
): Snapshot {
  const { version, created, seeded, ring } = answer;
  const placement = ask.inCode ? ask.placement : { ...ask.placement, created };
  const ended = before?.ended ?? new EndedSessions();
  if (answer.ended) ended.learn(answer.ended);
  const current = sameAs(answer, tenant);
  const kept = current ?? (answer.policy === null ? before : fresh(answer, answer.policy, before));
  if (!kept) throw new Error("the authority sent no policy and none is held");
  const leaseMs = kept.policy.document.maxStalenessMs ?? ask.maxStalenessMs;
  const { policy, sections, derived, offers, bytes } = kept;
  const known = keysIn([current, before], derived, asked);
  // Each by its name: every lease makes one of these, and spreading what is there costs several times as much.
  return {
    tenant,
    version,
    created,
    policy,
    sections,
    // The same keys stay the same objects, because imported keys and opened sessions are cached under them.
    ring: before && idsOf(before.ring) === idsOf(ring) ? before.ring : ring,
    seeded,
    leaseMs,
    validUntil: asked + leaseMs,
    renewal: { from: asked + leaseMs * (1 - RENEWED_IN) },
    keys: known.keys,
    asked: known.asked,
    keysHour: known.keysHour,
    derived,
    offers,
    ended,
    bytes,
    placement,
    inCode: ask.inCode,
  };
}

/** Those of the same version, and which of them were asked about in this hour. */
function keysIn(
  known: readonly (Snapshot | undefined)[],
  derived: Snapshot["derived"],
  now: number,
): Pick<Snapshot, "keys" | "asked" | "keysHour"> {
  const keysHour = hourOf(now);
  const same = known.find((one) => one?.derived === derived);
  const asked = same?.keysHour === keysHour ? same.asked : new Set<string>();
  return { keys: same?.keys ?? new Map<string, KeyGrant | null>(), asked, keysHour };
}

/** What a request that asked at the same time got already: keys and views are found and computed once for a version. */
function sameAs({ version, created }: Pick<Snapshot, "version" | "created">, tenant: string): Snapshot | undefined {
  const current = held.get(tenant);
  return current?.version === version && current.created === created ? current : undefined;
}

type Kept = Pick<Snapshot, "policy" | "sections" | "derived" | "offers" | "bytes">;

function fresh({ created, sections: named }: LeaseGranted, policy: Policy, before: Snapshot | undefined): Kept {
  const made = { policy, sections: new Map(named), derived: new Map() };
  if (before?.created === created && offerPart(before) === offerPart(made)) {
    const bytes = before.bytes - weightOf(before.policy) + weightOf(policy);
    return { ...made, offers: before.offers, bytes };
  }
  return { ...made, offers: new Map(), bytes: BASE_BYTES + weightOf(policy) };
}

function weightOf(policy: Policy): number {
  return 2 * JSON.stringify(policy).length;
}

/** What decides which tools, prompts and resources a tenant has, and who sees them; as JSON. Keys, secrets and limits do not. */
function offerPart({ policy, sections }: Pick<Snapshot, "policy" | "sections">): string {
  const { document, suspensions, retired } = policy;
  const suspended = suspensions.filter(({ kind }) => kind === "tool");
  return JSON.stringify([{ ...document, limits: undefined }, suspended, retired, [...sections]]);
}

function rememberKey(snapshot: Snapshot, memo: string, grant: KeyGrant | null): void {
  const { keys, asked } = snapshot;
  if (keys.size >= MAX_KEYS && !keys.has(memo)) {
    const least = leastWorth(keys);
    keys.delete(least);
    asked.delete(least);
  }
  keys.set(memo, grant);
  asked.add(memo);
}

/** Texts that are no keys go first: anybody can make as many of them as they like. */
function leastWorth(keys: ReadonlyMap<string, KeyGrant | null>): string {
  for (const [memo, grant] of keys) if (grant === null) return memo;
  const [oldest = ""] = keys.keys();
  return oldest;
}

function hold(snapshot: Snapshot): void {
  const { bytes, ended, keys } = snapshot;
  const weight = bytes + ended.bytes + keys.size * KEY_BYTES;
  heldBytes += weight - (weights.get(snapshot.tenant) ?? 0);
  weights.set(snapshot.tenant, weight);
  // Deleted first, so that it comes last.
  held.delete(snapshot.tenant);
  held.set(snapshot.tenant, snapshot);
  for (const [tenant] of held) {
    if (heldBytes <= MAX_BYTES || tenant === snapshot.tenant) break;
    dropSnapshot(tenant);
  }
}

/** So many characters of JSON more than before are kept of the tenant, beside its policy. */
export function weighText(tenant: string, characters: number): void {
  const snapshot = held.get(tenant);
  if (snapshot) hold({ ...snapshot, bytes: snapshot.bytes + TEXT_FACTOR * characters });
}

/** What was made of sections that are held no more goes with them. `kept`: as `keptUnder` makes it. */
export function dropOffers(kept: string): void {
  const [tenant = ""] = kept.split("@");
  held.get(tenant)?.offers.clear();
}

export function dropSnapshot(tenant: string): void {
  heldBytes -= weights.get(tenant) ?? 0;
  weights.delete(tenant);
  held.delete(tenant);
}
