// Owns letting a visit in: as whom, and what they see, or why not. Everything comes in this way (POST, GET, DELETE,
// streams, and runs without a request), and again when it may have waited longer than a lease lasts.

import { hostnameOf } from "../auth/origin.ts";
import { isUnrecognized, cacheKeyOf, type Credential } from "../auth/credential.ts";
import { ANONYMOUS, keyPrincipal, type Principal } from "../auth/principal.ts";
import type { NewResource } from "../handlers/resource-store.ts";
import type { ConfiguredTenant } from "../handlers/check-config.ts";
import { mergedDocument, createTenantCatalog, type TenantCatalog } from "../catalog/tenant-catalog.ts";
import { findHidden, type HiddenDefinitions } from "../catalog/hidden-definitions.ts";
import { createView, type ViewOptions, type View } from "../catalog/view.ts";
import type { Bindings, BuiltInFeature, RefreshContext } from "../deployment/deployment.ts";
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
  /** The least revision of the policy that will do. */
  readonly minPolicyRevision?: number;
  /** A snapshot whose lease still held after everything that the visit waited for, so none need be looked up. */
  readonly policy?: CachedPolicy | undefined;
}

/** Never rejects: an authority that cannot be reached is a failure like any other. */
export async function authorizeRequest(
  context: RequestContext,
  { minPolicyRevision, policy }: AuthorizeOptions = {},
): AuthorizationResult {
  // Others' keys may have taken the place of this one in the isolate's memory since: no answer is not a refusal.
  const isUsable = policy && isCredentialChecked(policy, context.target.credential);
  const snapshot = isUsable ? policy : await getTenantPolicy(context, minPolicyRevision);
  if (isFailure(snapshot)) return snapshot;
  const { tenantResult } = context.target;
  return isFailure(tenantResult) ? tenantResult : authorizeUnderPolicy(context, tenantResult, snapshot);
}

/**
 * As `enter`, for who must not take an authority that is away for a moment for one that refuses: tries for about a
 * second. Rejects when it is away for longer.
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
  snapshot: CachedPolicy,
  isSecondAttempt = false,
): AuthorizationResult {
  const derived = getEffectivePolicy(context, tenant, snapshot);
  const { document, resolvePrincipal } = derived;
  const { profile, credential, isOwnHostname: isHosted } = context.target;
  if (isHosted && hasReleasedHostname(context, document)) return noEndpoint(context);
  const principal =
    credential.kind === "app"
      ? resolveAppPrincipal(context, credential.user, document)
      : principalOf(snapshot, credential, {
          profile,
          mode: document.mode ?? "open",
          acceptsUsers: resolvePrincipal !== undefined,
        });
  const tenantState = { tenant, snapshot, derived };
  if (!resolvePrincipal) return authorizeAs(context, tenantState, principal);
  const createRefresh = () => createRefreshContext(context, snapshot, document);
  const resolvedPrincipal = await resolvePrincipal({
    principalResult: principal,
    document,
    context,
    derived: snapshot.memo,
    createRefreshContext: createRefresh,
  });
  if (!isFailure(resolvedPrincipal) || isLeased(snapshot)) return authorizeAs(context, tenantState, resolvedPrincipal);
  // Nobody is refused by what held when it was asked who they are, and may not hold now.
  return isSecondAttempt ? tenantUnavailable() : reauthorizeOnce(context, tenant);
}

/** The directory may not have heard that the document names this hostname no more. */
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
  readonly snapshot: CachedPolicy;
  readonly derived: EffectivePolicy;
}

