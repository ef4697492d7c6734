// Finds the tenant that a request is for: by path, or by the tenant's own hostname. Nothing is stored for an unknown
// name.

import { hostnameOf } from "../auth/origin.ts";
import type { NewResource } from "../handlers/resource-store.ts";
import { isTenantId, createManagedTenant, type Tenant } from "../tenants/document/tenant-definition.ts";
import type { Deployment } from "../deployment/deployment.ts";
import {
  forgetName,
  lookupTenant,
  lookupPlacedTenant,
  tenantOfHostname,
  type DirectoryEnv,
} from "../tenants/directory/directory.ts";
import { tenantIdInHostname, isWorkerHostname, type HostVars } from "../tenants/directory/worker-hosts.ts";
import { peekPolicy } from "../tenants/cache/policy-cache.ts";

export interface HostEnv extends DirectoryEnv, HostVars {}

type FoundTenant = Tenant<NewResource> | undefined;
type DeclaredTenants = Pick<Deployment, "tenants" | "tenantResolver">;

/**
 * Returns undefined if there is no such tenant. Rejects if the author's function could not say whether there is one.
 */
export async function findTenant(env: HostEnv, deployment: DeclaredTenants, id: string): Promise<FoundTenant> {
  const inCode = deployment.tenants.get(id);
  if (inCode) return inCode;
  if (!isTenantId(id)) return undefined;
  const cachedPolicy = peekPolicy(id);
  // A tenant that another deployment of this isolate declares in code is unknown in this one.
  if (cachedPolicy && !cachedPolicy.inCode) return createManagedTenant(id, cachedPolicy.placement);
  return deployment.tenantResolver?.peek(id) ?? lookUpTenant(env, deployment, id);
}

async function lookUpTenant(env: HostEnv, deployment: DeclaredTenants, id: string): Promise<FoundTenant> {
  const { tenantResolver } = deployment;
  // KV does not list the tenants that the author's function resolves.
  const {
    entry,
    isCached: isRemembered,
    isDeleting: isEnding,
  } = await (tenantResolver ? lookupTenant : lookupPlacedTenant)(env, id);
  if (entry) return createManagedTenant(id, entry);
  // The directory does not cache names that are tenants in code, and a running call of the author's function has no
  // result yet.
  const isNone = isEnding || (isRemembered && tenantResolver?.isResolving(id) !== true);
  return isNone ? undefined : resolveByAuthor(env, deployment, id);
}

async function resolveByAuthor(env: HostEnv, { tenantResolver }: DeclaredTenants, id: string): Promise<FoundTenant> {
  let resolved: FoundTenant | null = null;
  try {
    resolved = await tenantResolver?.resolve(id, env);
    return resolved;
  } finally {
    // A name unknown to the directory may still be a tenant, or the author's function may have failed.
    if (resolved !== undefined) forgetName(id);
  }
}

/** The id of the tenant that owns the request's hostname; null: the hostname is the Worker's own. */
export async function tenantOfHost(env: HostEnv, headers: Headers): Promise<string | null> {
  const host = env.TENANT_HOST ? headers.get("host") : null;
  if (host === null) return null;
  const hostname = hostnameOf(host);
  const id = tenantIdInHostname(hostname, env);
  if (id !== undefined) return id;
  // Not looked up in the directory: a tenant may have claimed the hostname before it became the Worker's.
  return isWorkerHostname(hostname, env) ? null : tenantOfHostname(env, hostname);
}
