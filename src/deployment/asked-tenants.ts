// Owns what the author's function says of tenants: asked under a lease, and held for as long as that lasts, with what else is
// held of the tenant. Refuses to remember who is no tenant, and what could not be asked.

import type { NewResource } from "../calls/resource-store.ts";
import { inTime } from "../tenants/isolate/in-time.ts";
import { lastSnapshot, type Snapshot } from "../tenants/isolate/snapshot.ts";
import type { Tenant, TenantDefinitionOf } from "../tenants/document/tenant-definition.ts";

/** As a method, so that its bindings may be more than the Worker's own. */
interface Asking {
  ask(
    id: string,
    env: object,
  ): TenantDefinitionOf<NewResource> | undefined | Promise<TenantDefinitionOf<NewResource> | undefined>;
}

/** A function that takes longer is one that cannot be reached. */
const WITHIN_MS = 10_000;

interface Said {
  readonly tenant: Tenant<NewResource>;
  /** The end of the lease under which it was asked, milliseconds since the epoch. */
  readonly until: number;
}

export class AskedTenants {
  readonly #ask: Asking["ask"];
  readonly #declare: (id: string, definition: TenantDefinitionOf<NewResource>) => Tenant<NewResource>;

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
    return said && said.until >= snapshot.validUntil ? said.tenant : undefined;
  }

  /** undefined: there is no such tenant. Rejects as the function does, and with a TypeError for a broken definition. */
  async ask(id: string, env: object): Promise<Tenant<NewResource> | undefined> {
    const said = await inTime((async () => this.#ask(id, env))(), WITHIN_MS);
    return said ? this.#declare(id, said) : undefined;
  }

  /** The same under a lease that holds now: a change of which everybody is told later is asked for after it. */
  async askUnder(snapshot: Snapshot, env: object): Promise<Tenant<NewResource> | undefined> {
    const { derived, validUntil } = snapshot;
    const told = await this.ask(snapshot.tenant, env);
    if (!told) return undefined;
    const before = this.#saidIn(snapshot);
    // The same again stays the same object, and everything that was made of it.
    const tenant = before && isSame(before.tenant, told) ? before.tenant : told;
    derived.set(this, { tenant, until: Math.max(validUntil, before?.until ?? 0) } satisfies Said);
    return tenant;
  }

  #saidIn(snapshot: Snapshot | undefined): Said | undefined {
    return snapshot?.derived.get(this) as Said | undefined;
  }
}

/** A function is none of JSON: it is of the first content alone. */
function isSame({ definition: a }: Tenant<NewResource>, { definition: b }: Tenant<NewResource>): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
