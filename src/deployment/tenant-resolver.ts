// Calls the author's `tenants` function, and caches its result for as long as the policy lease lasts, with the cached
// policy. Unknown tenants and errors are not cached.

import type { NewResource } from "../handlers/resource-store.ts";
import { LruMap } from "../limits/lru-map.ts";
import { peekPolicy, addTextCost, type CachedPolicy } from "../tenants/cache/policy-cache.ts";
import type { Tenant, TenantDefinitionOf } from "../tenants/document/tenant-definition.ts";
import { withTimeout } from "../tenants/cache/with-timeout.ts";
import { SingleFlight } from "../tenants/cache/single-flight.ts";

/** A method, because method parameters are bivariant: the author's bindings may be more than the Worker's own. */
interface TenantsCallback {
  ask(
    id: string,
    env: object,
  ): TenantDefinitionOf<NewResource> | undefined | Promise<TenantDefinitionOf<NewResource> | undefined>;
}

type ResolvedTenant = Tenant<NewResource> | undefined;

/** How many names can be resolved at a time. Beyond that, a name may be resolved once more than needed. */
const MAX_NAMES = 1000;
/** If the function takes longer, the call fails. */
const CALLBACK_TIMEOUT_MS = 10_000;

interface DeclaredTenant {
  readonly tenant: Tenant<NewResource>;
  /** The definition as JSON; it must be serializable. */
  readonly text: string;
}

interface LeasedResolution {
  readonly tenant: Tenant<NewResource>;
  /** The end of the lease under which the tenant was resolved, milliseconds since the epoch. */
  readonly resolvedUntil: number;
  /** The end of the last lease under which the result is valid. */
  readonly validUntil: number;
}

export class TenantResolver {
  readonly #resolve: TenantsCallback["ask"];
  readonly #declare: (id: string, definition: TenantDefinitionOf<NewResource>) => Tenant<NewResource>;

  /** For names without a lease. */
  readonly #flightsByName = new LruMap<SingleFlight<ResolvedTenant>>(MAX_NAMES);
  /** For names under a lease, by the memo of one version of the tenant's policy. */
  readonly #flightsByVersion = new WeakMap<CachedPolicy["memo"], SingleFlight<ResolvedTenant>>();
  /** The last result, by the memo of the tenant's catalogs. */
  readonly #declaredByCatalog = new WeakMap<CachedPolicy["catalogMemo"], DeclaredTenant>();

  /** `declare` throws a TypeError for an invalid definition. */
  constructor(
    resolve: TenantsCallback["ask"],
    declare: (id: string, definition: TenantDefinitionOf<NewResource>) => Tenant<NewResource>,
  ) {
    this.#resolve = resolve;
    this.#declare = declare;
  }

  /** The last result in this isolate, no matter how old. */
  peek(id: string): Tenant<NewResource> | undefined {
    return this.#resolutionIn(peekPolicy(id))?.tenant;
  }

  /** The result since this lease began. */
  getForLease(cachedPolicy: CachedPolicy): Tenant<NewResource> | undefined {
    const resolution = this.#resolutionIn(cachedPolicy);
    // A result that is ahead by more than a lease means that the clock was set back since.
    const ahead = resolution ? resolution.validUntil - cachedPolicy.validUntil : -1;
    return ahead >= 0 && ahead <= cachedPolicy.leaseMs ? resolution?.tenant : undefined;
  }

  /** Whether a call for this name is running: until it ends, the name may turn out to exist. */
  isResolving(id: string): boolean {
    return this.#flightsByName.get(id)?.isRunning === true;
  }

  /**
   * Returns undefined if there is no such tenant. Rejects with the function's error, or with a TypeError for an invalid
   * definition.
   */
  async resolve(id: string, env: object): Promise<ResolvedTenant> {
    return tenantFlightFor(this.#flightsByName, id).runNext(() => this.#runCallback(id, env));
  }

  /**
   * Resolves the tenant under a current lease. A change that is announced later triggers another call after this one.
   */
  async resolveUnderLease(cachedPolicy: CachedPolicy, env: object): Promise<ResolvedTenant> {
    const { memo, tenant } = cachedPolicy;
    return tenantFlightFor(this.#flightsByVersion, memo).runNext(async () => {
      // A result requested now is valid under each lease granted before, so also under the one that ends last.
      const last = peekPolicy(tenant);
      const latest = last?.memo === memo && last.validUntil > cachedPolicy.validUntil ? last : cachedPolicy;
      const previous = this.#resolutionIn(latest);
      return this.#store(latest, previous, await this.#runCallback(tenant, env));
    });
  }

  /**
   * Keeps the result for a new lease if the policy's version is the same: then nobody has called `changed` meanwhile.
   */
  renew(before: CachedPolicy, cachedPolicy: CachedPolicy): void {
    const resolution = this.#resolutionIn(before);
    if (!resolution || before.version !== cachedPolicy.version || before.created !== cachedPolicy.created) return;
    cachedPolicy.memo.set(this, { ...resolution, validUntil: cachedPolicy.validUntil } satisfies LeasedResolution);
  }

  /** Wraps errors, so that they name the function and the tenant. */
  async #runCallback(id: string, env: object): Promise<ResolvedTenant> {
    try {
      const definition = await withTimeout(
        Promise.resolve(this.#resolve(id, env)),
        CALLBACK_TIMEOUT_MS,
        "your function",
      );
      return definition && this.#declare(id, definition);
    } catch (error) {
      throw new Error(`tenants("${id}"): ${String(error)}`, { cause: error });
    }
  }

  #store(cachedPolicy: CachedPolicy, previous: LeasedResolution | undefined, resolved: ResolvedTenant): ResolvedTenant {
    if (!resolved) return undefined;
    const { memo, validUntil } = cachedPolicy;
    // A call that started later, under a newer lease, and finished sooner has the newer result.
    const before = this.#resolutionIn(cachedPolicy);
    if (before && before !== previous && before.resolvedUntil >= validUntil) return before.tenant;
    const tenant = this.#reuseUnchanged(cachedPolicy, resolved);
    memo.set(this, { tenant, resolvedUntil: validUntil, validUntil: validUntil } satisfies LeasedResolution);
    return tenant;
  }

  /**
   * An unchanged definition keeps its object, and everything computed from it. Functions are not part of the JSON, so
   * they are copied over.
   */
  #reuseUnchanged({ catalogMemo, tenant: id }: CachedPolicy, resolved: Tenant<NewResource>): Tenant<NewResource> {
    const text = JSON.stringify(resolved.definition);
    const before = this.#declaredByCatalog.get(catalogMemo);
    if (before?.text === text) {
      Object.assign(before.tenant.definition ?? {}, { around: undefined, ...resolved.definition });
      return before.tenant;
    }
    this.#declaredByCatalog.set(catalogMemo, { tenant: resolved, text });
    addTextCost(id, text.length - (before?.text.length ?? 0));
    return resolved;
  }

  #resolutionIn(cachedPolicy: CachedPolicy | undefined): LeasedResolution | undefined {
    return cachedPolicy?.memo.get(this) as LeasedResolution | undefined;
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
