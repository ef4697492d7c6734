// Authenticates and authorizes a request. All requests come this way (POST, GET, DELETE, streams, and runs without a
// request), and again after any wait that may be longer than the lease.

import { hostnameOf } from "../auth/origin.ts";
import { isUnrecognized, cacheKeyOf, type Credential } from "../auth/credential.ts";
import { ANONYMOUS, keyPrincipal, type Principal } from "../auth/principal.ts";
import type { NewResource } from "../handlers/resource-store.ts";
import type { ConfiguredTenant } from "../handlers/check-config.ts";
import { mergedDocument, createTenantCatalog, type TenantCatalog } from "../catalog/tenant-catalog.ts";
import { findHidden, type HiddenDefinitions } from "../catalog/hidden-definitions.ts";
import { createView, type ViewOptions, type View } from "../catalog/view.ts";
import type { UntypedEnv, BuiltInFeature, RefreshContext } from "../deployment/deployment.ts";
import { loadFeatureSources } from "../deployment/feature-sources.ts";
import { AppError } from "../protocol/app-error.ts";
import { failure, SUSPENDED_DATA, type Failure } from "../protocol/errors.ts";
import { isFailure } from "../protocol/methods/params.ts";
import { resolveLimits, type EffectiveLimits } from "../limits/limit-definitions.ts";
import { LruMap } from "../limits/lru-map.ts";
import { withRetries } from "../streams/with-retries.ts";
import { storageKey } from "../tenants/object/tenant-uid.ts";
import type { KeyGrant, Policy } from "../tenants/object/policy-records.ts";
import type { Tenant } from "../tenants/document/tenant-definition.ts";
import type { Mode, TenantDocument } from "../tenants/document/tenant-document.ts";
import { tenantIdInHostname } from "../tenants/directory/worker-hosts.ts";
import { isUnexpired } from "../tenants/cache/is-unexpired.ts";
import { shouldRefresh, isLeased, type CachedPolicy } from "../tenants/cache/policy-cache.ts";
import { readSecret } from "../tenants/cache/tenant-secrets.ts";
import { resolveAppPrincipal } from "./authenticate-with-app.ts";
import { getDefaultBodyBytes } from "./body.ts";
import { AuthorizedRequest } from "./authorized-request.ts";
import {
  getTenantPolicy,
  isCredentialChecked,
  noEndpoint,
  refreshInBackground,
  tenantUnavailable,
  unauthorized,
} from "./tenant-policy.ts";
import type { RequestContext } from "./request-context.ts";

export interface AuthorizeOptions {
  /** The minimum revision of the policy. */
  readonly minPolicyRevision?: number;
  /** A cached policy whose lease was still valid after all waits of the request, so that none need be looked up. */
  readonly policy?: CachedPolicy | undefined;
}

/** Never rejects: an unreachable tenant object is a failure like any other. */
export async function authorizeRequest(
  context: RequestContext,
  { minPolicyRevision, policy }: AuthorizeOptions = {},
): AuthorizationResult {
  // Other requests' keys may have evicted this key from the isolate's cache: a missing grant is not a rejection.
  const isUsable = policy && isCredentialChecked(policy, context.target.credential);
  const cachedPolicy = isUsable ? policy : await getTenantPolicy(context, minPolicyRevision);
  if (isFailure(cachedPolicy)) return cachedPolicy;
  const { tenantResult } = context.target;
  return isFailure(tenantResult) ? tenantResult : authorizeUnderPolicy(context, tenantResult, cachedPolicy);
}

/**
 * Like `authorizeRequest`, for callers that must not mistake a brief outage of the tenant object for a rejection.
 * Retries for about a second, then rejects.
 */
export function authorizeWithRetry(context: RequestContext): Promise<AuthorizedRequest | Failure> {
  return withRetries(async () => {
    const authorized = await authorizeRequest(context);
    if (isFailure(authorized) && authorized.error === "unavailable") throw new AppError("unavailable");
    return authorized;
  });
}

