// Owns what the author's function says of tenants: asked under a lease, and held for as long as that lasts, with what else is
// held of the tenant. Refuses to remember who is no tenant, and what could not be asked.

import type { NewResource } from "../calls/resource-store.ts";
import { RecentMap } from "../limits/recent-map.ts";
import { lastSnapshot, weighText, type Snapshot } from "../tenants/isolate/snapshot.ts";
import type { Tenant, TenantDefinitionOf } from "../tenants/document/tenant-definition.ts";
import { inTime } from "../tenants/isolate/in-time.ts";
import { SingleFlight } from "../tenants/isolate/single-flight.ts";

/** As a method, so that its bindings may be more than the Worker's own. */
interface Asking {
  ask(
    id: string,
    env: object,
  ): TenantDefinitionOf<NewResource> | undefined | Promise<TenantDefinitionOf<NewResource> | undefined>;
}

type Told = Tenant<NewResource> | undefined;

/** How many names are asked about at a time before somebody asks once more than needed. */
const MAX_NAMES = 1000;
/** A function that takes longer gives no answer. */
const ANSWERED_WITHIN_MS = 10_000;

interface Declared {
  readonly tenant: Tenant<NewResource>;
  /** The definition as JSON, which it has to be. */
  readonly text: string;
}

interface Said {
  readonly tenant: Tenant<NewResource>;
  /** The end of the lease under which it was asked, milliseconds since the epoch. */
  readonly asked: number;
  /** The end of the last lease under which it holds. */
  readonly until: number;
}

export class AskedTenants {
  readonly #ask: Asking["ask"];
  readonly #declare: (id: string, definition: TenantDefinitionOf<NewResource>) => Tenant<NewResource>;

  /** Of names under no lease. */
  readonly #names = new RecentMap<SingleFlight<Told>>(MAX_NAMES);
  /** Under leases: by what is held of one version of a tenant. */
  readonly #versions = new WeakMap<Snapshot["derived"], SingleFlight<Told>>();
  /** What it said last, by what is held of the tenant's catalogs. */
  readonly #declared = new WeakMap<Snapshot["offers"], Declared>();

  /** `declare`: throws a TypeError for what is no definition. */
  constructor(
    ask: Asking["ask"],
    declare: (id: string, definition: TenantDefinitionOf<NewResource>) => Tenant<NewResource>,
  ) {
    this.#ask = ask;
    this.#declare = declare;
  }

  /** What this isolate heard last, however long ago. */
  last(id: string): Tenant<NewResource> | undefined {
    return this.#saidIn(lastSnapshot(id))?.tenant;
  }

  /** What was said since this lease began. */
  under(snapshot: Snapshot): Tenant<NewResource> | undefined {
    const said = this.#saidIn(snapshot);
    // Where that is further ahead than a lease lasts, the clock was set back since.
    const ahead = said ? said.until - snapshot.validUntil : -1;
    return ahead >= 0 && ahead <= snapshot.leaseMs ? said?.tenant : undefined;
  }

  /** Whether somebody asks about it already: then nobody can tell yet that it is none. */
  isAsked(id: string): boolean {
    return this.#names.get(id)?.isUnderWay === true;
  }

  /** undefined: there is no such tenant. Rejects as the function does, and with a TypeError for a broken definition. */
  async ask(id: string, env: object): Promise<Told> {
    return flightFor(this.#names, id).runNext(() => this.#told(id, env));
  }

  /** The same under a lease that holds now: a change of which everybody is told later is asked for after it. */
  async askUnder(snapshot: Snapshot, env: object): Promise<Told> {
    const { derived, tenant } = snapshot;
    return flightFor(this.#versions, derived).runNext(async () => {
      // What is asked for now holds under each lease that was given before, so also under the one that ends last.
      const last = lastSnapshot(tenant);
      const latest = last?.derived === derived && last.validUntil > snapshot.validUntil ? last : snapshot;
      const known = this.#saidIn(latest);
      return this.#keep(latest, known, await this.#told(tenant, env));
    });
  }

  /** Under a lease that began since, what was said holds where nobody has called `changed` meanwhile. */
  renew(before: Snapshot, snapshot: Snapshot): void {
    const said = this.#saidIn(before);
    if (!said || before.version !== snapshot.version || before.created !== snapshot.created) return;
    snapshot.derived.set(this, { ...said, until: snapshot.validUntil } satisfies Said);
  }

  /** Its errors say which function could not say what. */
  async #told(id: string, env: object): Promise<Told> {
    try {
      const said = await inTime(Promise.resolve(this.#ask(id, env)), ANSWERED_WITHIN_MS);
      return said && this.#declare(id, said);
    } catch (error) {
      throw new Error(`tenants("${id}"): ${String(error)}`, { cause: error });
    }
  }

  #keep(snapshot: Snapshot, known: Said | undefined, told: Told): Told {
    if (!told) return undefined;
    const { derived, validUntil } = snapshot;
    // Who asked later, under a lease that began since, and was answered sooner was told what is true now.
    const before = this.#saidIn(snapshot);
    if (before && before !== known && before.asked >= validUntil) return before.tenant;
    const tenant = this.#same(snapshot, told);
    derived.set(this, { tenant, asked: validUntil, until: validUntil } satisfies Said);
    return tenant;
  }

  /** The same again stays the same object, and everything that was made of it. Its functions are none of JSON. */
  #same({ offers, tenant: id }: Snapshot, told: Tenant<NewResource>): Tenant<NewResource> {
    const text = JSON.stringify(told.definition);
    const before = this.#declared.get(offers);
    if (before?.text === text) {
      Object.assign(before.tenant.definition ?? {}, { around: undefined, ...told.definition });
      return before.tenant;
    }
    this.#declared.set(offers, { tenant: told, text });
    weighText(id, text.length - (before?.text.length ?? 0));
    return told;
  }

  #saidIn(snapshot: Snapshot | undefined): Said | undefined {
    return snapshot?.derived.get(this) as Said | undefined;
  }
}

interface Flights<Key> {
  get(key: Key): SingleFlight<Told> | undefined;
  set(key: Key, flight: SingleFlight<Told>): unknown;
}

function flightFor<Key>(flights: Flights<Key>, key: Key): SingleFlight<Told> {
  let flight = flights.get(key);
  if (!flight) flights.set(key, (flight = new SingleFlight()));
  return flight;
}
