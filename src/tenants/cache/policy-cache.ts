// Owns what this isolate holds of each tenant, and for how long: the serving half of the lease rule, within a budget of
// memory. No request awaits another's promise: where two ask at once, the later answer is held.

import { keyIdsOf, type KeyRing } from "../../auth/seal.ts";
import { isUnexpired } from "./is-unexpired.ts";
import { EndedSessions } from "./ended-sessions.ts";
import type { KeyGrant, LeaseResponse, LeaseRequest, GrantedLease, Policy } from "../object/policy-records.ts";
import type { Placement } from "../directory/placement.ts";
import { policyRpc } from "../object/policy-rpc.ts";
import { createRpcClient } from "../object/store.ts";
import type { TenantStub } from "../object/tenant-uid.ts";

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

export interface CachedPolicy {
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
  readonly checkedKeys: Set<string>;
  /** The hour, from the epoch. */
  readonly keysHour: number;
  /** Whatever is computed from this version of the policy, under a key that whoever computes it chooses. */
  readonly memo: Map<unknown, unknown>;
  /** The same for what is computed from `offerPart` alone: a change of keys, secrets or limits leaves it as it is. */
  readonly catalogMemo: Map<unknown, unknown>;
  /** Goes on from version to version. */
  readonly endedSessions: EndedSessions;
  /** Without its keys and ended sessions. */
  readonly bytes: number;
  /** Where its authority is: whoever holds this need not ask the directory. */
  readonly placement: Placement;
  /** Whether it was asked for as a tenant that code declares: then the directory may know nothing of it. */
  readonly inCode: boolean;
}

export interface PolicyRequest {
  readonly placement: Placement;
  readonly maxStalenessMs: number;
  readonly inCode: boolean;
  /** A key that this isolate does not know yet: the text under which to remember it, and its hash. */
  readonly key: { readonly cacheKey: string; readonly hash: string } | null;
}

/** By tenant, the least recently leased first. Bound: MAX_BYTES, as BASE_BYTES each at least. */
const cache = new Map<string, CachedPolicy>();
/** What each weighed when it was held: keys and ended sessions go on from lease to lease, and grow. Bound: as `held`. */
const costs = new Map<string, number>();
let cachedBytes = 0;

/** The snapshot from the last lease, even if that has ended. */
export function peekPolicy(tenant: string): CachedPolicy | undefined {
  return cache.get(tenant);
}

/** The snapshot while its lease lasts. */
export function getFreshPolicy(tenant: string): CachedPolicy | undefined {
  const policy = cache.get(tenant);
  return policy !== undefined && isLeased(policy) ? policy : undefined;
}

/** Whether its lease lasts. */
export function isLeased({ validUntil, leaseMs }: Pick<CachedPolicy, "validUntil" | "leaseMs">): boolean {
  return isUnexpired(validUntil, leaseMs, Date.now());
}

/** Of a lease, so much at its end is for taking the next one while this one serves. */
const REFRESH_SHARE = 0.3;

/** Whether who comes now should see to the next lease, though this one holds. */
export function shouldRefresh({ renewal }: CachedPolicy): boolean {
  return Date.now() >= renewal.from;
}

/** Takes a new lease. undefined: the authority says that there is no such tenant. Throws when it cannot be reached. */
export async function requestLease(
  tenant: string,
  stub: TenantStub,
  request: PolicyRequest,
): Promise<CachedPolicy | undefined> {
  const requestedAt = Date.now();
  const previous = cache.get(tenant);
  const response: LeaseResponse = await createRpcClient(stub, policyRpc).lease(toLeaseRequest(previous, request));
  if (response.state === "absent") {
    evictPolicy(tenant);
    return undefined;
  }
  const lease = response.state === "granted" ? response : unchangedLease(previous);
  const policy = createCachedPolicy(tenant, lease, { previous, asked: requestedAt, request });
  if (request.key) cacheKeyGrant(policy, request.key.cacheKey, lease.key);
  cachePolicy(policy);
  return policy;
}

function toLeaseRequest(previous: CachedPolicy | undefined, request: PolicyRequest): LeaseRequest {
  return {
    version: previous ? { number: previous.version, created: previous.created } : null,
    maxStalenessMs: request.maxStalenessMs,
    inCode: request.inCode,
    ring: previous && keyIdsOf(previous.ring),
    keyHash: request.key?.hash ?? null,
    endedAfter: previous?.endedSessions.cursor ?? null,
  };
}

function unchangedLease(previous: CachedPolicy | undefined): GrantedLease {
  if (!previous) throw new Error("the authority sent nothing and nothing is held");
  // Of one in code it is told only once that is so, and of all others nobody asks.
  const { version, created, ring } = previous;
  const nothing = { policy: null, sections: null, key: null, endedSessions: null };
  return { state: "granted", version, created, ring, seeded: true, ...nothing };
}

