// Owns finding the tenant whose login somebody asks for: by path, or by the hostname that the tenant has to itself. A tenant
// that takes no tokens is one that nobody can tell from none.

import { exposedBy } from "../auth/origin.ts";
import { documentOf } from "../content/serve/sources.ts";
import type { Bindings, Deployment } from "../deployment/deployment.ts";
import { pathBelow } from "../deployment/mount.ts";
import type { LoginUrls } from "../login/login-visit.ts";
import { loginUrlsAt } from "../login/protected-resource.ts";
import type { Failure } from "../protocol/errors.ts";
import { isFailure } from "../protocol/methods/params.ts";
import type { NewResource } from "../calls/resource-store.ts";
import type { Tenant } from "../tenants/document/tenant-definition.ts";
import { takesTokens, type TenantDocument } from "../tenants/document/tenant-document.ts";
import type { Snapshot } from "../tenants/isolate/snapshot.ts";
import { serve, type Endpoint } from "./app.ts";
import { hold, noEndpoint, unauthorized } from "./hold-tenant.ts";
import { tenantOfHost } from "./find-tenant.ts";
import { refusal } from "./limit-messages.ts";
import { eraOf, respondFailure } from "./respond.ts";
import type { Address, Env, Visit } from "./visit.ts";

/** No page's own origin is trusted more than another, and none sends a cookie. `*` does not stand for `authorization`. */
export const PUBLIC = {
  "access-control-allow-origin": "*",
  "access-control-allow-headers": "authorization, content-type, mcp-protocol-version, *",
};

/** For pages of every origin to read, a refusal too. */
export function withPublic(response: Response): Response {
  for (const [name, value] of Object.entries(PUBLIC)) response.headers.set(name, value);
  return response;
}

/** As whoever asks wrote the URL. */
export interface AskedAt {
  /** The origin, with the path of the mount. */
  readonly base: string;
  /** What follows it, without a slash at the end. */
  readonly path: string;
  /** The tenant whose hostname it is; null: a hostname of the Worker. */
  readonly owner: string | null;
}

export async function askedAt({ path: mount }: Deployment, request: Request, env: Bindings): Promise<AskedAt> {
  const { origin, pathname } = new URL(request.url);
  const owner = await tenantOfHost(env as unknown as Env, request.headers);
  return { base: origin + mount, path: pathBelow(mount, pathname).replace(/\/+$/, ""), owner };
}

export function atTenant(tenant: string): Address {
  return { tenant, profile: null, path: `/${tenant}` };
}

export function urlsOf({ tenant, deployment }: Visit, { base, owner }: AskedAt): LoginUrls {
  return loginUrlsAt(base, tenant, { isOwn: owner !== null, isDefault: deployment.defaultTenant === tenant });
}

export function refuseVisit(visit: Visit, why: Failure): Response {
  return respondFailure(visit.era, undefined, refusal(visit, why));
}

interface Bare {
  readonly request: Request;
  readonly env: Bindings;
  readonly ctx: ExecutionContext;
}

/**
 * Whoever asks brings nothing by which they are known at the tenant's endpoint, from whichever page. Pages and forms hold keys,
 * codes and cookies, so all of it is refused where others could read it.
 */
export async function serveAnyone(
  deployment: Deployment,
  { request, env, ctx }: Bare,
  address: Address | undefined,
  endpoint: Endpoint,
): Promise<Response> {
  const exposed = exposedBy(request);
  if (exposed) return respondFailure(eraOf(request), undefined, exposed);
  const headers = new Headers(request.headers);
  headers.delete("origin");
  headers.delete("authorization");
  const invocation = { request: new Request(request, { headers }), env: env as unknown as Env, ctx };
  return serve(deployment, invocation, address, endpoint);
}

export interface OpenPlace {
  readonly tenant: Tenant<NewResource>;
  readonly snapshot: Snapshot;
  readonly document: TenantDocument;
}

/** The tenant under a lease, where it takes tokens. */
export async function openPlace(visit: Visit): Promise<OpenPlace | Failure> {
  const { profile, credential } = visit.knock;
  const snapshot = await hold(visit);
  if (isFailure(snapshot)) return snapshot;
  const { known } = visit.knock;
  if (isFailure(known)) return known;
  const document = documentOf(known, snapshot.policy);
  const isThere = profile === null || Object.hasOwn(document.profiles ?? {}, profile);
  if (takesTokens(document.mode) && document.auth && isThere) return { tenant: known, snapshot, document };
  // As for a name that is no tenant's: whether there is one that takes keys is nobody's to learn.
  return document.mode === "key" ? unauthorized(credential) : noEndpoint(visit);
}
