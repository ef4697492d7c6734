// Finds the tenant of a login request, by path or by the tenant's own hostname. A tenant that takes no tokens looks
// like an unknown one.

import { insecureTransportError } from "../auth/origin.ts";
import { mergedDocument } from "../catalog/tenant-catalog.ts";
import type { UntypedEnv, Deployment } from "../deployment/deployment.ts";
import { stripMountPath } from "../deployment/mount.ts";
import type { LoginUrls } from "./login-context.ts";
import { loginUrlsAt } from "./protected-resource.ts";
import type { Failure } from "../protocol/errors.ts";
import { isFailure } from "../protocol/methods/params.ts";
import type { NewResource } from "../handlers/resource-store.ts";
import type { Tenant } from "../tenants/document/tenant-definition.ts";
import { acceptsTokens, type TenantDocument } from "../tenants/document/tenant-document.ts";
import type { CachedPolicy } from "../tenants/cache/policy-cache.ts";
import { serve, type Endpoint } from "../endpoint/serve.ts";
import { getTenantPolicy, noEndpoint, unauthorized } from "../endpoint/tenant-policy.ts";
import { tenantOfHost } from "../endpoint/find-tenant.ts";
import { countRefusal } from "../endpoint/rate-limit.ts";
import { eraOf, respondFailure } from "../endpoint/respond.ts";
import type { EndpointTarget, Env, RequestContext } from "../endpoint/request-context.ts";

/** All origins are treated alike, and no request carries a cookie. `*` does not cover `authorization`. */
export const PUBLIC_CORS = {
  "access-control-allow-origin": "*",
  "access-control-allow-headers": "authorization, content-type, mcp-protocol-version, *",
};

/** Makes a response readable by pages of every origin, errors too. */
export function withPublicCors(response: Response): Response {
  for (const [name, value] of Object.entries(PUBLIC_CORS)) response.headers.set(name, value);
  return response;
}

/** The location as the client wrote the URL. */
export interface LoginLocation {
  /** The origin, with the mount path. */
  readonly base: string;
  /** The path after the base, without a trailing slash. */
  readonly path: string;
  /** The tenant that owns the hostname; null: a hostname of the Worker. */
  readonly hostnameTenant: string | null;
}

export async function parseLoginLocation(
  { path: mount }: Deployment,
  request: Request,
  env: UntypedEnv,
): Promise<LoginLocation> {
  const { origin, pathname } = new URL(request.url);
  const owner = await tenantOfHost(env as unknown as Env, request.headers);
  return { base: origin + mount, path: stripMountPath(mount, pathname).replace(/\/+$/, ""), hostnameTenant: owner };
}

export function tenantTarget(tenant: string): EndpointTarget {
  return { tenant, profile: null, path: `/${tenant}` };
}

export function loginUrlsOf(
  { tenant, deployment }: RequestContext,
  { base, hostnameTenant: owner }: LoginLocation,
): LoginUrls {
  return loginUrlsAt(base, tenant, { isOwn: owner !== null, isDefault: deployment.defaultTenant === tenant });
}

export function rejectLoginRequest(context: RequestContext, reason: Failure): Response {
  return respondFailure(context.era, undefined, countRefusal(context, reason));
}

interface RawInvocation {
  readonly request: Request;
  readonly env: UntypedEnv;
  readonly ctx: ExecutionContext;
}

/**
 * Serves a request without the credentials and origin that the tenant's endpoint would use. Pages and forms carry keys,
 * codes and cookies, so a request over an insecure transport is rejected.
 */
export async function serveAnonymously(
  deployment: Deployment,
  { request, env, ctx }: RawInvocation,
  target: EndpointTarget | undefined,
  endpoint: Endpoint,
): Promise<Response> {
  const transportError = insecureTransportError(request);
  if (transportError) return respondFailure(eraOf(request), undefined, transportError);
  const headers = new Headers(request.headers);
  headers.delete("origin");
  headers.delete("authorization");
  const invocation = { request: new Request(request, { headers }), env: env as unknown as Env, ctx };
  return serve(deployment, invocation, target, endpoint);
}

export interface LoginTenant {
  readonly tenant: Tenant<NewResource>;
  readonly cachedPolicy: CachedPolicy;
  readonly document: TenantDocument;
}

/** The tenant under a lease, if it takes tokens. */
export async function getLoginTenant(context: RequestContext): Promise<LoginTenant | Failure> {
  const { profile, credential } = context.target;
  const cachedPolicy = await getTenantPolicy(context);
  if (isFailure(cachedPolicy)) return cachedPolicy;
  const { tenantResult } = context.target;
  if (isFailure(tenantResult)) return tenantResult;
  const document = mergedDocument(tenantResult, cachedPolicy.policy);
  const profileExists = profile === null || Object.hasOwn(document.profiles ?? {}, profile);
  if (acceptsTokens(document.mode) && document.auth && profileExists)
    return { tenant: tenantResult, cachedPolicy, document };
  // The same answer as for an unknown tenant: whether a tenant with keys exists must not leak.
  return document.mode === "key" ? unauthorized(credential) : noEndpoint(context);
}
