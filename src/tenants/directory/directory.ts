// Looks up whether a name or a hostname belongs to a tenant: first in KV, which has each tenant's placement, then in
// the directory shard, which decides. An unknown name, and any hostname, is cached for a moment. A lookup never wakes a
// tenant object. Names in code and cached tenants need no lookup.

import { retryIfIdempotent } from "../cache/retry-if-idempotent.ts";
import { withTimeout } from "../cache/with-timeout.ts";
import { isUnexpired } from "../cache/is-unexpired.ts";
import { getFreshPolicy } from "../cache/policy-cache.ts";
import { directoryOf } from "./directory-stub.ts";
import type { ObjectBindings } from "./namespaces.ts";
import { placementKey, type Placement } from "./placement.ts";

export interface DirectoryEnv extends ObjectBindings {
  /** KV namespace for the bodies of resources. In `wrangler.toml`: `kv_namespaces = [{ binding = "BODIES" }]`. */
  readonly BODIES: KVNamespace;
}

/** How long an isolate may not know a new name or hostname that it looked up just before. */
export const NAME_TTL_MS = 2000;
const MAX_NAMES = 10_000;
/** A slower KV read costs more than asking the directory. */
const KV_TIMEOUT_MS = 1000;

/** Until when a name is unknown. Bound: MAX_NAMES, then all are forgotten; an id has 40 characters at most. */
const unknownNames = new Map<string, number>();

/**
 * The placement of a tenant that has the name, or had it a moment ago; the tenant object knows which. null: ask the
 * directory.
 */
export async function findPlacement({ BODIES }: DirectoryEnv, id: string): Promise<Placement | null> {
  // If KV is down, the directory has the answer.
  return withTimeout(BODIES.get<Placement>(placementKey(id), "json"), KV_TIMEOUT_MS).catch(() => null);
}

export interface NameLookup {
  readonly entry: Placement | null;
  /** The directory was not asked: a moment ago it answered that no tenant has the name. */
  readonly isCached?: boolean;
  /** A tenant of the name is being deleted, so no tenant has it now. */
  readonly isDeleting?: boolean;
}

export async function lookupTenant(env: DirectoryEnv, id: string): Promise<NameLookup> {
  if (isUnexpired(unknownNames.get(id) ?? 0, NAME_TTL_MS, Date.now())) return { entry: null, isCached: true };
  const { entry } = await withTimeout(retryIfIdempotent(() => directoryOf(env, id).lookup(id)));
  if (entry?.state === "active") {
    unknownNames.delete(id);
    return { entry };
  }
  if (unknownNames.size >= MAX_NAMES) unknownNames.clear();
  unknownNames.set(id, Date.now() + NAME_TTL_MS);
  return { entry: null, isDeleting: entry !== null };
}

/** Like `lookupTenant`, but asks KV first. KV's answer may belong to a tenant that has ended; the lease decides. */
export async function lookupPlacedTenant(env: DirectoryEnv, id: string): Promise<NameLookup> {
  const entry = unknownNames.has(id) ? null : await findPlacement(env, id);
  return entry ? { entry } : lookupTenant(env, id);
}

/** Bound: MAX_NAMES, then all are forgotten. */
const hostnames = new Map<string, { readonly until: number; readonly tenant: string | null }>();

/** The id of the tenant that owns a custom hostname, or null. Either answer is cached for a moment. */
export async function tenantOfHostname(env: DirectoryEnv, hostname: string): Promise<string | null> {
  const cached = hostnames.get(hostname);
  if (cached && (isUnexpired(cached.until, NAME_TTL_MS, Date.now()) || isLeasedTo(cached.tenant, hostname)))
    return cached.tenant;
  const lookup = retryIfIdempotent(() => directoryOf(env, hostname).lookupHostname(hostname));
  const tenant = await withTimeout(lookup);
  if (hostnames.size >= MAX_NAMES) hostnames.clear();
  hostnames.set(hostname, { until: Date.now() + NAME_TTL_MS, tenant });
  return tenant;
}

/** A move of a hostname to another tenant waits until no lease names it any more. */
function isLeasedTo(tenant: string | null, hostname: string): boolean {
  return tenant !== null && getFreshPolicy(tenant)?.policy.document.hostnames?.includes(hostname) === true;
}

/** Forgets a tenant's id or a hostname that this isolate has just added or removed. */
export function forgetName(name: string): void {
  unknownNames.delete(name);
  hostnames.delete(name);
}
