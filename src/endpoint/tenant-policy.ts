// Owns holding the tenant that a visit is to: under a lease, and as the author's function says where one does; or what is
// answered where there is none. Refuses to let anybody in.

import { isUnrecognized, keyHashOf, cacheKeyOf, type Credential } from "../auth/credential.ts";
import { failure, type Failure } from "../protocol/errors.ts";
import { isFailure } from "../protocol/methods/params.ts";
import { UNRELEASED, storageKey } from "../tenants/object/tenant-uid.ts";
import { policyStore } from "../tenants/object/policy-store.ts";
import { createRpcClient } from "../tenants/object/store.ts";
import { isTenantId, createManagedTenant, type Tenant } from "../tenants/document/tenant-definition.ts";
import { lookupTenant } from "../tenants/directory/directory.ts";
import { isUnreleased } from "../tenants/cache/retry-if-idempotent.ts";
import {
  evictPolicy,
  isLeased,
  requestLease,
  peekPolicy,
  getFreshPolicy,
  type CachedPolicy,
  type PolicyRequest,
} from "../tenants/cache/policy-cache.ts";
import { jitteredRetryAfter } from "./failure-of-error.ts";
import { BEARER_CHALLENGE } from "./respond.ts";
import type { RequestContext } from "./request-context.ts";
import { storeSeed } from "../resources/seed.ts";
import { LruMap } from "../limits/lru-map.ts";
import { MAX_DEADLINE_MS, DeadlineWatcher } from "../streams/deadline-watcher.ts";
import { SingleFlight } from "../tenants/cache/single-flight.ts";
import type { NewResource } from "../handlers/resource-store.ts";

/** The tenant's object cannot be reached. Never 401 or 404: clients would log in again, or drop their session. */
export function tenantUnavailable(error?: unknown): Failure {
  const message = isUnreleased(error) ? UNRELEASED : "Service unavailable: this tenant cannot be served right now";
  return { ...failure("unavailable", message), retryAfter: jitteredRetryAfter() };
}

/** Takes the lease without letting anybody in. A failure: nobody is let in now. */
export async function getTenantPolicy(context: RequestContext, revision = 0): Promise<CachedPolicy | Failure> {
  const { tenantResult: tenant } = context.target;
  if (isFailure(tenant)) return tenant;
  try {
    const snapshot = await getOrFetchPolicy(context, tenant, revision);
    if (!snapshot || !context.isSameTenant(snapshot.created))
      return await resolveMissingTenant(context, snapshot === undefined, revision);
    return context.isTenantResolved(snapshot) ? snapshot : await resolveUnderLease(context, snapshot);
  } catch (error) {
    context.onError(error);
    return tenantUnavailable(error);
  }
}

/** What the author's function says under this lease, where nobody in this isolate has asked it yet. */
async function resolveUnderLease(context: RequestContext, snapshot: CachedPolicy): Promise<CachedPolicy | Failure> {
  if (context.isTenantResolved(snapshot)) return snapshot;
  const { tenantResolver: resolver } = context.deployment;
  const wasDeclared = resolver?.peek(context.tenant);
  const resolved = await resolver?.resolveUnderLease(snapshot, context.env);
  if (!resolved) {
    // Its streams look for themselves when they hear that something changed. Each isolate says so once.
    if (wasDeclared) context.waitUntil(createRpcClient(context.stub(snapshot.created), policyStore).changed());
    evictPolicy(context.tenant);
    return resolveMissingTenant(context, false, 0);
  }
  if (isLeased(snapshot)) {
    context.target.tenantResult = resolved;
    return snapshot;
  }
  // It took longer than a lease lasts: what was withdrawn meanwhile may be in force.
  const renewed = await getOrFetchPolicy(context, resolved);
  if (!renewed || !context.isSameTenant(renewed.created)) return resolveMissingTenant(context, false, 0);
  resolver?.renew(snapshot, renewed);
  return resolveUnderLease(context, renewed);
}

