// Owns what this isolate holds of each tenant and for how long: the lease rule's half on the serving side.
// No request awaits another request's promise: two that find the lease ended both ask, and the later answer stays.

import { authorityTables, type Grant } from "./authority.ts";
import { remote, type TenantStub } from "./tables.ts";

/** Milliseconds a lease lasts from the moment it was asked for, unless the tenant says otherwise. */
export const DEFAULT_MAX_STALENESS_MS = 5000;

export interface Lease extends Grant {
  readonly validUntil: number;
}

const held = new Map<string, Lease>();

export function heldLease(tenant: string): Lease | undefined {
  const lease = held.get(tenant);
  return lease !== undefined && Date.now() < lease.validUntil ? lease : undefined;
}

export async function askLease(tenant: string, stub: TenantStub, maxStalenessMs: number): Promise<Lease> {
  const asked = Date.now();
  const grant = await remote(stub, authorityTables).lease();
  const before = held.get(tenant);
  // The same keys stay the same objects, because imported keys and opened sessions hang on them.
  const ring = before && sameKeys(before, grant) ? before.ring : grant.ring;
  const lease = { ...grant, ring, validUntil: asked + maxStalenessMs };
  held.set(tenant, lease);
  return lease;
}

function sameKeys(a: Grant, b: Grant): boolean {
  return a.ring.length === b.ring.length && a.ring.every((key, at) => key.id === b.ring[at]?.id);
}

/** The next request asks again. */
export function dropLease(tenant: string): void {
  held.delete(tenant);
}
