// Gets the cached policy of a request's tenant under a lease, resolving the tenant with the author's function if there
// is one. Does not authenticate anybody.

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

/** The tenant object cannot be reached. Never 401 or 404: clients would log in again, or drop their session. */
export function tenantUnavailable(error?: unknown): Failure {
  const message = isUnreleased(error) ? UNRELEASED : "Service unavailable: this tenant cannot be served right now";
  return { ...failure("unavailable", message), retryAfter: jitteredRetryAfter() };
}

/** Gets the policy without authenticating the request. A failure: the request cannot be authorized now. */
export async function getTenantPolicy(context: RequestContext, revision = 0): Promise<CachedPolicy | Failure> {
  const { tenantResult: tenant } = context.target;
  if (isFailure(tenant)) return tenant;
  try {
    const cachedPolicy = await getOrFetchPolicy(context, tenant, revision);
    if (!cachedPolicy || !context.isSameTenant(cachedPolicy.created))
      return await resolveMissingTenant(context, cachedPolicy === undefined, revision);
    return context.isTenantResolved(cachedPolicy) ? cachedPolicy : await resolveUnderLease(context, cachedPolicy);
  } catch (error) {
    context.onError(error);
    return tenantUnavailable(error);
  }
}

/** Calls the author's function under this lease, unless this isolate has its result already. */
async function resolveUnderLease(context: RequestContext, cachedPolicy: CachedPolicy): Promise<CachedPolicy | Failure> {
  if (context.isTenantResolved(cachedPolicy)) return cachedPolicy;
  const { tenantResolver: resolver } = context.deployment;
  const wasDeclared = resolver?.peek(context.tenant);
  const resolved = await resolver?.resolveUnderLease(cachedPolicy, context.env);
  if (!resolved) {
    // The tenant's streams check their rights again when they hear of a change. Each isolate announces the change once.
    if (wasDeclared) context.waitUntil(createRpcClient(context.stub(cachedPolicy.created), policyStore).changed());
    evictPolicy(context.tenant);
    return resolveMissingTenant(context, false, 0);
  }
  if (isLeased(cachedPolicy)) {
    context.target.tenantResult = resolved;
    return cachedPolicy;
  }
  // The function took longer than a lease lasts: a withdrawal made meanwhile may already be in effect.
  const renewed = await getOrFetchPolicy(context, resolved);
  if (!renewed || !context.isSameTenant(renewed.created)) return resolveMissingTenant(context, false, 0);
  resolver?.renew(cachedPolicy, renewed);
  return resolveUnderLease(context, renewed);
}

/** Response for a URL that is no endpoint's; it does not depend on which tenants exist. */
export function noEndpoint({ request, deployment }: Pick<RequestContext, "request" | "deployment">): Failure {
  const { origin } = new URL(request.url);
  return failure("unknownTenant", `Not found: MCP endpoints are at ${origin}${deployment.path}/mcp/{tenant}`);
}

/** Response for an unknown name: the same as a private tenant's, unless no tenant can have the name. */
export function unknownTenantFailure(
  context: Pick<RequestContext, "request" | "deployment">,
  id: string,
  credential: Credential,
): Failure {
  return isTenantId(id) ? unauthorized(credential) : noEndpoint(context);
}

/**
 * The tenant is gone, although this isolate or KV still listed it. The directory says where another tenant of the same
 * name is. `isAbsent`: there was no tenant at the expected location.
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

const INVALID_KEY = "Invalid credential: the API key is mistyped, expired, revoked, or for another endpoint";
const NO_KEY = { hint: "Send Authorization: Bearer KEY, with a key of this tenant" };
/** Depends on the form of the header alone, not on which tenants and keys exist. */
const NOT_A_KEY =
  "Invalid credential: this does not look like an API key. Send Authorization: Bearer KEY, where KEY is only the key, which begins with tnt_";

/**
 * The same rejection for an unknown name and for a protected tenant, so that nobody can probe for tenants.
 * https://datatracker.ietf.org/doc/html/rfc6750#section-3.1
 */
export function unauthorized(credential: Credential): Failure {
  const { kind } = credential;
  if (kind === "none") return failure("unauthorized", undefined, NO_KEY);
  if (kind === "app") return failure("unauthorized", "Invalid credential");
  const message = isUnrecognized(credential) ? NOT_A_KEY : INVALID_KEY;
  return { ...failure("unauthorized", message), challenge: `${BEARER_CHALLENGE}, error="invalid_token"` };
}

