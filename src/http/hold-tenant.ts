// Owns holding the tenant that a visit is to: under a lease, and as the author's function says where one does; or what is
// answered where there is none. Refuses to let anybody in.

import { isForeign, keyHashOf, memoOf, type Credential } from "../auth/credential.ts";
import { failure, type Failure } from "../protocol/errors.ts";
import { isFailure } from "../protocol/methods/params.ts";
import { UNRELEASED, keptUnder } from "../tenants/authority/incarnation.ts";
import { policyTables } from "../tenants/authority/policy-tables.ts";
import { remote } from "../tenants/authority/tables.ts";
import { isTenantId, managedTenant, type Tenant } from "../tenants/document/tenant-definition.ts";
import { lookUp } from "../tenants/directory/directory.ts";
import { isUnreleased } from "../tenants/isolate/asked-again.ts";
import {
  dropSnapshot,
  isLeased,
  askSnapshot,
  lastSnapshot,
  validSnapshot,
  type Snapshot,
  type SnapshotAsk,
} from "../tenants/isolate/snapshot.ts";
import { awayRetryAfter } from "./on-error.ts";
import { CHALLENGE } from "./respond.ts";
import type { Visit } from "./visit.ts";
import { storeSeed } from "../content/store/seed.ts";
import { RecentMap } from "../limits/recent-map.ts";
import { LONGEST_MS, Overdue } from "../streams/overdue.ts";
import { SingleFlight } from "../tenants/isolate/single-flight.ts";
import type { NewResource } from "../calls/resource-store.ts";

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
/** Said by the form of the header alone, whatever tenants and keys there are. */
const NO_KEY =
  "Invalid credential: this does not look like an API key. Send Authorization: Bearer KEY, with the key alone, which begins with tnt_";

/**
 * The same refusal for a name that does not exist as for one that is protected.
 * https://datatracker.ietf.org/doc/html/rfc6750#section-3.1
 */
export function unauthorized(credential: Credential): Failure {
  const { kind } = credential;
  if (kind === "none") return failure("unauthorized");
  if (kind === "app") return failure("unauthorized", "Invalid credential");
  const message = isForeign(credential) ? NO_KEY : INVALID;
  return { ...failure("unauthorized", message), challenge: `${CHALLENGE}, error="invalid_token"` };
}

/** undefined: the authority has no such tenant. `revision`: the least revision of the policy that will do. */
async function holdSnapshot(visit: Visit, tenant: Tenant<NewResource>, revision = 0): Promise<Snapshot | undefined> {
  const held = heldSnapshot(tenant, revision);
  return held && isWorthKnown(held, visit.knock.credential) ? held : takeSnapshot(visit, tenant, revision);
}

function heldSnapshot({ id }: Tenant<NewResource>, revision: number): Snapshot | undefined {
  const held = validSnapshot(id);
  return held && held.version >= revision ? held : undefined;
}

/** Whether the authority was asked about this credential already, or need not be, because it cannot be a key. */
export function isWorthKnown({ asked }: Snapshot, credential: Credential): boolean {
  const memo = memoOf(credential);
  return memo === undefined || asked.has(memo);
}

/** How many leases and keys are asked for at a time before somebody asks once more than needed. */
const MAX_FLIGHTS = 4000;

const flights = new RecentMap<SingleFlight<Snapshot | undefined>>(MAX_FLIGHTS);

/** Those who ask for the same: a lease of the tenant where it is thought to be, or what a key of it is worth. */
function flightFor(
  { id, definition, placement: { jurisdiction } }: Tenant<NewResource>,
  memo = "",
): SingleFlight<Snapshot | undefined> {
  const where = definition ? "in code" : jurisdiction;
  // Most often the id alone, which nobody has to put together; it has no blank in it.
  const name = where === null && memo === "" ? id : `${id} ${where} ${memo}`;
  let flight = flights.get(name);
  if (!flight) flights.set(name, (flight = new SingleFlight()));
  return flight;
}

async function takeSnapshot(
  visit: Visit,
  tenant: Tenant<NewResource>,
  revision: number,
): Promise<Snapshot | undefined> {
  const { credential } = visit.knock;
  const memo = memoOf(credential);
  const isKnown = memo === undefined || lastSnapshot(tenant.id)?.asked.has(memo) === true;
  const flight = flightFor(tenant, isKnown ? undefined : memo);
  const isShared = flight.isUnderWay;
  const ask = () => leaseOf(visit, tenant);
  let found = await flight.run(ask);
  // The lease that another request asked for, perhaps before this one came, will do only while it holds. That there was no
  // such tenant says nothing.
  const willDo = found && isLeased(found) && found.version >= revision;
  if (isShared && !willDo) found = await flight.runNext(ask);
  // What another one brought may be a new version, of which nobody has asked about this key.
  return !found || isWorthKnown(found, credential) ? found : takeSnapshot(visit, tenant, revision);
}

/**
 * Asks for the next lease beside the request of somebody who was let in. Once for each lease; where it fails, who finds the
 * lease ended asks again. Not where an author's function says under each lease what the tenant is: it would be asked more
 * often, and waited for in the middle of one.
 */
export function renewAhead(visit: Visit, tenant: Tenant<NewResource>, { renewal }: Snapshot): void {
  const flight = flightFor(tenant);
  if (flight.isUnderWay || visit.deployment.asked?.last(tenant.id)) return;
  renewal.from = Infinity;
  const renewing = flight.run(async () => askLease(visit, await leaseAskOf(visit, tenant)));
  visit.waitUntil(
    renewing.catch((error: unknown) => {
      visit.onError(error);
    }),
  );
}

async function leaseAskOf(visit: Visit, tenant: Tenant<NewResource>): Promise<SnapshotAsk> {
  const { definition, maxStalenessMs, placement } = tenant;
  const { credential } = visit.knock;
  const memo = memoOf(credential);
  const ask = { maxStalenessMs, inCode: definition !== undefined, placement, key: null };
  if (memo === undefined) return ask;
  const hash = await keyHashOf(credential);
  return { ...ask, key: hash === null ? null : { memo, hash } };
}

async function leaseOf(visit: Visit, tenant: Tenant<NewResource>): Promise<Snapshot | undefined> {
  const { id, definition } = tenant;
  const ask = await leaseAskOf(visit, tenant);
  const snapshot = await askLease(visit, ask);
  if (!snapshot || snapshot.seeded || !definition) return snapshot;
  // The first lease of a tenant in code also stores its first content.
  dropSnapshot(id);
  const place = { kept: keptUnder(id, snapshot.created), bodies: visit.env.BODIES };
  const objects = { stub: visit.stub(snapshot.created), content: visit.contentStub(snapshot.created) };
  await storeSeed(place, objects, definition.seed?.() ?? []);
  return askSnapshot(id, visit.stub(), ask);
}

/** Whoever takes longer is one that cannot be reached. */
const ANSWERED_WITHIN_MS = LONGEST_MS;
/** Bound: the calls that are under way. */
const ASKS = new Overdue();

function askLease(visit: Visit, ask: SnapshotAsk): Promise<Snapshot | undefined> {
  return ASKS.inTime(askSnapshot(visit.tenant, visit.stub(), ask), ANSWERED_WITHIN_MS, visit);
}
