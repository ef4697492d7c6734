// Owns what this isolate holds of each tenant, and for how long: the serving half of the lease rule, within a budget of
// memory. No request awaits another's promise: two that find a lease ended both ask, and the later answer is held.

import type { KeyRing } from "../../auth/seal.ts";
import { lasts } from "./lasting.ts";
import { EndedSessions } from "./ended-sessions.ts";
import type { KeyGrant, LeaseAnswer, LeaseGranted, Policy } from "../authority/policy-records.ts";
import { leaseTables } from "../authority/lease-tables.ts";
import type { Placement } from "../directory/placement.ts";
import { remote } from "../authority/tables.ts";
import type { TenantStub } from "../authority/incarnation.ts";

/** Milliseconds that a lease lasts from the moment it was asked for, unless the tenant says otherwise. */
export const DEFAULT_MAX_STALENESS_MS = 5000;
const MAX_BYTES = 32 * 1024 * 1024;
/** What a snapshot costs besides its policy: views, keys, the ring. */
const BASE_BYTES = 16 * 1024;
const MAX_KEYS = 1000;
/** What is made of a section and kept in `derived` costs several times the section's own bytes. */
const SECTION_FACTOR = 4;

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
  /** What the authority said of keys, by `memoOf` the credential; null: no such key. Begins anew with each version. */
  readonly keys: Map<string, KeyGrant | null>;
  /** Whatever is computed from this version of the policy, under a key that whoever computes it chooses. */
  readonly derived: Map<unknown, unknown>;
  /** Goes on from version to version. */
  readonly ended: EndedSessions;
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

/** By tenant, the least recently leased first. */
const held = new Map<string, Snapshot>();
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

/** Takes a new lease. undefined: the authority says that there is no such tenant. Throws when it cannot be reached. */
export async function askSnapshot(tenant: string, stub: TenantStub, ask: SnapshotAsk): Promise<Snapshot | undefined> {
  const asked = Date.now();
  const before = held.get(tenant);
  const answer: LeaseAnswer = await remote(stub, leaseTables).lease({
    version: before ? { number: before.version, created: before.created } : null,
    maxStalenessMs: ask.maxStalenessMs,
    inCode: ask.inCode,
    keyHash: ask.key?.hash ?? null,
    endedAfter: before?.ended.cursor ?? null,
  });
  if (answer.state === "absent") {
    dropSnapshot(tenant);
    return undefined;
  }
  const snapshot = renewed(tenant, answer, { before, asked, ask });
  if (ask.key) rememberKey(snapshot, ask.key.memo, answer.key);
  hold(snapshot);
  return snapshot;
}

function renewed(
  tenant: string,
  answer: LeaseGranted,
  { before, asked, ask }: { before: Snapshot | undefined; asked: number; ask: SnapshotAsk },
): Snapshot {
  // The same keys stay the same objects, because imported keys and opened sessions are cached under them.
  const ring = before && sameKeys(before.ring, answer.ring) ? before.ring : answer.ring;
  const { version, created, seeded } = answer;
  const ended = before?.ended ?? new EndedSessions();
  if (answer.ended) ended.learn(answer.ended);
  const kept = answer.policy === null ? before : (sameAs(answer, tenant) ?? fresh(answer, answer.policy, ended));
  if (!kept) throw new Error("the authority sent no policy and none is held");
  const { policy, sections, keys, derived, bytes } = kept;
  const leaseMs = policy.document.maxStalenessMs ?? ask.maxStalenessMs;
  const validUntil = asked + leaseMs;
  const { inCode } = ask;
  // What KV said of where it is may be of another tenant of the name.
  const placement = inCode ? ask.placement : { ...ask.placement, created };
  return {
    tenant,
    version,
    created,
    policy,
    sections,
    ring,
    seeded,
    validUntil,
    leaseMs,
    keys,
    derived,
    ended,
    bytes,
    placement,
    inCode,
  };
}

/** What a request that asked at the same time got already: keys and views are found and computed once for a version. */
function sameAs({ version, created }: LeaseGranted, tenant: string): Snapshot | undefined {
  const current = held.get(tenant);
  return current?.version === version && current.created === created ? current : undefined;
}

type Kept = Pick<Snapshot, "policy" | "sections" | "keys" | "derived" | "bytes">;

function fresh({ sections }: LeaseGranted, policy: Policy, ended: EndedSessions): Kept {
  const bytes = BASE_BYTES + 2 * JSON.stringify(policy).length + ended.bytes;
  return { policy, sections: new Map(sections), keys: new Map(), derived: new Map(), bytes };
}

function sameKeys(a: KeyRing, b: KeyRing): boolean {
  return a.length === b.length && a.every((key, at) => key.id === b[at]?.id);
}

function rememberKey(snapshot: Snapshot, memo: string, grant: KeyGrant | null): void {
  const { keys } = snapshot;
  if (keys.size >= MAX_KEYS && !keys.has(memo)) keys.delete(leastWorth(keys));
  keys.set(memo, grant);
}

/** Texts that are no keys go first: anybody can make as many of them as they like. */
function leastWorth(keys: ReadonlyMap<string, KeyGrant | null>): string {
  for (const [memo, grant] of keys) if (grant === null) return memo;
  const [oldest = ""] = keys.keys();
  return oldest;
}

function hold(snapshot: Snapshot): void {
  dropSnapshot(snapshot.tenant);
  held.set(snapshot.tenant, snapshot);
  heldBytes += snapshot.bytes;
  for (const [tenant] of held) {
    if (heldBytes <= MAX_BYTES || tenant === snapshot.tenant) break;
    dropSnapshot(tenant);
  }
}

/**
 * What is made of these sections is kept in the snapshot's `derived` from now on, and counts towards the budget: each
 * hash once for a version.
 */
export function weighSections(tenant: string, sections: Iterable<readonly [hash: string, bytes: number]>): void {
  const snapshot = held.get(tenant);
  if (!snapshot) return;
  const weighed = (snapshot.derived.get(weighSections) as Set<string> | undefined) ?? new Set<string>();
  snapshot.derived.set(weighSections, weighed);
  let bytes = 0;
  for (const [hash, size] of sections) {
    if (!weighed.has(hash)) bytes += SECTION_FACTOR * size;
    weighed.add(hash);
  }
  if (bytes > 0) hold({ ...snapshot, bytes: snapshot.bytes + bytes });
}

/** The same for what is kept there that has no hash: so many characters of JSON more than before. */
export function weighText(tenant: string, characters: number): void {
  const snapshot = held.get(tenant);
  if (snapshot) hold({ ...snapshot, bytes: snapshot.bytes + SECTION_FACTOR * characters });
}

export function dropSnapshot(tenant: string): void {
  const known = held.get(tenant);
  if (!known) return;
  held.delete(tenant);
  heldBytes -= known.bytes;
}