/** What is answered where the URL is no endpoint's, whatever tenants there are. */
export function noEndpoint({ request, deployment }: Pick<RequestContext, "request" | "deployment">): Failure {
  const { origin } = new URL(request.url);
  return failure("unknownTenant", `Not found: MCP endpoints are at ${origin}${deployment.path}/mcp/{tenant}`);
}

/** What is answered for a name that no tenant has: what a private tenant answers, unless no tenant can have the name. */
export function unknownTenantFailure(
  context: Pick<RequestContext, "request" | "deployment">,
  id: string,
  credential: Credential,
): Failure {
  return isTenantId(id) ? unauthorized(credential) : noEndpoint(context);
}

/**
 * The tenant that was meant is not there any more, though this isolate or KV thought so: the directory knows where another one of
 * its name is. `isAbsent`: nobody was where it was looked for.
 */
async function resolveMissingTenant(
  context: RequestContext,
  isAbsent: boolean,
  revision: number,
): Promise<CachedPolicy | Failure> {
  const { entry } = await lookupTenant(context.env, context.tenant);
  if (isAbsent && entry && entry.jurisdiction !== context.placement.jurisdiction) {
    context.target.tenantResult = createManagedTenant(context.tenant, entry);
    return getTenantPolicy(context, revision);
  }
  return unauthorized(context.target.credential);
}

const INVALID_KEY = "Invalid credential: the API key is mistyped, has ended, or is for another endpoint";
/** Said by the form of the header alone, whatever tenants and keys there are. */
const NOT_A_KEY =
  "Invalid credential: this does not look like an API key. Send Authorization: Bearer KEY, with the key alone, which begins with tnt_";

/**
 * The same refusal for a name that does not exist as for one that is protected.
 * https://datatracker.ietf.org/doc/html/rfc6750#section-3.1
 */
export function unauthorized(credential: Credential): Failure {
  const { kind } = credential;
  if (kind === "none") return failure("unauthorized");
  if (kind === "app") return failure("unauthorized", "Invalid credential");
  const message = isUnrecognized(credential) ? NOT_A_KEY : INVALID_KEY;
  return { ...failure("unauthorized", message), challenge: `${BEARER_CHALLENGE}, error="invalid_token"` };
}

/** undefined: the authority has no such tenant. `revision`: the least revision of the policy that will do. */
async function getOrFetchPolicy(
  context: RequestContext,
  tenant: Tenant<NewResource>,
  revision = 0,
): Promise<CachedPolicy | undefined> {
  const cached = getCachedPolicy(tenant, revision);
  return cached && isCredentialChecked(cached, context.target.credential)
    ? cached
    : fetchPolicy(context, tenant, revision);
}

function getCachedPolicy({ id }: Tenant<NewResource>, revision: number): CachedPolicy | undefined {
  const cached = getFreshPolicy(id);
  return cached && cached.version >= revision ? cached : undefined;
}

/** Whether the authority was asked about this credential already, or need not be, because it cannot be a key. */
export function isCredentialChecked({ checkedKeys: asked }: CachedPolicy, credential: Credential): boolean {
  const memo = cacheKeyOf(credential);
  return memo === undefined || asked.has(memo);
}

/** How many leases and keys are asked for at a time before somebody asks once more than needed. */
const MAX_FLIGHTS = 4000;

const flights = new LruMap<SingleFlight<CachedPolicy | undefined>>(MAX_FLIGHTS);

/** Those who ask for the same: a lease of the tenant where it is thought to be, or what a key of it is worth. */
function policyFlightFor(
  { id, definition, placement: { jurisdiction } }: Tenant<NewResource>,
  memo = "",
): SingleFlight<CachedPolicy | undefined> {
  const where = definition ? "in code" : jurisdiction;
  // Most often the id alone, which nobody has to put together; it has no blank in it.
  const name = where === null && memo === "" ? id : `${id} ${where} ${memo}`;
  let flight = flights.get(name);
  if (!flight) flights.set(name, (flight = new SingleFlight()));
  return flight;
}