type AuthorizationResult = Promise<AuthorizedRequest | Failure>;

async function authorizeUnderPolicy(
  context: RequestContext,
  tenant: Tenant<NewResource>,
  cachedPolicy: CachedPolicy,
  isSecondAttempt = false,
): AuthorizationResult {
  const effectivePolicy = getEffectivePolicy(context, tenant, cachedPolicy);
  const { document, resolvePrincipal } = effectivePolicy;
  const { profile, credential, isOwnHostname: isHosted } = context.target;
  if (isHosted && hasReleasedHostname(context, document)) return noEndpoint(context);
  const principal =
    credential.kind === "app"
      ? resolveAppPrincipal(context, credential.user, document)
      : principalOf(cachedPolicy, credential, {
          profile,
          mode: document.mode ?? "open",
          acceptsUsers: resolvePrincipal !== undefined,
        });
  const tenantState = { tenant, cachedPolicy, effectivePolicy };
  if (!resolvePrincipal) return authorizeAs(context, tenantState, principal);
  const createRefresh = () => createRefreshContext(context, cachedPolicy, document);
  const resolvedPrincipal = await resolvePrincipal({
    principalResult: principal,
    document,
    context,
    memo: cachedPolicy.memo,
    createRefreshContext: createRefresh,
  });
  if (!isFailure(resolvedPrincipal) || isLeased(cachedPolicy))
    return authorizeAs(context, tenantState, resolvedPrincipal);
  // The lease ended while the principal was being resolved. A request must not be rejected by a policy that may no
  // longer be current.
  return isSecondAttempt ? tenantUnavailable() : reauthorizeOnce(context, tenant);
}

/** The directory may be outdated: the tenant's document may no longer name this hostname. */
function hasReleasedHostname({ request, env }: RequestContext, { hostnames }: TenantDocument): boolean {
  const hostname = hostnameOf(request.headers.get("host") ?? "");
  return hostnames?.includes(hostname) !== true && tenantIdInHostname(hostname, env) === undefined;
}

async function reauthorizeOnce(context: RequestContext, tenant: Tenant<NewResource>): AuthorizationResult {
  const policy = await getTenantPolicy(context);
  return isFailure(policy) ? policy : authorizeUnderPolicy(context, tenant, policy, true);
}

interface TenantState {
  readonly tenant: Tenant<NewResource>;
  readonly cachedPolicy: CachedPolicy;
  readonly effectivePolicy: EffectivePolicy;
}

async function authorizeAs(
  context: RequestContext,
  { tenant, cachedPolicy, effectivePolicy }: TenantState,
  principalResult: Principal | Failure,
): AuthorizationResult {
  const { document, limits } = effectivePolicy;
  const refreshBy = (time: number) => scheduleRefresh(context, { tenant, cachedPolicy, effectivePolicy }, time);
  const { profile } = context.target;
  const principal = checkPrincipal(context, cachedPolicy.policy, document, principalResult);
  if (isFailure(principal)) return principal;
  context.maxBodyBytes = document.limits?.bodyBytes ?? getDefaultBodyBytes(context.deployment, context.env);
  if (shouldRefresh(cachedPolicy)) refreshInBackground(context, tenant, cachedPolicy);
  if (effectivePolicy.refreshAt <= Date.now()) refreshFeatures(context, cachedPolicy, effectivePolicy);
  const { catalog } = context.deployment;
  const hidden = catalog.guarded && getHidden({ catalog, document, tenant }, context, { profile, principal });
  const { scopes, narrowing } = principal;
  const key = viewKey({ profile, scopes, restrictions: narrowing, hidden });
  const catalogCache = getCatalogCache(context, tenant, cachedPolicy);
  let view = catalogCache.views.get(key);
  if (!view) {
    const catalogOfTenant = catalogCache.catalog ?? (await loadCatalog(context, tenant, cachedPolicy, catalogCache));
    view = createView(catalogOfTenant, { profile, scopes, restrictions: narrowing, hidden });
    catalogCache.views.set(key, view);
  }
  return new AuthorizedRequest({
    context,
    cachedPolicy,
    principal,
    view,
    document,
    limits,
    refreshBy,
    reauthorize: authorizeRequest,
  });
}

