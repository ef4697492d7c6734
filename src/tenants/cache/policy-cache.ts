// The policy of each tenant that this isolate has cached, and how long each may be used. This is the serving half of
// the lease rule; `object/lease-tracker.ts` is the other half. The cache has a memory budget. No request awaits another
// request's promise: if two ask at once, the later answer is cached.

import { keyIdsOf, type KeyRing } from "../../auth/seal.ts";
import { isUnexpired } from "./is-unexpired.ts";
import { EndedSessions } from "./ended-sessions.ts";
import type { KeyGrant, LeaseResponse, LeaseRequest, GrantedLease, Policy } from "../object/policy-records.ts";
import type { Placement } from "../directory/placement.ts";
import { policyRpc } from "../object/policy-rpc.ts";
import { createRpcClient } from "../object/store.ts";
import type { TenantStub } from "../object/tenant-uid.ts";

/** How long a lease lasts from the moment it is requested, in milliseconds, unless the tenant sets `maxStalenessMs`. */
export const DEFAULT_MAX_STALENESS_MS = 5000;
const MAX_BYTES = 32 * 1024 * 1024;
/** The cost of a cached policy besides the policy itself: views and the key ring. */
const BASE_BYTES = 16 * 1024;
const MAX_KEYS = 1000;
/** The cost of a key and its grant. */
const KEY_BYTES = 512;
const HOUR_MS = 3_600_000;

/** The hour of the clock; checks of keys count for one hour. */
function hourOf(time: number): number {
  return Math.floor(time / HOUR_MS);
}
/** Objects made from JSON text cost several times its characters. */
const TEXT_FACTOR = 4;

export interface CachedPolicy {
  readonly tenant: string;
  readonly version: number;
  /** When the tenant was created. Another tenant of the same name counts its versions from 1 again. */
  readonly created: string;
  readonly policy: Policy;
  /** Hashes of the sections, which are leased beside the policy, by name. */
  readonly sections: ReadonlyMap<string, string>;
  readonly ring: KeyRing;
  readonly seeded: boolean;
  /**
   * Milliseconds since the epoch: when the lease was requested, plus the tenant's staleness. The tenant object counts
   * from when it answers, which is later. So it never takes a lease for ended that an isolate still serves from.
   */
  readonly validUntil: number;
  readonly leaseMs: number;
  /**
   * From this time on, the next caller requests a new lease, although this one still holds; milliseconds since the
   * epoch. Infinity: a request is under way. Counts the tenant's own lease, even if another one ends sooner.
   */
  readonly renewal: { from: number };
  /**
   * The tenant object's answers about keys, by `cacheKeyOf` the credential; null: no such key. Starts empty with each
   * version.
   */
  readonly keys: Map<string, KeyGrant | null>;
  /**
   * The keys that were asked about in this hour of the clock. The tenant object records a key's use when it is asked.
   */
  readonly checkedKeys: Set<string>;
  /** The hour since the epoch. */
  readonly keysHour: number;
  /** Values that are computed from this version of the policy. The code that computes one chooses its key. */
  readonly memo: Map<unknown, unknown>;
  /** Values that depend on `catalogFingerprint` only. A change of keys, secrets or limits keeps them. */
  readonly catalogMemo: Map<unknown, unknown>;
  /** Continues from version to version. */
  readonly endedSessions: EndedSessions;
  /** Without keys and ended sessions. */
  readonly bytes: number;
  /** Where the tenant object is, so that the directory need not be asked. */
  readonly placement: Placement;
  /** Whether the lease was requested for a tenant in code. The directory may not know such a tenant. */
  readonly inCode: boolean;
}

export interface PolicyRequest {
  readonly placement: Placement;
  readonly maxStalenessMs: number;
  readonly inCode: boolean;
  /** A key that this isolate does not know yet: its cache key and its hash. */
  readonly key: { readonly cacheKey: string; readonly hash: string } | null;
}

/** By tenant, the least recently leased first. Bound: MAX_BYTES; each entry costs BASE_BYTES at least. */
const cache = new Map<string, CachedPolicy>();
/**
 * The cost of each entry when it was cached: keys and ended sessions carry over between leases and grow. Bound: as
 * `cache`.
 */
const costs = new Map<string, number>();
let cachedBytes = 0;

/** The cached policy, even if its lease has ended. */
export function peekPolicy(tenant: string): CachedPolicy | undefined {
  return cache.get(tenant);
}

/** The cached policy, if its lease has not ended. */
export function getFreshPolicy(tenant: string): CachedPolicy | undefined {
  const policy = cache.get(tenant);
  return policy !== undefined && isLeased(policy) ? policy : undefined;
}

