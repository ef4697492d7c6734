// Owns asking the app that mounts the Worker who calls, once for a request, and where its users may go. An app that fails, takes
// too long or says what cannot be read lets nobody in: not even as whoever brings nothing.

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

/** undefined: the app does not know them, so what they bring decides. A Response is for the client. */
export async function authenticateWithApp(
  { authenticate, hooks }: Deployment,
  { request, env }: Invocation,
): Promise<AppUser | Response | undefined> {
  try {
    const result = await withTimeout(Promise.resolve(authenticate?.(request, env as never)), APP_TIMEOUT_MS);
    if (result instanceof Response) return new Response(result.body, result);
    if (request.bodyUsed || request.body?.locked) throw new TypeError("the body was read: read request.clone()");
    return result === undefined ? undefined : parseAppUser(result);
  } catch (error) {
    const errorContext = { method: "authenticate", requestId: requestIdOf(request) };
    hooks.onError?.(new Error(`authenticate: ${String(error)}`, { cause: error }), undefined, errorContext);
    return respondFailure(eraOf(request), undefined, { ...failure("unavailable"), retryAfter: 5 });
  }
}

/** No tenant's: nothing is looked up for it. */
export const NO_TENANT: EndpointTarget = { tenant: "", profile: null, path: "" };

/** Where a user is headed who asks for this. Nobody learns what there is elsewhere. */
export function targetOfUser({ tenant }: AppUser, target: EndpointTarget): EndpointTarget {
  if (tenant === undefined || tenant === target.tenant) return target;
  return target.isDefaultTenant ? { tenant, profile: null, path: `/${tenant}` } : NO_TENANT;
}

/** Who it is in a tenant with this document. A stored call has nobody to ask: it goes by what was said when it came. */
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