/** Keys are unambiguous: a profile name contains no space, and a scope contains no brace. */
function viewKey({ profile, scopes, restrictions: narrowing, hidden }: ViewOptions): string {
  const scopeKey = scopes === undefined ? (profile ?? "") : `${profile ?? ""} ${scopes.join(" ")}`;
  const restrictedKey = narrowing ? scopeKey + JSON.stringify(narrowing) : scopeKey;
  return hidden ? `${hidden.key} ${restrictedKey}` : restrictedKey;
}

interface ViewSubject {
  readonly profile: string | null;
  readonly principal: Principal;
}

function getHidden(
  place: ConfiguredTenant,
  context: RequestContext,
  { profile, principal }: ViewSubject,
): HiddenDefinitions | undefined {
  const tenant = { id: context.tenant, profile };
  return findHidden(place, { principal, tenant }, (error) => {
    context.onError(error);
  });
}

/** Values computed once per isolate from a version of a tenant's policy. */
interface EffectivePolicy {
  /** The input besides the policy. */
  readonly definition: Tenant["definition"];
  readonly document: TenantDocument;
  readonly limits: EffectiveLimits;
  readonly resolvePrincipal: BuiltInFeature["resolvePrincipal"];
  /** When the features' next refresh is due (milliseconds since the epoch). */
  refreshAt: number;
}

/** Values computed once per isolate from the part of a policy that catalogs depend on. */
interface CatalogCache {
  readonly definition: Tenant["definition"];
  /** Created at the first authorized request: loading may need data that is not in this isolate yet. */
  catalog: TenantCatalog | undefined;
  /** Keyed by profile, scopes, the user's restrictions and hidden definitions. */
  readonly views: LruMap<View>;
  /**
   * When the catalog is rebuilt because a part could not be loaded (milliseconds since the epoch). Infinity: it is
   * complete.
   */
  validUntil: number;
}

/**
 * Each user may have a different view. Bounds the number of tools, prompts and resources in one tenant's views in this
 * isolate.
 */
const MAX_ITEMS_IN_VIEWS = 100_000;
/** With few items per view, a tenant has at most a hundred views. */
const MIN_ITEMS_PER_VIEW = 1000;

function countItems({ tools, prompts, resources, templates }: View): number {
  return Math.max(MIN_ITEMS_PER_VIEW, tools.length + prompts.length + resources.length + templates.length);
}

/** How long an incomplete catalog is used, if neither KV nor the tenant object could provide a part. */
const INCOMPLETE_MS = 5_000;

/** Keyed by deployment: one isolate may serve a tenant from two Workers, mounted under different paths. */
function getEffectivePolicy(
  { deployment }: RequestContext,
  tenant: Tenant<NewResource>,
  { memo, policy }: CachedPolicy,
): EffectivePolicy {
  const cached = memo.get(deployment) as EffectivePolicy | undefined;
  const { definition } = tenant;
  if (cached && cached.definition === definition) return cached;
  const document = mergedDocument(tenant, policy);
  const effective: EffectivePolicy = {
    definition,
    document,
    limits: resolveLimits(deployment.catalog.limits, document.limits),
    resolvePrincipal:
      document.auth && deployment.features.find(({ resolvePrincipal }) => resolvePrincipal)?.resolvePrincipal,
    refreshAt: deployment.features.some((feature) => feature.refresh) ? 0 : Infinity,
  };
  memo.set(deployment, effective);
  return effective;
}

