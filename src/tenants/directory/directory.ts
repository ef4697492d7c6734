// Owns asking whether a name or a hostname is a tenant's: KV, which has where each tenant was placed, then the shard of the
// directory that decides. An unknown name, and any hostname, is remembered for a moment. Refuses to wake a tenant. Nobody need
// ask about names in code, and about tenants that this isolate holds.

import { askedAgain } from "../isolate/asked-again.ts";
import { inTime } from "../isolate/in-time.ts";
import { lasts } from "../isolate/lasting.ts";
import { validSnapshot } from "../isolate/snapshot.ts";
import { directoryOf } from "./directory-stub.ts";
import type { ObjectBindings } from "./namespaces.ts";
import { placementKey, type Placement } from "./placement.ts";

export interface DirectoryEnv extends ObjectBindings {
  readonly BODIES: KVNamespace;
}

/** Who gets a name, or a hostname, just after an isolate was asked for it may be unknown to that isolate for this long. */
export const NAME_FOR_MS = 2000;
const MAX_UNKNOWN = 10_000;
/** KV that takes longer costs more than asking the directory. */
const PLACED_WITHIN_MS = 1000;

/** Until when a name is unknown. Bound: MAX_UNKNOWN, then all are forgotten; an id has 40 characters at most. */
const unknown = new Map<string, number>();

/** Where a tenant is that has the name, or had it a moment ago: its own object says which. null: ask the directory. */
export async function findPlacement({ BODIES }: DirectoryEnv, id: string): Promise<Placement | null> {
  // Where KV is away, the directory knows it, too.
  return inTime(BODIES.get<Placement>(placementKey(id), "json"), PLACED_WITHIN_MS).catch(() => null);
}

export interface NameLookup {
  readonly entry: Placement | null;
  /** The directory was not asked: it said a moment ago that nobody has the name. */
  readonly isRemembered?: boolean;
  /** A tenant of the name is being deleted, so nobody has it now. */
  readonly isEnding?: boolean;
}

export async function lookUp(env: DirectoryEnv, id: string): Promise<NameLookup> {
  if (lasts(unknown.get(id) ?? 0, NAME_FOR_MS, Date.now())) return { entry: null, isRemembered: true };
  const { entry } = await inTime(askedAgain(() => directoryOf(env, id).lookup(id)));
  if (entry?.state === "active") {
    unknown.delete(id);
    return { entry };
  }
  if (unknown.size >= MAX_UNKNOWN) unknown.clear();
  unknown.set(id, Date.now() + NAME_FOR_MS);
  return { entry: null, isEnding: entry !== null };
}

/** The same, and KV is asked before. What it says may be of a tenant that has ended: the lease decides. */
export async function lookUpPlaced(env: DirectoryEnv, id: string): Promise<NameLookup> {
  const entry = unknown.has(id) ? null : await findPlacement(env, id);
  return entry ? { entry } : lookUp(env, id);
}

/** Bound: MAX_UNKNOWN, then all are forgotten. */
const hostnames = new Map<string, { readonly until: number; readonly tenant: string | null }>();

/** The id of the tenant that a custom hostname belongs to, or null; either is remembered for a moment. */
export async function tenantOfHostname(env: DirectoryEnv, hostname: string): Promise<string | null> {
  const known = hostnames.get(hostname);
  if (known && (lasts(known.until, NAME_FOR_MS, Date.now()) || isLeasedTo(known.tenant, hostname))) return known.tenant;
  const asking = askedAgain(() => directoryOf(env, hostname).hostname(hostname));
  const tenant = await inTime(asking);
  if (hostnames.size >= MAX_UNKNOWN) hostnames.clear();
  hostnames.set(hostname, { until: Date.now() + NAME_FOR_MS, tenant });
  return tenant;
}

/** Who takes a hostname from a tenant waits until no lease names it any more. */
function isLeasedTo(tenant: string | null, hostname: string): boolean {
  return tenant !== null && validSnapshot(tenant)?.policy.document.hostnames?.includes(hostname) === true;
}

/** Forgets what this isolate remembers of a tenant's id or a hostname that it has just added or removed. */
export function forgetName(name: string): void {
  unknown.delete(name);
  hostnames.delete(name);
}
