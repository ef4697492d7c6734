// Owns finding out which tenant a request is for: by path, or by the hostname that a tenant has to itself. Unknown
// names wake nothing.

import { hostnameOf } from "../auth/origin.ts";
import type { NewResource } from "../calls/resource-store.ts";
import { isTenantId, managedTenant, type Tenant } from "../tenants/document/tenant-definition.ts";
import { lookUp, tenantOfHostname, type DirectoryEnv } from "../tenants/directory/directory.ts";
import { idInHostname, isWorkersOwn, type HostVars } from "../tenants/directory/worker-hosts.ts";
import { lastSnapshot } from "../tenants/isolate/snapshot.ts";

export interface HostEnv extends DirectoryEnv, HostVars {}

/** undefined: no such tenant. `anyPrivate`: whether an unknown name must look like a protected one. */
export type FoundTenant =
  | { readonly tenant: Tenant<NewResource> }
  | { readonly tenant: undefined; readonly anyPrivate: boolean };

export async function findTenant(
  env: HostEnv,
  tenants: ReadonlyMap<string, Tenant<NewResource>>,
  id: string,
): Promise<FoundTenant> {
  const inCode = tenants.get(id);
  if (inCode) return { tenant: inCode };
  if (!isTenantId(id)) return { tenant: undefined, anyPrivate: false };
  const last = lastSnapshot(id);
  // One that another deployment of this isolate declares in its code is none of this one's.
  if (last && !last.inCode) return { tenant: managedTenant(id, last.placement) };
  const { entry, anyPrivate } = await lookUp(env, id);
  if (entry) return { tenant: managedTenant(id, entry) };
  // The directory knows nothing of tenants in code.
  return { tenant: undefined, anyPrivate: anyPrivate || [...tenants.values()].some(({ base }) => base.mode === "key") };
}

/** The id of the tenant whose hostname this is; null: a hostname of the Worker itself. */
export async function tenantOfHost(env: HostEnv, host: string | null): Promise<string | null> {
  if (!env.TENANT_HOST || host === null) return null;
  const hostname = hostnameOf(host);
  const id = idInHostname(hostname, env);
  if (id !== undefined) return id;
  // Not asked of the directory: an earlier release let tenants have these.
  return isWorkersOwn(hostname, env) ? null : tenantOfHostname(env, hostname);
}
