// Owns what the author's function says of tenants: asked under a lease, and held for as long as that lasts, with what else is
// held of the tenant. Refuses to remember who is no tenant, and what could not be asked.

import type { NewResource } from "../handlers/resource-store.ts";
import { LruMap } from "../limits/lru-map.ts";
import { peekPolicy, addTextCost, type CachedPolicy } from "../tenants/cache/policy-cache.ts";
import type { Tenant, TenantDefinitionOf } from "../tenants/document/tenant-definition.ts";
import { withTimeout } from "../tenants/cache/with-timeout.ts";
import { SingleFlight } from "../tenants/cache/single-flight.ts";

/** As a method, so that its bindings may be more than the Worker's own. */
interface TenantsCallback {
  ask(
    id: string,
    env: object,
  ): TenantDefinitionOf<NewResource> | undefined | Promise<TenantDefinitionOf<NewResource> | undefined>;
}

type ResolvedTenant = Tenant<NewResource> | undefined;

/** How many names are asked about at a time before somebody asks once more than needed. */
const MAX_NAMES = 1000;
/** A function that takes longer gives no answer. */
const CALLBACK_TIMEOUT_MS = 10_000;

interface DeclaredTenant {
  readonly tenant: Tenant<NewResource>;
  /** The definition as JSON, which it has to be. */
  readonly text: string;
}

interface LeasedResolution {
  readonly tenant: Tenant<NewResource>;
  /** The end of the lease under which it was asked, milliseconds since the epoch. */
  readonly resolvedUntil: number;
  /** The end of the last lease under which it holds. */
  readonly validUntil: number;
}

export class TenantResolver {
  readonly #resolve: TenantsCallback["ask"];
  readonly #declare: (id: string, definition: TenantDefinitionOf<NewResource>) => Tenant<NewResource>;

  /** Of names under no lease. */
  readonly #flightsByName = new LruMap<SingleFlight<ResolvedTenant>>(MAX_NAMES);
  /** Under leases: by what is held of one version of a tenant. */
  readonly #flightsByVersion = new WeakMap<CachedPolicy["memo"], SingleFlight<ResolvedTenant>>();
  /** What it said last, by what is held of the tenant's catalogs. */
  readonly #declaredByCatalog = new WeakMap<CachedPolicy["catalogMemo"], DeclaredTenant>();

  /** `declare`: throws a TypeError for what is no definition. */
  constructor(
    resolve: TenantsCallback["ask"],
    declare: (id: string, definition: TenantDefinitionOf<NewResource>) => Tenant<NewResource>,
  ) {
    this.#resolve = resolve;
    this.#declare = declare;
  }

  /** What this isolate heard last, however long ago. */
  peek(id: string): Tenant<NewResource> | undefined {
    return this.#resolutionIn(peekPolicy(id))?.tenant;
  }

  /** What was said since this lease began. */
  getForLease(snapshot: CachedPolicy): Tenant<NewResource> | undefined {
    const resolution = this.#resolutionIn(snapshot);
    // Where that is further ahead than a lease lasts, the clock was set back since.
    const ahead = resolution ? resolution.validUntil - snapshot.validUntil : -1;
    return ahead >= 0 && ahead <= snapshot.leaseMs ? resolution?.tenant : undefined;
  }

  /** Whether somebody asks about it already: then nobody can tell yet that it is none. */
  isResolving(id: string): boolean {
    return this.#flightsByName.get(id)?.isRunning === true;
  }

  /** undefined: there is no such tenant. Rejects as the function does, and with a TypeError for a broken definition. */
  async resolve(id: string, env: object): Promise<ResolvedTenant> {
    return tenantFlightFor(this.#flightsByName, id).runNext(() => this.#runCallback(id, env));
  }

  /** The same under a lease that holds now: a change of which everybody is told later is asked for after it. */
  async resolveUnderLease(snapshot: CachedPolicy, env: object): Promise<ResolvedTenant> {
    const { memo: derived, tenant } = snapshot;
    return tenantFlightFor(this.#flightsByVersion, derived).runNext(async () => {
      // What is asked for now holds under each lease that was given before, so also under the one that ends last.
      const last = peekPolicy(tenant);
      const latest = last?.memo === derived && last.validUntil > snapshot.validUntil ? last : snapshot;
      const previous = this.#resolutionIn(latest);
      return this.#store(latest, previous, await this.#runCallback(tenant, env));
    });
  }

  /** Under a lease that began since, what was said holds where nobody has called `changed` meanwhile. */
  renew(before: CachedPolicy, snapshot: CachedPolicy): void {
    const resolution = this.#resolutionIn(before);
    if (!resolution || before.version !== snapshot.version || before.created !== snapshot.created) return;
    snapshot.memo.set(this, { ...resolution, validUntil: snapshot.validUntil } satisfies LeasedResolution);
  }

  /** Its errors say which function could not say what. */
  async #runCallback(id: string, env: object): Promise<ResolvedTenant> {
    try {
      const definition = await withTimeout(Promise.resolve(this.#resolve(id, env)), CALLBACK_TIMEOUT_MS);
      return definition && this.#declare(id, definition);
    } catch (error) {
      throw new Error(`tenants("${id}"): ${String(error)}`, { cause: error });
    }
  }

  #store(snapshot: CachedPolicy, previous: LeasedResolution | undefined, resolved: ResolvedTenant): ResolvedTenant {
    if (!resolved) return undefined;
    const { memo: derived, validUntil } = snapshot;
    // Who asked later, under a lease that began since, and was answered sooner was told what is true now.
    const before = this.#resolutionIn(snapshot);
    if (before && before !== previous && before.resolvedUntil >= validUntil) return before.tenant;
    const tenant = this.#reuseUnchanged(snapshot, resolved);
    derived.set(this, { tenant, resolvedUntil: validUntil, validUntil: validUntil } satisfies LeasedResolution);
    return tenant;
  }

  /** The same again stays the same object, and everything that was made of it. Its functions are none of JSON. */
  #reuseUnchanged(
    { catalogMemo: offers, tenant: id }: CachedPolicy,
    resolved: Tenant<NewResource>,
  ): Tenant<NewResource> {
    const text = JSON.stringify(resolved.definition);
    const before = this.#declaredByCatalog.get(offers);
    if (before?.text === text) {
      Object.assign(before.tenant.definition ?? {}, { around: undefined, ...resolved.definition });
      return before.tenant;
    }
    this.#declaredByCatalog.set(offers, { tenant: resolved, text });
    addTextCost(id, text.length - (before?.text.length ?? 0));
    return resolved;
  }

  #resolutionIn(snapshot: CachedPolicy | undefined): LeasedResolution | undefined {
    return snapshot?.memo.get(this) as LeasedResolution | undefined;
  }
}

interface Flights<Key> {
  get(key: Key): SingleFlight<ResolvedTenant> | undefined;
  set(key: Key, flight: SingleFlight<ResolvedTenant>): unknown;
}

function tenantFlightFor<Key>(flights: Flights<Key>, key: Key): SingleFlight<ResolvedTenant> {
  let flight = flights.get(key);
  if (!flight) flights.set(key, (flight = new SingleFlight()));
  return flight;
}
