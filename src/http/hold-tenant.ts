// Owns holding the tenant that a visit is to: under a lease, and as the author's function says where one does; or what is
// answered where there is none. Refuses to let anybody in.

import type { Credential } from "../auth/credential.ts";
import { failure, type Failure } from "../protocol/errors.ts";
import { isFailure } from "../protocol/methods/params.ts";
import { UNRELEASED } from "../tenants/authority/incarnation.ts";
import { policyTables } from "../tenants/authority/policy-tables.ts";
import { remote } from "../tenants/authority/tables.ts";
import { isTenantId, managedTenant } from "../tenants/document/tenant-definition.ts";
import { lookUp } from "../tenants/directory/directory.ts";
import { isUnreleased } from "../tenants/isolate/asked-again.ts";
import { dropSnapshot, isLeased, type Snapshot } from "../tenants/isolate/snapshot.ts";
import { holdSnapshot } from "./hold-snapshot.ts";
import { awayRetryAfter } from "./on-error.ts";
import { CHALLENGE } from "./respond.ts";
import type { Visit } from "./visit.ts";

/** The tenant's object cannot be reached. Never 401 or 404: clients would log in again, or drop their session. */
export function tenantAway(error?: unknown): Failure {
  const message = isUnreleased(error) ? UNRELEASED : "Service unavailable: this tenant cannot be served right now";
  return { ...failure("unavailable", message), retryAfter: awayRetryAfter() };
}

/** Takes the lease without letting anybody in. A failure: nobody is let in now. */
export async function hold(visit: Visit, revision = 0): Promise<Snapshot | Failure> {
  const { known } = visit.knock;
  if (isFailure(known)) return known;
  try {
    const snapshot = await holdSnapshot(visit, known, revision);
    if (!snapshot || !visit.isTo(snapshot.created)) return await gone(visit, snapshot === undefined, revision);
    return visit.isDeclared(snapshot) ? snapshot : await declaredOr(visit, snapshot);
  } catch (error) {
    visit.onError(error);
    return tenantAway(error);
  }
}

/** What the author's function says under this lease, where nobody in this isolate has asked it yet. */
async function declaredOr(visit: Visit, snapshot: Snapshot): Promise<Snapshot | Failure> {
  if (visit.isDeclared(snapshot)) return snapshot;
  const { asked } = visit.deployment;
  const wasDeclared = asked?.last(visit.tenant);
  const said = await asked?.askUnder(snapshot, visit.env);
  if (!said) {
    // Its streams look for themselves when they hear that something changed. Each isolate says so once.
    if (wasDeclared) visit.waitUntil(remote(visit.stub(snapshot.created), policyTables).changed());
    dropSnapshot(visit.tenant);
    return gone(visit, false, 0);
  }
  if (isLeased(snapshot)) {
    visit.knock.known = said;
    return snapshot;
  }
  // It took longer than a lease lasts: what was withdrawn meanwhile may be in force.
  const now = await holdSnapshot(visit, said);
  if (!now || !visit.isTo(now.created)) return gone(visit, false, 0);
  asked?.renew(snapshot, now);
  return declaredOr(visit, now);
}

/** What is answered where the URL is no endpoint's, whatever tenants there are. */
export function noEndpoint({ request, deployment }: Pick<Visit, "request" | "deployment">): Failure {
  const { origin } = new URL(request.url);
  return failure("unknownTenant", `Not found: MCP endpoints are at ${origin}${deployment.path}/mcp/{tenant}`);
}

/** What is answered for a name that no tenant has: what a private tenant answers, unless no tenant can have the name. */
export function refuseName(visit: Pick<Visit, "request" | "deployment">, id: string, credential: Credential): Failure {
  return isTenantId(id) ? unauthorized(credential) : noEndpoint(visit);
}

/**
 * The tenant that was meant is not there any more, though this isolate or KV thought so: the directory knows where another one of
 * its name is. `isAbsent`: nobody was where it was looked for.
 */
async function gone(visit: Visit, isAbsent: boolean, revision: number): Promise<Snapshot | Failure> {
  const { entry } = await lookUp(visit.env, visit.tenant);
  if (isAbsent && entry && entry.jurisdiction !== visit.placement.jurisdiction) {
    visit.knock.known = managedTenant(visit.tenant, entry);
    return hold(visit, revision);
  }
  return unauthorized(visit.knock.credential);
}

const INVALID = "Invalid credential: the API key is mistyped, has ended, or is for another endpoint";

/**
 * The same refusal for a name that does not exist as for one that is protected.
 * https://datatracker.ietf.org/doc/html/rfc6750#section-3.1
 */
export function unauthorized({ kind }: Credential): Failure {
  if (kind === "none") return failure("unauthorized");
  if (kind === "app") return failure("unauthorized", "Invalid credential");
  return { ...failure("unauthorized", INVALID), challenge: `${CHALLENGE}, error="invalid_token"` };
}
