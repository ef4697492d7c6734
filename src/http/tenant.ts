// Owns finding out which tenant a request is for, and holding that tenant's snapshot: by path, or by the hostname that a
// tenant has to itself. Unknown names wake nothing.

import { hashToken, isKey, keptHash } from "../auth/api-key.ts";
import type { NewResource } from "../calls/resource-store.ts";
import { openStore } from "../content/store/open-store.ts";
import { contentTables } from "../content/store/content-tables.ts";
import { authorityTables } from "../tenants/authority/authority-tables.ts";
import { isTenantId, managedTenant, type Tenant } from "../tenants/document/tenant-definition.ts";
import { lookUp, tenantOfHostname, type DirectoryEnv } from "../tenants/directory/directory.ts";
import { isOverloaded, keepCopy, staleSnapshot } from "../tenants/isolate/outage.ts";
import {
  askSnapshot,
  dropSnapshot,
  lastSnapshot,
  validSnapshot,
  type Snapshot,
  type SnapshotAsk,
} from "../tenants/isolate/snapshot.ts";
import { stubOf } from "../tenants/directory/placement.ts";
import { remote, type TenantStub } from "../tenants/authority/tables.ts";

export interface TenantEnv extends DirectoryEnv {
  readonly TENANTS: DurableObjectNamespace;
  readonly BODIES: KVNamespace;
  /** The domain under which each tenant has a hostname, such as `mcp.example.com`; unset: none do. */
  readonly TENANT_HOST?: string;
}

export type Tenants = ReadonlyMap<string, Tenant<NewResource>>;

/** undefined: no such tenant. `anyPrivate`: whether an unknown name must look like a protected one. */
export type Found =
  | { readonly tenant: Tenant<NewResource> }
  | { readonly tenant: undefined; readonly anyPrivate: boolean };

export async function findTenant(env: TenantEnv, tenants: Tenants, id: string): Promise<Found> {
  const inCode = tenants.get(id);
  if (inCode) return { tenant: inCode };
  if (!isTenantId(id)) return { tenant: undefined, anyPrivate: false };
  const last = lastSnapshot(id);
  if (last) return { tenant: managedTenant(id, last.placement) };
  const { entry, anyPrivate } = await lookUp(env, id);
  if (entry) return { tenant: managedTenant(id, entry) };
  // The directory knows nothing of those in code.
  return { tenant: undefined, anyPrivate: anyPrivate || [...tenants.values()].some(({ base }) => base.mode === "key") };
}

/** The id of the tenant whose hostname this is; null: a hostname of the Worker itself. */
export async function tenantOfHost(env: TenantEnv, host: string | null): Promise<string | null> {
  if (!env.TENANT_HOST || host === null) return null;
  // A name may end in the dot of the root.
  const hostname = host.toLowerCase().replace(/\.?(?::\d+)?$/, "");
  if (hostname === env.TENANT_HOST) return null;
  const suffix = `.${env.TENANT_HOST}`;
  if (hostname.endsWith(suffix)) return hostname.slice(0, -suffix.length);
  return tenantOfHostname(env, hostname);
}

export type WaitUntil = (work: Promise<unknown>) => void;

interface Around {
  readonly env: TenantEnv;
  readonly waitUntil: WaitUntil;
}

/**
 * Without a call while the lease holds and the credential is known; with exactly one otherwise. `revision`: of the policy,
 * at least.
 */
export function holdSnapshot(
  around: Around,
  tenant: Tenant<NewResource>,
  token: string | null,
  revision = 0,
): Snapshot | Promise<Snapshot | undefined> {
  const held = validSnapshot(tenant.id);
  if (held && held.version >= revision && (token === null || held.keys.has(token) || !isKey(token))) return held;
  return takeSnapshot(around, tenant, token);
}

interface Asking {
  readonly ask: SnapshotAsk;
  readonly env: TenantEnv;
  readonly waitUntil: WaitUntil;
}

async function askOrStale(
  id: string,
  stub: TenantStub,
  { ask, env, waitUntil }: Asking,
): Promise<Snapshot | undefined> {
  try {
    const snapshot = await askSnapshot(id, stub, ask);
    const copying = snapshot && keepCopy(snapshot, env.BODIES);
    if (copying) waitUntil(copying);
    return snapshot;
  } catch (error) {
    const served = isOverloaded(error) ? undefined : await staleSnapshot(id, env.BODIES);
    if (!served) throw error;
    return served;
  }
}

async function takeSnapshot(
  { env, waitUntil }: Around,
  tenant: Tenant<NewResource>,
  token: string | null,
): Promise<Snapshot | undefined> {
  const { id, definition, maxStalenessMs, placement } = tenant;
  const key = token !== null && isKey(token) ? { token, hash: keptHash(token) ?? (await hashToken(token)) } : null;
  const ask = { maxStalenessMs, inCode: definition !== undefined, placement, key };
  const stub = stubOf(env, id, placement);
  const snapshot = await askOrStale(id, stub, { ask, env, waitUntil });
  if (!snapshot || snapshot.seeded || !definition) return snapshot;
  // The first lease of a tenant in code also stores its first content.
  dropSnapshot(id);
  const store = openStore(id, remote(stub, contentTables), env.BODIES);
  for (const resource of definition.seed?.() ?? []) await store.write(resource, { ifAbsent: true });
  await remote(stub, authorityTables).markSeeded();
  return askSnapshot(id, stub, ask);
}
