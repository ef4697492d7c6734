// Owns finding out which tenant a request is for: by path, or by the hostname that a tenant has to itself. For unknown
// names nothing is made; where names are secret, as much is asked about them as about others.

import type { Credential } from "../auth/credential.ts";
import { hostnameOf } from "../auth/origin.ts";
import type { NewResource } from "../calls/resource-store.ts";
import { isTenantId, managedTenant, type Tenant } from "../tenants/document/tenant-definition.ts";
import type { Bindings, Deployment } from "../deployment/deployment.ts";
import {
  findPlacement,
  forgetName,
  lookUp,
  lookUpPlaced,
  tenantOfHostname,
  type DirectoryEnv,
} from "../tenants/directory/directory.ts";
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

type Declaring = Pick<Deployment, "tenants" | "asked"> & { readonly features?: Deployment["features"] };

/** Rejects where the author's function could not say whether there is such a tenant. */
export function findTenant(
  env: HostEnv,
  deployment: Declaring,
  id: string,
  credential: Credential,
): FoundTenant | Promise<FoundTenant> {
  const last = lastSnapshot(id);
  const inCode = deployment.tenants.get(id);
  if (inCode) {
    if (inCode.base.mode !== "key" || last) return { tenant: inCode };
    // Neither knows it. They are asked all the same, as they are about every other secret name.
    const asking = deployment.asked ? lookUp(env, id) : findPlacement(env, id);
    return asking.then(
      () => ({ tenant: inCode }),
      () => ({ tenant: inCode }),
    );
  }
  if (!isTenantId(id)) return { tenant: undefined, anyPrivate: false };
  // One that another deployment of this isolate declares in its code is none of this one's.
  if (last && !last.inCode) return { tenant: managedTenant(id, last.placement) };
  const said = deployment.asked?.last(id);
  return said ? { tenant: said } : findFurther(env, deployment, id, credential);
}

async function findFurther(
  env: HostEnv,
  deployment: Declaring,
  id: string,
  credential: Credential,
): Promise<FoundTenant> {
  // Whom the author's function knows, KV does not: it is read for nobody there, or else it would tell who is who.
  const { entry, asked, ...found } = await (deployment.asked ? lookUp : lookUpPlaced)(env, id);
  if (entry) return { tenant: managedTenant(id, entry) };
  // The directory remembers nothing of names in code, and who asks the author about this one has no answer yet.
  const isNone = found.isEnding || (asked === "not" && deployment.asked?.isAsked(id) !== true);
  const said = isNone ? undefined : await askAuthor(env, deployment, id);
  if (said) return { tenant: said };
  const anyPrivate = found.anyPrivate || mayHide(deployment);
  if (anyPrivate) await askNobody(env, id, credential, { asked, isDeclaring: deployment.asked !== undefined });
  return { tenant: undefined, anyPrivate };
}

/** The directory knows nothing of tenants in code; and whom the author's function knows, nobody can tell. */
export function mayHide({ asked, tenants }: Declaring): boolean {
  return asked !== undefined || [...tenants.values()].some(({ base }) => base.mode === "key");
}

async function askAuthor(
  env: HostEnv,
  { asked, features = [] }: Declaring,
  id: string,
): Promise<FoundTenant["tenant"]> {
  let said: FoundTenant["tenant"] | null = null;
  try {
    said = await asked?.ask(id, env);
    if (said) for (const feature of features) await feature.declared?.(id, env as unknown as Bindings);
    return said;
  } finally {
    // What the directory does not know may be one all the same, or nobody could say.
    if (said !== undefined) forgetName(id);
  }
}

/** The id of the tenant whose hostname this is; null: a hostname of the Worker itself. */
export function tenantOfHost(env: HostEnv, headers: Headers): string | null | Promise<string | null> {
  const host = env.TENANT_HOST ? headers.get("host") : null;
  if (host === null) return null;
  const hostname = hostnameOf(host);
  const id = idInHostname(hostname, env);
  if (id !== undefined) return id;
  // Not asked of the directory: a tenant may have claimed it before it was the Worker's.
  return isWorkersOwn(hostname, env) ? null : tenantOfHostname(env, hostname);
}