function getCatalogCache(
  { deployment }: RequestContext,
  { definition }: Tenant<NewResource>,
  { catalogMemo }: CachedPolicy,
): CatalogCache {
  const cached = catalogMemo.get(deployment) as CatalogCache | undefined;
  const isSameDefinition = cached && cached.definition === definition;
  if (isSameDefinition && (cached.validUntil === Infinity || isUnexpired(cached.validUntil, INCOMPLETE_MS, Date.now())))
    return cached;
  const fresh: CatalogCache = {
    definition,
    catalog: undefined,
    views: new LruMap(MAX_ITEMS_IN_VIEWS, countItems),
    validUntil: Infinity,
  };
  catalogMemo.set(deployment, fresh);
  return fresh;
}

/** How long features may take to refresh before they are called again. */
const REFRESH_TIMEOUT_MS = 30_000;

/** The view that a subject would have. */
export async function createViewFor(
  context: RequestContext,
  tenant: Tenant<NewResource>,
  cachedPolicy: CachedPolicy,
  subject: ViewSubject,
): Promise<View> {
  const catalogCache = getCatalogCache(context, tenant, cachedPolicy);
  const catalog = catalogCache.catalog ?? (await loadCatalog(context, tenant, cachedPolicy, catalogCache));
  const { scopes } = subject.principal;
  return createView(catalog, { profile: subject.profile, scopes, hidden: getHidden(catalog, context, subject) });
}

/** Runs in the background: no request waits for it. */
function refreshFeatures(context: RequestContext, cachedPolicy: CachedPolicy, effectivePolicy: EffectivePolicy): void {
  const { features } = context.deployment;
  const refreshDeadline = (effectivePolicy.refreshAt = Date.now() + REFRESH_TIMEOUT_MS);
  const refreshContext = createRefreshContext(context, cachedPolicy, effectivePolicy.document);
  const refreshed = Promise.all(features.map(async (feature) => feature.refresh?.(refreshContext) ?? Infinity));
  context.waitUntil(
    refreshed.then(
      (times) => {
        // An earlier refresh may have been scheduled meanwhile, without the features knowing.
        effectivePolicy.refreshAt = Math.min(
          ...times,
          effectivePolicy.refreshAt < refreshDeadline ? effectivePolicy.refreshAt : Infinity,
        );
      },
      (error: unknown) => {
        context.onError(error);
      },
    ),
  );
}

/** How long an invocation is kept open for a refresh. A later refresh is left to the next request. */
const REFRESH_MAX_WAIT_MS = 10_000;

/**
 * Refreshes the features at `time` (milliseconds since the epoch), in the background, unless they were refreshed
 * meanwhile.
 */
function scheduleRefresh(context: RequestContext, { tenant, effectivePolicy }: TenantState, time: number): void {
  effectivePolicy.refreshAt = Math.min(effectivePolicy.refreshAt, time);
  const waitMs = Math.max(0, time - Date.now());
  if (waitMs > REFRESH_MAX_WAIT_MS) return;
  const delay = new Promise<void>((resolve) => {
    setTimeout(resolve, waitMs);
  });
  context.waitUntil(
    delay.then(async () => {
      if (effectivePolicy.refreshAt > Date.now()) return;
      // The document or a suspension may have changed during the wait: authorize again, and refresh under the current
      // policy.
      const authorized = await authorizeRequest(context);
      if (isFailure(authorized)) return;
      const currentPolicy = getEffectivePolicy(context, tenant, authorized.cachedPolicy);
      if (currentPolicy !== effectivePolicy) refreshFeatures(context, authorized.cachedPolicy, currentPolicy);
    }),
  );
}