async function authorizeAs(
  context: RequestContext,
  { tenant, snapshot, derived }: TenantState,
  principalResult: Principal | Failure,
): AuthorizationResult {
  const { document, limits } = derived;
  const tendBy = (time: number) => scheduleRefresh(context, { tenant, snapshot, derived }, time);
  const { profile } = context.target;
  const principal = checkPrincipal(context, snapshot.policy, document, principalResult);
  if (isFailure(principal)) return principal;
  context.maxBodyBytes = document.limits?.bodyBytes ?? getDefaultBodyBytes(context.deployment, context.env);
  if (shouldRefresh(snapshot)) refreshInBackground(context, tenant, snapshot);
  if (derived.refreshAt <= Date.now()) refreshFeatures(context, snapshot, derived);
  const { catalog } = context.deployment;
  const hidden = catalog.guarded && getHidden({ catalog, document, tenant }, context, { profile, principal });
  const { scopes, narrowing } = principal;
  const key = viewKey({ profile, scopes, restrictions: narrowing, hidden });
  const catalogCache = getCatalogCache(context, tenant, snapshot);
  let view = catalogCache.views.get(key);
  if (!view) {
    const catalogOfTenant = catalogCache.catalog ?? (await loadCatalog(context, tenant, snapshot, catalogCache));
    view = createView(catalogOfTenant, { profile, scopes, restrictions: narrowing, hidden });
    catalogCache.views.set(key, view);
  }
  return new AuthorizedRequest({
    context,
    snapshot,
    principal,
    view,
    document,
    limits,
    refreshBy: tendBy,
    reauthorize: authorizeRequest,
  });
}

/** No profile has a blank in its name, and no scope a brace. */
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

/** What is computed on a version of a tenant's policy, once in an isolate. */
interface EffectivePolicy {
  /** What it was made of, beside the policy. */
  readonly definition: Tenant["definition"];
  readonly document: TenantDocument;
  readonly limits: EffectiveLimits;
  readonly resolvePrincipal: BuiltInFeature["resolvePrincipal"];
  /** When the features look after the tenant next (milliseconds since the epoch). */
  refreshAt: number;
}

/** What is computed on the part of a policy that catalogs depend on, once in an isolate. */
interface CatalogCache {
  readonly definition: Tenant["definition"];
  /** Made when somebody is let in first: it may need what is not in this isolate yet. */
  catalog: TenantCatalog | undefined;
  /** By profile, scopes and what a person left out. */
  readonly views: LruMap<View>;
  /** When it is made again because a part could not be loaded (milliseconds since the epoch); Infinity: it is whole. */
  validUntil: number;
}

/** People may each see something else. How many tools, prompts and resources are in the views that a tenant has here. */
const MAX_ITEMS_IN_VIEWS = 100_000;
/** So there are a hundred views of a tenant with few. */
const MIN_ITEMS_PER_VIEW = 1000;

function countItems({ tools, prompts, resources, templates }: View): number {
  return Math.max(MIN_ITEMS_PER_VIEW, tools.length + prompts.length + resources.length + templates.length);
}

/** How long an offer is shown that lacks what neither KV nor the authority could bring. */
const INCOMPLETE_MS = 5_000;

/** Each deployment has its own: one isolate may serve a tenant from two, mounted under different paths. */
function getEffectivePolicy(
  { deployment }: RequestContext,
  tenant: Tenant<NewResource>,
  { memo: derived, policy }: CachedPolicy,
): EffectivePolicy {
  const cached = derived.get(deployment) as EffectivePolicy | undefined;
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
  derived.set(deployment, effective);
  return effective;
}

function getCatalogCache(
  { deployment }: RequestContext,
  { definition }: Tenant<NewResource>,
  { catalogMemo: offers }: CachedPolicy,
): CatalogCache {
  const cached = offers.get(deployment) as CatalogCache | undefined;
  const isSameDefinition = cached && cached.definition === definition;
  if (isSameDefinition && (cached.validUntil === Infinity || isUnexpired(cached.validUntil, INCOMPLETE_MS, Date.now())))
    return cached;
  const fresh: CatalogCache = {
    definition,
    catalog: undefined,
    views: new LruMap(MAX_ITEMS_IN_VIEWS, countItems),
    validUntil: Infinity,
  };
  offers.set(deployment, fresh);
  return fresh;
}

/** How long a feature may take to look after a tenant before it is asked again. */
const REFRESH_TIMEOUT_MS = 30_000;

/** What they would see. */
export async function createViewFor(
  context: RequestContext,
  tenant: Tenant<NewResource>,
  snapshot: CachedPolicy,
  subject: ViewSubject,
): Promise<View> {
  const catalogCache = getCatalogCache(context, tenant, snapshot);
  const catalog = catalogCache.catalog ?? (await loadCatalog(context, tenant, snapshot, catalogCache));
  const { scopes } = subject.principal;
  return createView(catalog, { profile: subject.profile, scopes, hidden: getHidden(catalog, context, subject) });
}

