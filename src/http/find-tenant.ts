// Finds the tenant that a request is for: by path, or by the hostname that a tenant has to itself. Nothing is stored for an
// unknown name.

import { hostnameOf } from "../auth/origin.ts";
import type { NewResource } from "../calls/resource-store.ts";
import { isTenantId, managedTenant, type Tenant } from "../tenants/document/tenant-definition.ts";
import type { Deployment } from "../deployment/deployment.ts";
import {
  forgetName,
  lookUp,
  lookUpPlaced,
  tenantOfHostname,
  type DirectoryEnv,
} from "../tenants/directory/directory.ts";
import { idInHostname, isWorkersOwn, type HostVars } from "../tenants/directory/worker-hosts.ts";
import { lastSnapshot } from "../tenants/isolate/snapshot.ts";

export interface HostEnv extends DirectoryEnv, HostVars {}

type FoundTenant = Tenant<NewResource> | undefined;
type Declaring = Pick<Deployment, "tenants" | "asked">;

/** undefined: no such tenant. Rejects where the author's function could not say whether there is one. */
export async function findTenant(env: HostEnv, deployment: Declaring, id: string): Promise<FoundTenant> {
  const inCode = deployment.tenants.get(id);
  if (inCode) return inCode;
  if (!isTenantId(id)) return undefined;
  const last = lastSnapshot(id);
  // One that another deployment of this isolate declares in its code is none of this one's.
  if (last && !last.inCode) return managedTenant(id, last.placement);
  return deployment.asked?.last(id) ?? findFurther(env, deployment, id);
}

async function findFurther(env: HostEnv, deployment: Declaring, id: string): Promise<FoundTenant> {
  const { asked } = deployment;
  // Whom the author's function knows, KV does not.
  const { entry, isRemembered, isEnding } = await (asked ? lookUp : lookUpPlaced)(env, id);
  if (entry) return managedTenant(id, entry);
  // The directory remembers nothing of names in code, and who asks the author about this one has no answer yet.
  const isNone = isEnding || (isRemembered && asked?.isAsked(id) !== true);
  return isNone ? undefined : askAuthor(env, deployment, id);
}

async function askAuthor(env: HostEnv, { asked }: Declaring, id: string): Promise<FoundTenant> {
  let said: FoundTenant | null = null;
  try {
    said = await asked?.ask(id, env);
    return said;
  } finally {
    // What the directory does not know may be one all the same, or nobody could say.
    if (said !== undefined) forgetName(id);
  }
}

/** The id of the tenant whose hostname this is; null: a hostname of the Worker itself. */
export async function tenantOfHost(env: HostEnv, headers: Headers): Promise<string | null> {
  const host = env.TENANT_HOST ? headers.get("host") : null;
  if (host === null) return null;
  const hostname = hostnameOf(host);
  const id = idInHostname(hostname, env);
  if (id !== undefined) return id;
  // Not asked of the directory: a tenant may have claimed it before it was the Worker's.
  return isWorkersOwn(hostname, env) ? null : tenantOfHostname(env, hostname);
}
