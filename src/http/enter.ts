// Owns letting a visit in: as whom, and what they see, or why not. Everything comes in this way (POST, GET, DELETE,
// streams, and runs without a request), and again when it may have waited longer than a lease lasts.

import { hostnameOf } from "../auth/origin.ts";
import { isForeign, memoOf, type Credential } from "../auth/credential.ts";
import { ANONYMOUS, keyPrincipal, type Principal } from "../auth/principal.ts";
import type { NewResource } from "../calls/resource-store.ts";
import type { ConfiguredPlace } from "../content/define/check-config.ts";
import { documentOf, offerOf, type Offer } from "../content/serve/sources.ts";
import { hiddenOf, type Hidden } from "../content/serve/hidden.ts";
import { viewOf, type Seen, type View } from "../content/serve/view.ts";
import type { Bindings, BuiltInFeature, TendGround } from "../deployment/deployment.ts";
import { featureSources } from "../deployment/feature-sources.ts";
import { AppError } from "../protocol/app-error.ts";
import { failure, SUSPENDED_DATA, type Failure } from "../protocol/errors.ts";
import { isFailure } from "../protocol/methods/params.ts";
import { limitsInForce, type LimitsInForce } from "../limits/limit-table.ts";
import { RecentMap } from "../limits/recent-map.ts";
import { persistently } from "../streams/persistently.ts";
import { keptUnder } from "../tenants/authority/incarnation.ts";
import type { KeyGrant, Policy } from "../tenants/authority/policy-records.ts";
import type { Tenant } from "../tenants/document/tenant-definition.ts";
import type { Mode, TenantDocument } from "../tenants/document/tenant-document.ts";
import { idInHostname } from "../tenants/directory/worker-hosts.ts";
import { lasts } from "../tenants/isolate/lasting.ts";
import { isEnding, isLeased, type Snapshot } from "../tenants/isolate/snapshot.ts";
import { readSecret } from "../tenants/isolate/tenant-secrets.ts";
import { appCaller } from "./ask-app.ts";
import { usualBodyBytes } from "./body.ts";
import { Entered } from "./entered.ts";
import { hold, isWorthKnown, noEndpoint, renewAhead, tenantAway, unauthorized } from "./hold-tenant.ts";
import type { Visit } from "./visit.ts";

export interface EnterHow {
  /** The least revision of the policy that will do. */
  readonly revision?: number;
  /** A snapshot whose lease still held after everything that the visit waited for, so none need be looked up. */
  readonly held?: Snapshot | undefined;
}

/** Never rejects: an authority that cannot be reached is a failure like any other. */
export async function enter(visit: Visit, { revision, held }: EnterHow = {}): Entering {
  // Others' keys may have taken the place of this one in the isolate's memory since: no answer is not a refusal.
  const isEnough = held && isWorthKnown(held, visit.knock.credential);
  const snapshot = isEnough ? held : await hold(visit, revision);
  if (isFailure(snapshot)) return snapshot;
  const { known } = visit.knock;
  return isFailure(known) ? known : admit(visit, known, snapshot);
}

/**
 * As `enter`, for who must not take an authority that is away for a moment for one that refuses: tries for about a
 * second. Rejects when it is away for longer.
 */
export function enterPatiently(visit: Visit): Promise<Entered | Failure> {
  return persistently(async () => {
    const entered = await enter(visit);
    if (isFailure(entered) && entered.error === "unavailable") throw new AppError("unavailable");
    return entered;
  });
}

type Entering = Promise<Entered | Failure>;