/** Beside the request: nobody waits for it. */
function refreshFeatures(context: RequestContext, snapshot: CachedPolicy, derived: EffectivePolicy): void {
  const { features } = context.deployment;
  const refreshDeadline = (derived.refreshAt = Date.now() + REFRESH_TIMEOUT_MS);
  const refreshContext = createRefreshContext(context, snapshot, derived.document);
  const refreshed = Promise.all(features.map(async (feature) => feature.refresh?.(refreshContext) ?? Infinity));
  context.waitUntil(
    refreshed.then(
      (times) => {
        // Somebody may have wanted it sooner meanwhile, of which the features did not know.
        derived.refreshAt = Math.min(...times, derived.refreshAt < refreshDeadline ? derived.refreshAt : Infinity);
      },
      (error: unknown) => {
        context.onError(error);
      },
    ),
  );
}

/** So long an invocation is kept open for it; later, the next request has the features look after the tenant. */
const REFRESH_MAX_WAIT_MS = 10_000;

/** At that time (milliseconds since the epoch), beside the request, unless they were there meanwhile. */
function scheduleRefresh(context: RequestContext, { tenant, derived }: TenantState, time: number): void {
  derived.refreshAt = Math.min(derived.refreshAt, time);
  const waitMs = Math.max(0, time - Date.now());
  if (waitMs > REFRESH_MAX_WAIT_MS) return;
  const delay = new Promise<void>((resolve) => {
    setTimeout(resolve, waitMs);
  });
  context.waitUntil(
    delay.then(async () => {
      if (derived.refreshAt > Date.now()) return;
      // The document or a suspension may have changed during the wait: authorize again, and tend to the current snapshot.
      const authorized = await authorizeRequest(context);
      if (isFailure(authorized)) return;
      const currentPolicy = getEffectivePolicy(context, tenant, authorized.snapshot);
      if (currentPolicy !== derived) refreshFeatures(context, authorized.snapshot, currentPolicy);
    }),
  );
}

export function createRefreshContext(
  context: RequestContext,
  snapshot: CachedPolicy,
  document: TenantDocument,
): RefreshContext {
  const { tenant, created, version, sections } = snapshot;
  return {
    tenant,
    placement: context.placement,
    created,
    revision: version,
    document,
    sectionHashes: sections,
    server: context.deployment.catalog.server,
    env: context.env as unknown as Bindings,
    stub: () => context.stub(created),
    secret: (name) => readSecret({ env: context.env, snapshot, stub: () => context.stub(created) }, name),
    onError: (error) => {
      context.onError(error);
    },
  };
}

async function loadCatalog(
  context: RequestContext,
  tenant: Tenant<NewResource>,
  snapshot: CachedPolicy,
  catalogCache: CatalogCache,
): Promise<TenantCatalog> {
  const { catalog, features } = context.deployment;
  const { sources, isComplete } = await loadFeatureSources(features, mergedDocument(tenant, snapshot.policy), {
    tenant: tenant.id,
    server: catalog.server,
    sectionHashes: snapshot.sections,
    bodies: context.env.BODIES,
    storageKey: storageKey(tenant.id, snapshot.created),
    stub: () => context.stub(snapshot.created),
  });
  if (!isComplete) catalogCache.validUntil = Date.now() + INCOMPLETE_MS;
  return (catalogCache.catalog = createTenantCatalog(catalog, tenant, snapshot, sources));
}

/** Whether whoever the credential names may come in. */
function checkPrincipal(
  { rejectedPrincipal, target: { profile } }: RequestContext,
  policy: Policy,
  document: TenantDocument,
  principalResult: Principal | Failure,
): Principal | Failure {
  // Nothing runs for them: what was refused to a stored call of theirs is noted.
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
  // What is no key of ours was meant for somebody else, and a refusal has clients look for where to log in.
  if (mode === "open" && isUnrecognized(credential)) return ANONYMOUS;
  const memo = cacheKeyOf(credential);
  const grant = memo === undefined ? undefined : keys.get(memo);
  // A token of a person's is for one endpoint, which only the feature knows that gave it.
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