export function isLeased({ validUntil, leaseMs }: Pick<CachedPolicy, "validUntil" | "leaseMs">): boolean {
  return isUnexpired(validUntil, leaseMs, Date.now());
}

/** The last part of a lease, in which the next one is requested while this one still serves. */
const REFRESH_SHARE = 0.3;

/** Whether the next caller should request a new lease, although this one still holds. */
export function shouldRefresh({ renewal }: CachedPolicy): boolean {
  return Date.now() >= renewal.from;
}

/**
 * Requests a lease. undefined: the tenant object says that there is no such tenant. Throws if the object cannot be
 * reached.
 */
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
  const policy = createCachedPolicy(tenant, lease, { previous, requestedAt, request });
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
  if (!previous) throw new Error("the tenant object sent no policy, and none is cached");
  // For a tenant in code, "unchanged" is only answered once it is seeded. For other tenants the value is not read.
  const { version, created, ring } = previous;
  const nothing = { policy: null, sections: null, key: null, endedSessions: null };
  return { state: "granted", version, created, ring, seeded: true, ...nothing };
}

function createCachedPolicy(
  tenant: string,
  lease: GrantedLease,
  {
    previous,
    requestedAt,
    request,
  }: { previous: CachedPolicy | undefined; requestedAt: number; request: PolicyRequest },
): CachedPolicy {
  const { version, created, seeded, ring } = lease;
  const placement = request.inCode ? request.placement : { ...request.placement, created };
  const endedSessions = previous?.endedSessions ?? new EndedSessions();
  if (lease.endedSessions) endedSessions.merge(lease.endedSessions);
  const current = findSameVersion(lease, tenant);
  const part = current ?? (lease.policy === null ? previous : createPolicyPart(lease, lease.policy, previous));
  if (!part) throw new Error("the tenant object sent no policy, and none is cached");
  const leaseMs = part.policy.document.maxStalenessMs ?? request.maxStalenessMs;
  const { policy, sections, memo, catalogMemo, bytes } = part;
  const keyCache = keyCacheOf([current, previous], memo, requestedAt);
  // Members are listed one by one: this runs for every lease, and an object spread costs several times as much.
  return {
    tenant,
    version,
    created,
    policy,
    sections,
    // Equal keys stay the same objects, because imported keys and unsealed sessions are cached under them.
    ring: previous && keyIdsOf(previous.ring) === keyIdsOf(ring) ? previous.ring : ring,
    seeded,
    leaseMs,
    validUntil: requestedAt + leaseMs,
    renewal: { from: requestedAt + leaseMs * (1 - REFRESH_SHARE) },
    keys: keyCache.keys,
    checkedKeys: keyCache.checkedKeys,
    keysHour: keyCache.keysHour,
    memo,
    catalogMemo,
    endedSessions,
    bytes,
    placement,
    inCode: request.inCode,
  };
}

/** The key caches of the same version, and the keys that were checked in this hour. */
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

/** The entry of a concurrent request for the same version. So keys and views are computed once for each version. */
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

/**
 * The parts of a policy that decide which tools, prompts and resources a tenant has and who sees them, as JSON. Keys,
 * secrets and limits are not among them.
 */
function catalogFingerprint({ policy, sections }: Pick<CachedPolicy, "policy" | "sections">): string {
  const { document, suspensions, deprecatedNames } = policy;
  const suspended = suspensions.filter(({ kind }) => kind === "tool");
  return JSON.stringify([{ ...document, limits: undefined }, suspended, deprecatedNames, [...sections]]);
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

/** Evicts credentials that are not keys first: anyone can make as many of them as they like. */
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
  // Deleted first, so that the entry moves to the end.
  cache.delete(policy.tenant);
  cache.set(policy.tenant, policy);
  for (const [tenant] of cache) {
    if (cachedBytes <= MAX_BYTES || tenant === policy.tenant) break;
    evictPolicy(tenant);
  }
}

/** Adds to the cost of the tenant: this many more characters of JSON are kept beside its policy. */
export function addTextCost(tenant: string, characters: number): void {
  const policy = cache.get(tenant);
  if (policy) cachePolicy({ ...policy, bytes: policy.bytes + TEXT_FACTOR * characters });
}

/** Drops values that were computed from evicted sections. `storageKey`: as `storageKey()` in tenant-uid.ts makes it. */
export function clearCatalogMemo(storageKey: string): void {
  const [tenant = ""] = storageKey.split("@");
  cache.get(tenant)?.catalogMemo.clear();
}

export function evictPolicy(tenant: string): void {
  cachedBytes -= costs.get(tenant) ?? 0;
  costs.delete(tenant);
  cache.delete(tenant);
}