export function createRefreshContext(
  context: RequestContext,
  cachedPolicy: CachedPolicy,
  document: TenantDocument,
): RefreshContext {
  const { tenant, created, version, sections } = cachedPolicy;
  return {
    tenant,
    placement: context.placement,
    created,
    revision: version,
    document,
    sectionHashes: sections,
    server: context.deployment.catalog.server,
    env: context.env as unknown as UntypedEnv,
    stub: () => context.stub(created),
    secret: (name) => readSecret({ env: context.env, cachedPolicy, stub: () => context.stub(created) }, name),
    onError: (error) => {
      context.onError(error);
    },
  };
}

async function loadCatalog(
  context: RequestContext,
  tenant: Tenant<NewResource>,
  cachedPolicy: CachedPolicy,
  catalogCache: CatalogCache,
): Promise<TenantCatalog> {
  const { catalog, features } = context.deployment;
  const { sources, isComplete } = await loadFeatureSources(features, mergedDocument(tenant, cachedPolicy.policy), {
    tenant: tenant.id,
    server: catalog.server,
    sectionHashes: cachedPolicy.sections,
    bodies: context.env.BODIES,
    storageKey: storageKey(tenant.id, cachedPolicy.created),
    stub: () => context.stub(cachedPolicy.created),
  });
  if (!isComplete) catalogCache.validUntil = Date.now() + INCOMPLETE_MS;
  return (catalogCache.catalog = createTenantCatalog(catalog, tenant, cachedPolicy, sources));
}

/** Whether the principal has access. */
function checkPrincipal(
  { rejectedPrincipal, target: { profile } }: RequestContext,
  policy: Policy,
  document: TenantDocument,
  principalResult: Principal | Failure,
): Principal | Failure {
  // A rejected stored call runs nothing: this principal only appears in the record of the rejection.
  if (rejectedPrincipal) return rejectedPrincipal;
  return isFailure(principalResult)
    ? principalResult
    : (checkProfile(profile, document) ?? suspensionOf(policy, profile, principalResult) ?? principalResult);
}

function checkProfile(profile: string | null, { profiles }: TenantDocument): Failure | undefined {
  if (profile === null || Object.hasOwn(profiles ?? {}, profile)) return undefined;
  return failure("unknownTenant", "Not found: this tenant has no profile of this name");
}

function suspensionOf({ suspensions }: Policy, profile: string | null, principal: Principal): Failure | undefined {
  if (suspensions.length === 0) return undefined;
  const suspension = suspensions.find(
    ({ kind, name }) =>
      kind === "tenant" || (kind === "profile" && name === profile) || (kind === "principal" && name === principal.id),
  );
  return suspension && failure("suspended", `Suspended: ${suspension.note}`, SUSPENDED_DATA);
}

function principalOf(
  { keys }: CachedPolicy,
  credential: Credential,
  {
    profile,
    mode,
    acceptsUsers,
  }: { readonly profile: string | null; readonly mode: Mode; readonly acceptsUsers: boolean },
): Principal | Failure {
  if (credential.kind === "worker") return credential.principal;
  // On an open tenant, a credential that is not one of our keys was meant for another server. A rejection would make
  // clients look for a login.
  if (mode === "open" && isUnrecognized(credential)) return ANONYMOUS;
  const cacheKey = cacheKeyOf(credential);
  const grant = cacheKey === undefined ? undefined : keys.get(cacheKey);
  // A user's token is for one endpoint, and only the feature that issued it knows which.
  if (grant?.person && !acceptsUsers) return unauthorized(credential);
  if (!grant || (mode === "oauth" && !grant.person) || (grant.expires !== null && grant.expires <= Date.now()))
    return unauthorized(credential);
  if (grant.profile !== null && grant.profile !== profile)
    return failure("forbidden", "This key belongs to another profile");
  return principalOfGrant(grant);
}

const principals = new WeakMap<KeyGrant, Principal>();

function principalOfGrant(grant: KeyGrant): Principal {
  let principal = grant.person ?? principals.get(grant);
  if (!principal) {
    principal = keyPrincipal(grant);
    principals.set(grant, principal);
  }
  return principal;
}