/** Returns undefined if the tenant object has no such tenant. `revision`: the minimum revision of the policy. */
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

/**
 * Whether the tenant object has checked this credential already, or need not, because the credential cannot be a key.
 */
export function isCredentialChecked({ checkedKeys }: CachedPolicy, credential: Credential): boolean {
  const cacheKey = cacheKeyOf(credential);
  return cacheKey === undefined || checkedKeys.has(cacheKey);
}

/** How many leases and keys can be requested at a time. Beyond that, one may be requested once more than needed. */
const MAX_FLIGHTS = 4000;

const flights = new LruMap<SingleFlight<CachedPolicy | undefined>>(MAX_FLIGHTS);

/**
 * Requests that ask for the same thing share a flight: a lease of the tenant at its expected location, or the grant of
 * one of its keys.
 */
function policyFlightFor(
  { id, definition, placement: { jurisdiction } }: Tenant<NewResource>,
  cacheKey = "",
): SingleFlight<CachedPolicy | undefined> {
  const where = definition ? "in code" : jurisdiction;
  // Most often the id alone, which saves building a string. An id has no space in it.
  const name = where === null && cacheKey === "" ? id : `${id} ${where} ${cacheKey}`;
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
  const cacheKey = cacheKeyOf(credential);
  const isChecked = cacheKey === undefined || peekPolicy(tenant.id)?.checkedKeys.has(cacheKey) === true;
  const flight = policyFlightFor(tenant, isChecked ? undefined : cacheKey);
  const isShared = flight.isRunning;
  const fetchLease = () => fetchSeededPolicy(context, tenant);
  let fetched = await flight.run(fetchLease);
  // A lease requested by another request, perhaps before this one arrived, is usable only while it is valid. An earlier
  // "no such tenant" proves nothing: the tenant may have been created since.
  const isUsable = fetched && isLeased(fetched) && fetched.version >= revision;
  if (isShared && !isUsable) fetched = await flight.runNext(fetchLease);
  // A lease requested by another request may bring a new version of the policy, under which this key is not checked
  // yet.
  return !fetched || isCredentialChecked(fetched, credential) ? fetched : fetchPolicy(context, tenant, revision);
}

/**
 * Requests the next lease in the background of an authorized request, once per lease. If that fails, the first request
 * after the lease's end tries again. Skipped if an author's function resolves the tenant: each lease calls the
 * function, so early renewal would call it more often, and make requests wait for it in the middle of a lease.
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
  const cacheKey = cacheKeyOf(credential);
  const request = { maxStalenessMs, inCode: definition !== undefined, placement, key: null };
  if (cacheKey === undefined) return request;
  const hash = await keyHashOf(credential);
  return { ...request, key: hash === null ? null : { cacheKey, hash } };
}

async function fetchSeededPolicy(
  context: RequestContext,
  tenant: Tenant<NewResource>,
): Promise<CachedPolicy | undefined> {
  const { id, definition } = tenant;
  const leaseRequest = await createLeaseRequest(context, tenant);
  const cachedPolicy = await requestLeaseInTime(context, leaseRequest);
  if (!cachedPolicy || cachedPolicy.seeded || !definition) return cachedPolicy;
  // The first lease of a tenant in code also stores the tenant's seed content.
  evictPolicy(id);
  const storage = { storageKey: storageKey(id, cachedPolicy.created), bodies: context.env.BODIES };
  const objects = { stub: context.stub(cachedPolicy.created), content: context.contentStub(cachedPolicy.created) };
  await storeSeed(storage, objects, definition.seed?.() ?? []);
  return requestLease(id, context.stub(), leaseRequest);
}

/** A tenant object that takes longer counts as unreachable. */
const LEASE_TIMEOUT_MS = MAX_DEADLINE_MS;
/** Bound: the calls that are in progress. */
const LEASE_REQUESTS = new DeadlineWatcher();

function requestLeaseInTime(context: RequestContext, leaseRequest: PolicyRequest): Promise<CachedPolicy | undefined> {
  return LEASE_REQUESTS.withTimeout(
    requestLease(context.tenant, context.stub(), leaseRequest),
    LEASE_TIMEOUT_MS,
    context,
    "the tenant object",
  );
}