async function admit(visit: Visit, tenant: Tenant<NewResource>, snapshot: Snapshot, isAgain = false): Entering {
  const derived = derivedFrom(visit, tenant, snapshot);
  const { document, who } = derived;
  const { profile, credential, isHosted } = visit.knock;
  if (isHosted && hasLeft(visit, document)) return noEndpoint(visit);
  const found =
    credential.kind === "app"
      ? appCaller(visit, credential.user, document)
      : principalOf(snapshot, credential, { profile, mode: document.mode ?? "open", takesPeople: who !== undefined });
  const known = { tenant, snapshot, derived };
  if (!who) return admitAs(visit, known, found);
  const tend = () => tendGroundOf(visit, snapshot, document);
  const by = await who({ found, document, visit, derived: snapshot.derived, tend });
  if (!isFailure(by) || isLeased(snapshot)) return admitAs(visit, known, by);
  // Nobody is refused by what held when it was asked who they are, and may not hold now.
  return isAgain ? tenantAway() : admitAgain(visit, tenant);
}

/** The directory may not have heard that the document names this hostname no more. */
function hasLeft({ request, env }: Visit, { hostnames }: TenantDocument): boolean {
  const hostname = hostnameOf(request.headers.get("host") ?? "");
  return hostnames?.includes(hostname) !== true && idInHostname(hostname, env) === undefined;
}

async function admitAgain(visit: Visit, tenant: Tenant<NewResource>): Entering {
  const held = await hold(visit);
  return isFailure(held) ? held : admit(visit, tenant, held, true);
}

interface Known {
  readonly tenant: Tenant<NewResource>;
  readonly snapshot: Snapshot;
  readonly derived: Derived;
}

async function admitAs(visit: Visit, { tenant, snapshot, derived }: Known, found: Principal | Failure): Entering {
  const { document, limits } = derived;
  const tendBy = (time: number) => tendWithin(visit, { tenant, snapshot, derived }, time);
  const { profile } = visit.knock;
  const principal = judged(visit, snapshot.policy, document, found);
  if (isFailure(principal)) return principal;
  visit.mostBytes = document.limits?.bodyBytes ?? usualBodyBytes(visit.deployment, visit.env);
  if (isEnding(snapshot)) renewAhead(visit, tenant, snapshot);
  if (derived.tendAt <= Date.now()) tendTo(visit, snapshot, derived);
  const { catalog } = visit.deployment;
  const hidden = catalog.guarded && hiddenFrom({ catalog, document, tenant }, visit, { profile, principal });
  const { scopes, narrowing } = principal;
  const key = viewKey({ profile, scopes, narrowing, hidden });
  const offered = offeredBy(visit, tenant, snapshot);
  let view = offered.views.get(key);
  if (!view) {
    const offer = offered.offer ?? (await offerTo(visit, tenant, snapshot, offered));
    view = viewOf(offer, { profile, scopes, narrowing, hidden });
    offered.views.set(key, view);
  }
  return new Entered({ visit, snapshot, principal, view, document, limits, tendBy, enter });
}

/** No profile has a blank in its name, and no scope a brace. */
function viewKey({ profile, scopes, narrowing, hidden }: Seen): string {
  const all = scopes === undefined ? (profile ?? "") : `${profile ?? ""} ${scopes.join(" ")}`;
  const named = narrowing ? all + JSON.stringify(narrowing) : all;
  return hidden ? `${hidden.key} ${named}` : named;
}

interface Looking {
  readonly profile: string | null;
  readonly principal: Principal;
}

function hiddenFrom(place: ConfiguredPlace, visit: Visit, { profile, principal }: Looking): Hidden | undefined {
  const tenant = { id: visit.tenant, profile };
  return hiddenOf(place, { principal, tenant }, (error) => {
    visit.onError(error);
  });
}

/** What is computed on a version of a tenant's policy, once in an isolate. */
interface Derived {
  /** What it was made of, beside the policy. */
  readonly definition: Tenant["definition"];
  readonly document: TenantDocument;
  readonly limits: LimitsInForce;
  readonly who: BuiltInFeature["who"];
  /** When the features look after the tenant next (milliseconds since the epoch). */
  tendAt: number;
}

/** What is computed on the part of a policy that catalogs depend on, once in an isolate. */
interface Offered {
  readonly definition: Tenant["definition"];
  /** Made when somebody is let in first: it may need what is not in this isolate yet. */
  offer: Offer | undefined;
  /** By profile, scopes and what a person left out. */
  readonly views: RecentMap<View>;
  /** When it is made again because a part could not be loaded (milliseconds since the epoch); Infinity: it is whole. */
  until: number;
}