function createCachedPolicy(
  tenant: string,
  lease: GrantedLease,
  { previous, asked, request }: { previous: CachedPolicy | undefined; asked: number; request: PolicyRequest },
): CachedPolicy {
  const { version, created, seeded, ring } = lease;
  const placement = request.inCode ? request.placement : { ...request.placement, created };
  const endedSessions = previous?.endedSessions ?? new EndedSessions();
  if (lease.endedSessions) endedSessions.merge(lease.endedSessions);
  const current = findSameVersion(lease, tenant);
  const part = current ?? (lease.policy === null ? previous : createPolicyPart(lease, lease.policy, previous));
  if (!part) throw new Error("the authority sent no policy and none is held");
  const leaseMs = part.policy.document.maxStalenessMs ?? request.maxStalenessMs;
  const { policy, sections, memo: derived, catalogMemo: offers, bytes } = part;
  const keyCache = keyCacheOf([current, previous], derived, asked);
  // Each by its name: every lease makes one of these, and spreading what is there costs several times as much.
  return {
    tenant,
    version,
    created,
    policy,
    sections,
    // The same keys stay the same objects, because imported keys and opened sessions are cached under them.
    ring: previous && keyIdsOf(previous.ring) === keyIdsOf(ring) ? previous.ring : ring,
    seeded,
    leaseMs,
    validUntil: asked + leaseMs,
    renewal: { from: asked + leaseMs * (1 - REFRESH_SHARE) },
    keys: keyCache.keys,
    checkedKeys: keyCache.checkedKeys,
    keysHour: keyCache.keysHour,
    memo: derived,
    catalogMemo: offers,
    endedSessions,
    bytes,
    placement,
    inCode: request.inCode,
  };
}

/** Those of the same version, and which of them were asked about in this hour. */
function keyCacheOf(
  candidates: readonly (CachedPolicy | undefined)[],
  memo: CachedPolicy["memo"],
  now: number,
): Pick<CachedPolicy, "keys" | "checkedKeys" | "keysHour"> {
  const keysHour = hourOf(now);
  const same = candidates.find((one) => one?.memo === memo);
  const checkedKeys = same?.keysHour === keysHour ? same.checkedKeys : new Set<string>();
  return { keys: same?.keys ?? new Map<string, KeyGrant | null>(), checkedKeys, keysHour };
}

/** What a request that asked at the same time got already: keys and views are found and computed once for a version. */
function findSameVersion(
  { version, created }: Pick<CachedPolicy, "version" | "created">,
  tenant: string,
): CachedPolicy | undefined {
  const current = cache.get(tenant);
  return current?.version === version && current.created === created ? current : undefined;
}

type PolicyPart = Pick<CachedPolicy, "policy" | "sections" | "memo" | "catalogMemo" | "bytes">;

function createPolicyPart(
  { created, sections: named }: GrantedLease,
  policy: Policy,
  previous: CachedPolicy | undefined,
): PolicyPart {
  const part = { policy, sections: new Map(named), memo: new Map() };
  if (previous?.created === created && catalogFingerprint(previous) === catalogFingerprint(part)) {
    const bytes = previous.bytes - costOf(previous.policy) + costOf(policy);
    return { ...part, catalogMemo: previous.catalogMemo, bytes };
  }
  return { ...part, catalogMemo: new Map(), bytes: BASE_BYTES + costOf(policy) };
}

function costOf(policy: Policy): number {
  return 2 * JSON.stringify(policy).length;
}

/** What decides which tools, prompts and resources a tenant has, and who sees them; as JSON. Keys, secrets and limits do not. */
function catalogFingerprint({ policy, sections }: Pick<CachedPolicy, "policy" | "sections">): string {
  const { document, suspensions, retired } = policy;
  const suspended = suspensions.filter(({ kind }) => kind === "tool");
  return JSON.stringify([{ ...document, limits: undefined }, suspended, retired, [...sections]]);
}

function cacheKeyGrant(policy: CachedPolicy, cacheKey: string, grant: KeyGrant | null): void {
  const { keys, checkedKeys } = policy;
  if (keys.size >= MAX_KEYS && !keys.has(cacheKey)) {
    const evicted = evictionCandidate(keys);
    keys.delete(evicted);
    checkedKeys.delete(evicted);
  }
  keys.set(cacheKey, grant);
  checkedKeys.add(cacheKey);
}

/** Texts that are no keys go first: anybody can make as many of them as they like. */
function evictionCandidate(keys: ReadonlyMap<string, KeyGrant | null>): string {
  for (const [cacheKey, grant] of keys) if (grant === null) return cacheKey;
  const [oldest = ""] = keys.keys();
  return oldest;
}

function cachePolicy(policy: CachedPolicy): void {
  const { bytes, endedSessions, keys } = policy;
  const cost = bytes + endedSessions.bytes + keys.size * KEY_BYTES;
  cachedBytes += cost - (costs.get(policy.tenant) ?? 0);
  costs.set(policy.tenant, cost);
  // Deleted first, so that it comes last.
  cache.delete(policy.tenant);
  cache.set(policy.tenant, policy);
  for (const [tenant] of cache) {
    if (cachedBytes <= MAX_BYTES || tenant === policy.tenant) break;
    evictPolicy(tenant);
  }
}

/** So many characters of JSON more than before are kept of the tenant, beside its policy. */
export function addTextCost(tenant: string, characters: number): void {
  const policy = cache.get(tenant);
  if (policy) cachePolicy({ ...policy, bytes: policy.bytes + TEXT_FACTOR * characters });
}

/** What was made of sections that are held no more goes with them. `kept`: as `keptUnder` makes it. */
export function clearCatalogMemo(storageKey: string): void {
  const [tenant = ""] = storageKey.split("@");
  cache.get(tenant)?.catalogMemo.clear();
}

export function evictPolicy(tenant: string): void {
  cachedBytes -= costs.get(tenant) ?? 0;
  costs.delete(tenant);
  cache.delete(tenant);
}
