// Owns finding out which tenant a request is for: by path, or by the hostname that a tenant has to itself. For unknown
// names nothing is made; where names are secret, as much is asked about them as about others.

import type { Credential } from "../auth/credential.ts";
import { hostnameOf } from "../auth/origin.ts";
import type { NewResource } from "../calls/resource-store.ts";
import { isTenantId, managedTenant, type Tenant } from "../tenants/document/tenant-definition.ts";
import { lookUp, tenantOfHostname, type DirectoryEnv } from "../tenants/directory/directory.ts";
import { idInHostname, isWorkersOwn, type HostVars } from "../tenants/directory/worker-hosts.ts";
import { lastSnapshot } from "../tenants/isolate/snapshot.ts";
import { askNobody } from "./nobody.ts";

export interface HostEnv extends DirectoryEnv, HostVars {
  readonly TENANTS: DurableObjectNamespace;
}

/** undefined: no such tenant. `anyPrivate`: whether an unknown name must look like a protected one. */
export type FoundTenant =
  | { readonly tenant: Tenant<NewResource> }
  | { readonly tenant: undefined; readonly anyPrivate: boolean };

export function findTenant(
  env: HostEnv,
  tenants: ReadonlyMap<string, Tenant<NewResource>>,
  id: string,
  credential: Credential,
): FoundTenant | Promise<FoundTenant> {
  const inCode = tenants.get(id);
  const last = lastSnapshot(id);
  if (inCode) {
    if (inCode.base.mode !== "key" || last) return { tenant: inCode };
    // The directory does not know it. It is asked once all the same, as it is about every other secret name.
    return lookUp(env, id).then(
      () => ({ tenant: inCode }),
      () => ({ tenant: inCode }),
    );
  }
  if (!isTenantId(id)) return { tenant: undefined, anyPrivate: false };
  // One that another deployment of this isolate declares in its code is none of this one's.
  if (last && !last.inCode) return { tenant: managedTenant(id, last.placement) };
  return findManaged(env, tenants, id, credential);
}

async function findManaged(
  env: HostEnv,
  tenants: ReadonlyMap<string, Tenant<NewResource>>,
  id: string,
  credential: Credential,
): Promise<FoundTenant> {
  const { entry, asked, ...found } = await lookUp(env, id);
  if (entry) return { tenant: managedTenant(id, entry) };
  // The directory knows nothing of tenants in code.
  const anyPrivate = found.anyPrivate || [...tenants.values()].some(({ base }) => base.mode === "key");
  if (anyPrivate) await askNobody(env, id, credential, asked);
  return { tenant: undefined, anyPrivate };
}

/** The id of the tenant whose hostname this is; null: a hostname of the Worker itself. */
export function tenantOfHost(env: HostEnv, headers: Headers): string | null | Promise<string | null> {
  const host = env.TENANT_HOST ? headers.get("host") : null;
  if (host === null) return null;
  const hostname = hostnameOf(host);
  const id = idInHostname(hostname, env);
  if (id !== undefined) return id;
  // Not asked of the directory: an earlier release let tenants have these.
  return isWorkersOwn(hostname, env) ? null : tenantOfHostname(env, hostname);
}