/** People may each see something else. How many tools, prompts and resources are in the views that a tenant has here. */
const MOST_IN_VIEWS = 100_000;
/** So there are a hundred views of a tenant with few. */
const LEAST_IN_VIEW = 1000;

function itemsIn({ tools, prompts, resources, templates }: View): number {
  return Math.max(LEAST_IN_VIEW, tools.length + prompts.length + resources.length + templates.length);
}

/** How long an offer is shown that lacks what neither KV nor the authority could bring. */
const INCOMPLETE_MS = 5_000;

/** Each deployment has its own: one isolate may serve a tenant from two, mounted under different paths. */
function derivedFrom({ deployment }: Visit, tenant: Tenant<NewResource>, { derived, policy }: Snapshot): Derived {
  const known = derived.get(deployment) as Derived | undefined;
  const { definition } = tenant;
  if (known && known.definition === definition) return known;
  const document = documentOf(tenant, policy);
  const made: Derived = {
    definition,
    document,
    limits: limitsInForce(deployment.catalog.limits, document.limits),
    who: document.auth && deployment.features.find(({ who }) => who)?.who,
    tendAt: deployment.features.some((feature) => feature.tend) ? 0 : Infinity,
  };
  derived.set(deployment, made);
  return made;
}

function offeredBy({ deployment }: Visit, { definition }: Tenant<NewResource>, { offers }: Snapshot): Offered {
  const known = offers.get(deployment) as Offered | undefined;
  const isOfIt = known && known.definition === definition;
  if (isOfIt && (known.until === Infinity || lasts(known.until, INCOMPLETE_MS, Date.now()))) return known;
  const made: Offered = { definition, offer: undefined, views: new RecentMap(MOST_IN_VIEWS, itemsIn), until: Infinity };
  offers.set(deployment, made);
  return made;
}

/** How long a feature may take to look after a tenant before it is asked again. */
const TENDED_WITHIN_MS = 30_000;

/** What they would see. */
export async function viewFor(
  visit: Visit,
  tenant: Tenant<NewResource>,
  snapshot: Snapshot,
  looking: Looking,
): Promise<View> {
  const offered = offeredBy(visit, tenant, snapshot);
  const offer = offered.offer ?? (await offerTo(visit, tenant, snapshot, offered));
  const { scopes } = looking.principal;
  return viewOf(offer, { profile: looking.profile, scopes, hidden: hiddenFrom(offer, visit, looking) });
}

/** Beside the request: nobody waits for it. */
function tendTo(visit: Visit, snapshot: Snapshot, derived: Derived): void {
  const { features } = visit.deployment;
  const asked = (derived.tendAt = Date.now() + TENDED_WITHIN_MS);
  const ground = tendGroundOf(visit, snapshot, derived.document);
  const tended = Promise.all(features.map(async (feature) => feature.tend?.(ground) ?? Infinity));
  visit.waitUntil(
    tended.then(
      (times) => {
        // Somebody may have wanted it sooner meanwhile, of which the features did not know.
        derived.tendAt = Math.min(...times, derived.tendAt < asked ? derived.tendAt : Infinity);
      },
      (error: unknown) => {
        visit.onError(error);
      },
    ),
  );
}

/** So long an invocation is kept open for it; later, the next request has the features look after the tenant. */
const TEND_WAITS_MS = 10_000;

/** At that time (milliseconds since the epoch), beside the request, unless they were there meanwhile. */
function tendWithin(visit: Visit, { tenant, derived }: Known, time: number): void {
  derived.tendAt = Math.min(derived.tendAt, time);
  const waitMs = Math.max(0, time - Date.now());
  if (waitMs > TEND_WAITS_MS) return;
  const waited = new Promise<void>((resolve) => {
    setTimeout(resolve, waitMs);
  });
  visit.waitUntil(
    waited.then(async () => {
      if (derived.tendAt > Date.now()) return;
      // The document or a suspension may have changed during the wait: authorize again, and tend to the current snapshot.
      const entered = await enter(visit);
      if (isFailure(entered)) return;
      const now = derivedFrom(visit, tenant, entered.snapshot);
      if (now !== derived) tendTo(visit, entered.snapshot, now);
    }),
  );
}

