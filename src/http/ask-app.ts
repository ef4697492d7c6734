// Owns asking the app that mounts the Worker who calls, once for a request, and where its users may go. An app that fails, takes
// too long or says what cannot be read lets nobody in: not even as whoever brings nothing.

import { appPrincipal, readAppUser, type AppUser } from "../auth/app-user.ts";
import type { Principal } from "../auth/principal.ts";
import type { Deployment } from "../deployment/deployment.ts";
import { failure, type Failure } from "../protocol/errors.ts";
import { inTime } from "../tenants/isolate/in-time.ts";
import type { TenantDocument } from "../tenants/document/tenant-document.ts";
import { requestIdOf } from "../telemetry/request-id.ts";
import { unauthorized } from "./hold-tenant.ts";
import { eraOf, respondFailure } from "./respond.ts";
import type { Address, Invocation, Visit } from "./visit.ts";

const WITHIN_MS = 10_000;

/** undefined: the app does not know them, so what they bring decides. A Response is for the client. */
export async function askApp(
  { authenticate, hooks }: Deployment,
  { request, env }: Invocation,
): Promise<AppUser | Response | undefined> {
  try {
    const said = await inTime(Promise.resolve(authenticate?.(request, env as never)), WITHIN_MS);
    if (said instanceof Response) return new Response(said.body, said);
    if (request.bodyUsed || request.body?.locked) throw new TypeError("the body was read: read request.clone()");
    return said === undefined ? undefined : readAppUser(said);
  } catch (error) {
    const place = { method: "authenticate", requestId: requestIdOf(request) };
    hooks.onError?.(new Error(`authenticate: ${String(error)}`, { cause: error }), undefined, place);
    return respondFailure(eraOf(request), undefined, { ...failure("unavailable"), retryAfter: 5 });
  }
}

/** No tenant's: nothing is looked up for it. */
export const NOWHERE: Address = { tenant: "", profile: null, path: "" };

/** Where a user is headed who asks for this. Nobody learns what there is elsewhere. */
export function addressOfUser({ tenant }: AppUser, address: Address): Address {
  if (tenant === undefined || tenant === address.tenant) return address;
  return address.isUnnamed ? { tenant, profile: null, path: `/${tenant}` } : NOWHERE;
}

/** Who it is in a tenant with this document. A stored call has nobody to ask: it goes by what was said when it came. */
export function appCaller(
  { deployment, tenant: here, knock }: Visit,
  user: AppUser,
  { mode = "open", scopes }: TenantDocument,
): Principal | Failure {
  const { tenant, expires = Infinity } = user;
  const isAtHome = tenant === undefined ? mode === "open" : tenant === here;
  const isWelcome = deployment.authenticate && isAtHome && Date.now() < expires;
  return isWelcome ? appPrincipal(user, scopes) : unauthorized(knock.credential);
}
