// Calls the mounting app's `authenticate`, once per request, and limits where its users may go. If the app throws,
// takes too long or returns an invalid value, the request is rejected: not even anonymous access is granted.

import { appPrincipal, parseAppUser, type AppUser } from "../auth/app-user.ts";
import type { Principal } from "../auth/principal.ts";
import type { Deployment } from "../deployment/deployment.ts";
import { failure, type Failure } from "../protocol/errors.ts";
import { withTimeout } from "../tenants/cache/with-timeout.ts";
import type { TenantDocument } from "../tenants/document/tenant-document.ts";
import { requestIdOf } from "../telemetry/request-id.ts";
import { unauthorized } from "./tenant-policy.ts";
import { eraOf, respondFailure } from "./respond.ts";
import type { EndpointTarget, Invocation, RequestContext } from "./request-context.ts";

const APP_TIMEOUT_MS = 10_000;

/**
 * Returns undefined if the app does not know the caller, so that the request's own credential decides. A Response is
 * passed to the client.
 */
export async function authenticateWithApp(
  { authenticate, hooks }: Deployment,
  { request, env }: Invocation,
): Promise<AppUser | Response | undefined> {
  try {
    const result = await withTimeout(
      Promise.resolve(authenticate?.(request, env as never)),
      APP_TIMEOUT_MS,
      "your function",
    );
    if (result instanceof Response) return new Response(result.body, result);
    if (request.bodyUsed || request.body?.locked)
      throw new TypeError("the request's body was read: read the body of request.clone() instead");
    return result === undefined ? undefined : parseAppUser(result);
  } catch (error) {
    const errorContext = { method: "authenticate", requestId: requestIdOf(request) };
    hooks.onError?.(new Error(`authenticate: ${String(error)}`, { cause: error }), undefined, errorContext);
    return respondFailure(eraOf(request), undefined, { ...failure("unavailable"), retryAfter: 5 });
  }
}

/** Names no tenant, so nothing is looked up. */
export const NO_TENANT: EndpointTarget = { tenant: "", profile: null, path: "" };

/** The target of a user's request. The response reveals nothing about other tenants. */
export function targetOfUser({ tenant }: AppUser, target: EndpointTarget): EndpointTarget {
  if (tenant === undefined || tenant === target.tenant) return target;
  return target.isDefaultTenant ? { tenant, profile: null, path: `/${tenant}` } : NO_TENANT;
}

/**
 * The user's principal in a tenant with this document. A stored call has no request to authenticate, so it uses the
 * user of the original request.
 */
export function resolveAppPrincipal(
  { deployment, tenant: contextTenant, target }: RequestContext,
  user: AppUser,
  { mode = "open", scopes }: TenantDocument,
): Principal | Failure {
  const { tenant, expires = Infinity } = user;
  const isOwnTenant = tenant === undefined ? mode === "open" : tenant === contextTenant;
  const isAllowed = deployment.authenticate && isOwnTenant && Date.now() < expires;
  return isAllowed ? appPrincipal(user, scopes) : unauthorized(target.credential);
}