export function tendGroundOf(visit: Visit, snapshot: Snapshot, document: TenantDocument): TendGround {
  const { tenant, created, version, sections } = snapshot;
  return {
    tenant,
    placement: visit.placement,
    created,
    revision: version,
    document,
    leased: sections,
    server: visit.deployment.catalog.server,
    env: visit.env as unknown as Bindings,
    stub: () => visit.stub(created),
    secret: (name) => readSecret({ env: visit.env, snapshot, stub: () => visit.stub(created) }, name),
    onError: (error) => {
      visit.onError(error);
    },
  };
}

async function offerTo(
  visit: Visit,
  tenant: Tenant<NewResource>,
  snapshot: Snapshot,
  offered: Offered,
): Promise<Offer> {
  const { catalog, features } = visit.deployment;
  const { sources, whole } = await featureSources(features, documentOf(tenant, snapshot.policy), {
    tenant: tenant.id,
    server: catalog.server,
    leased: snapshot.sections,
    bodies: visit.env.BODIES,
    kept: keptUnder(tenant.id, snapshot.created),
    stub: () => visit.stub(snapshot.created),
  });
  if (!whole) offered.until = Date.now() + INCOMPLETE_MS;
  return (offered.offer = offerOf(catalog, tenant, snapshot, sources));
}

/** Whether whoever the credential names may come in. */
function judged(
  { noted, knock: { profile } }: Visit,
  policy: Policy,
  document: TenantDocument,
  found: Principal | Failure,
): Principal | Failure {
  // Nothing runs for them: what was refused to a stored call of theirs is noted.
  if (noted) return noted;
  return isFailure(found) ? found : (barredFrom(profile, document) ?? suspensionOf(policy, profile, found) ?? found);
}

function barredFrom(profile: string | null, { profiles }: TenantDocument): Failure | undefined {
  if (profile === null || Object.hasOwn(profiles ?? {}, profile)) return undefined;
  return failure("unknownTenant", "Not found: this tenant has no profile of this name");
}

function suspensionOf({ suspensions }: Policy, profile: string | null, principal: Principal): Failure | undefined {
  if (suspensions.length === 0) return undefined;
  const suspended = suspensions.find(
    ({ kind, name }) =>
      kind === "tenant" || (kind === "profile" && name === profile) || (kind === "principal" && name === principal.id),
  );
  return suspended && failure("suspended", `Suspended: ${suspended.note}`, SUSPENDED_DATA);
}

function principalOf(
  { keys }: Snapshot,
  credential: Credential,
  {
    profile,
    mode,
    takesPeople,
  }: { readonly profile: string | null; readonly mode: Mode; readonly takesPeople: boolean },
): Principal | Failure {
  if (credential.kind === "worker") return credential.principal;
  // What is no key of ours was meant for somebody else, and a refusal has clients look for where to log in.
  if (mode === "open" && isForeign(credential)) return ANONYMOUS;
  const memo = memoOf(credential);
  const grant = memo === undefined ? undefined : keys.get(memo);
  // A token of a person's is for one endpoint, which only the feature knows that gave it.
  if (grant?.person && !takesPeople) return unauthorized(credential);
  if (!grant || (mode === "oauth" && !grant.person) || (grant.expires !== null && grant.expires <= Date.now()))
    return unauthorized(credential);
  if (grant.profile !== null && grant.profile !== profile)
    return failure("forbidden", "This key belongs to another profile");
  return holderOf(grant);
}

const principals = new WeakMap<KeyGrant, Principal>();

function holderOf(grant: KeyGrant): Principal {
  let principal = grant.person ?? principals.get(grant);
  if (!principal) {
    principal = keyPrincipal(grant);
    principals.set(grant, principal);
  }
  return principal;
}
