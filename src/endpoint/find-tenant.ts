// Finds the tenant that a request is for: by path, or by the hostname that a tenant has to itself. Nothing is stored for an
// unknown name.

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

/** undefined: no such tenant. Rejects where the author's function could not say whether there is one. */
export async function findTenant(env: HostEnv, deployment: DeclaredTenants, id: string): Promise<FoundTenant> {
  const inCode = deployment.tenants.get(id);
  if (inCode) return inCode;
  if (!isTenantId(id)) return undefined;
  const cachedPolicy = peekPolicy(id);
  // One that another deployment of this isolate declares in its code is none of this one's.
  if (cachedPolicy && !cachedPolicy.inCode) return createManagedTenant(id, cachedPolicy.placement);
  return deployment.tenantResolver?.peek(id) ?? lookUpTenant(env, deployment, id);
}

async function lookUpTenant(env: HostEnv, deployment: DeclaredTenants, id: string): Promise<FoundTenant> {
  const { tenantResolver } = deployment;
  // Whom the author's function knows, KV does not.
  const {
    entry,
    isCached: isRemembered,
    isDeleting: isEnding,
  } = await (tenantResolver ? lookupTenant : lookupPlacedTenant)(env, id);
  if (entry) return createManagedTenant(id, entry);
  // The directory remembers nothing of names in code, and who asks the author about this one has no answer yet.
  const isNone = isEnding || (isRemembered && tenantResolver?.isResolving(id) !== true);
  return isNone ? undefined : resolveByAuthor(env, deployment, id);
}

async function resolveByAuthor(env: HostEnv, { tenantResolver }: DeclaredTenants, id: string): Promise<FoundTenant> {
  let resolved: FoundTenant | null = null;
  try {
    resolved = await tenantResolver?.resolve(id, env);
    return resolved;
  } finally {
    // What the directory does not know may be one all the same, or nobody could say.
    if (resolved !== undefined) forgetName(id);
  }
}

/** The id of the tenant whose hostname this is; null: a hostname of the Worker itself. */
export async function tenantOfHost(env: HostEnv, headers: Headers): Promise<string | null> {
  const host = env.TENANT_HOST ? headers.get("host") : null;
  if (host === null) return null;
  const hostname = hostnameOf(host);
  const id = tenantIdInHostname(hostname, env);
  if (id !== undefined) return id;
  // Not asked of the directory: a tenant may have claimed it before it was the Worker's.
  return isWorkerHostname(hostname, env) ? null : tenantOfHostname(env, hostname);
}