async function fetchPolicy(
  context: RequestContext,
  tenant: Tenant<NewResource>,
  revision: number,
): Promise<CachedPolicy | undefined> {
  const { credential } = context.target;
  const memo = cacheKeyOf(credential);
  const isChecked = memo === undefined || peekPolicy(tenant.id)?.checkedKeys.has(memo) === true;
  const flight = policyFlightFor(tenant, isChecked ? undefined : memo);
  const isShared = flight.isRunning;
  const fetchLease = () => fetchSeededPolicy(context, tenant);
  let fetched = await flight.run(fetchLease);
  // The lease that another request asked for, perhaps before this one came, will do only while it holds. That there was no
  // such tenant says nothing.
  const isUsable = fetched && isLeased(fetched) && fetched.version >= revision;
  if (isShared && !isUsable) fetched = await flight.runNext(fetchLease);
  // What another one brought may be a new version, of which nobody has asked about this key.
  return !fetched || isCredentialChecked(fetched, credential) ? fetched : fetchPolicy(context, tenant, revision);
}

/**
 * Asks for the next lease beside the request of somebody who was let in. Once for each lease; where it fails, who finds the
 * lease ended asks again. Not where an author's function says under each lease what the tenant is: it would be asked more
 * often, and waited for in the middle of one.
 */
export function refreshInBackground(
  context: RequestContext,
  tenant: Tenant<NewResource>,
  { renewal }: CachedPolicy,
): void {
  const flight = policyFlightFor(tenant);
  if (flight.isRunning || context.deployment.tenantResolver?.peek(tenant.id)) return;
  renewal.from = Infinity;
  const renewing = flight.run(async () => requestLeaseInTime(context, await createLeaseRequest(context, tenant)));
  context.waitUntil(
    renewing.catch((error: unknown) => {
      context.onError(error);
    }),
  );
}

async function createLeaseRequest(context: RequestContext, tenant: Tenant<NewResource>): Promise<PolicyRequest> {
  const { definition, maxStalenessMs, placement } = tenant;
  const { credential } = context.target;
  const memo = cacheKeyOf(credential);
  const request = { maxStalenessMs, inCode: definition !== undefined, placement, key: null };
  if (memo === undefined) return request;
  const hash = await keyHashOf(credential);
  return { ...request, key: hash === null ? null : { cacheKey: memo, hash } };
}

async function fetchSeededPolicy(
  context: RequestContext,
  tenant: Tenant<NewResource>,
): Promise<CachedPolicy | undefined> {
  const { id, definition } = tenant;
  const leaseRequest = await createLeaseRequest(context, tenant);
  const snapshot = await requestLeaseInTime(context, leaseRequest);
  if (!snapshot || snapshot.seeded || !definition) return snapshot;
  // The first lease of a tenant in code also stores its first content.
  evictPolicy(id);
  const storage = { storageKey: storageKey(id, snapshot.created), bodies: context.env.BODIES };
  const objects = { stub: context.stub(snapshot.created), content: context.contentStub(snapshot.created) };
  await storeSeed(storage, objects, definition.seed?.() ?? []);
  return requestLease(id, context.stub(), leaseRequest);
}

/** Whoever takes longer is one that cannot be reached. */
const LEASE_TIMEOUT_MS = MAX_DEADLINE_MS;
/** Bound: the calls that are under way. */
const LEASE_REQUESTS = new DeadlineWatcher();

function requestLeaseInTime(context: RequestContext, leaseRequest: PolicyRequest): Promise<CachedPolicy | undefined> {
  return LEASE_REQUESTS.withTimeout(
    requestLease(context.tenant, context.stub(), leaseRequest),
    LEASE_TIMEOUT_MS,
    context,
  );
}
