// Owns what happens when a tenant's authority cannot be reached: the tenant is closed, or, where it is open and chose
// so, served from this isolate's last snapshot or a copy of its document in KV, marked as stale. These grant and withdraw
// no access, so a tenant with suspensions is not served. An authority that is only overloaded counts as reachable.

import type { TenantDocument } from "../document/tenant-document.ts";
import { EndedSessions } from "./ended-sessions.ts";
import { lastSnapshot, type Snapshot } from "./snapshot.ts";
import { ANYWHERE } from "../directory/placement.ts";

const WRITE_EVERY_MS = 10_000;
/**
 * How long a request that got a stale snapshot may go on with it. It is not held: the next request asks the authority.
 */
const STALE_FOR_MS = 2000;

const keyOf = (tenant: string) => `outage/${tenant}`;
const written = new Map<string, { readonly at: number; readonly version: number }>();

function choosesStale(document: TenantDocument): boolean {
  return document.outage === "stale" && document.mode === "open";
}

/** Writes or deletes the copy when that is due; undefined when it is not. */
export function keepCopy(snapshot: Snapshot, bodies: KVNamespace): Promise<void> | undefined {
  const { tenant, version, policy } = snapshot;
  const last = written.get(tenant);
  if (last?.version === version) return undefined;
  if (!choosesStale(policy.document) || policy.suspensions.length > 0) return dropCopy(snapshot, bodies);
  if (last && Date.now() < last.at + WRITE_EVERY_MS) return undefined;
  written.set(tenant, { at: Date.now(), version });
  return bodies.put(keyOf(tenant), JSON.stringify({ version, document: policy.document }));
}

/**
 * Deletes the copy at once, without waiting for `WRITE_EVERY_MS`: it must not be served any more. Asks KV for nothing
 * where this isolate wrote no copy and the document does not name `outage`.
 */
function dropCopy({ tenant, version, policy }: Snapshot, bodies: KVNamespace): Promise<void> | undefined {
  if (!written.has(tenant) && policy.document.outage === undefined) return undefined;
  written.set(tenant, { at: 0, version });
  return bodies.delete(keyOf(tenant));
}

export function isOverloaded(error: unknown): boolean {
  return typeof error === "object" && error !== null && "overloaded" in error && error.overloaded === true;
}

const stale = new WeakSet<Snapshot>();

export function isStale(snapshot: Snapshot): boolean {
  return stale.has(snapshot);
}

/** undefined: this tenant is closed while its authority is away. */
export async function staleSnapshot(tenant: string, bodies: KVNamespace): Promise<Snapshot | undefined> {
  const last = lastSnapshot(tenant);
  if (last) return choosesStale(last.policy.document) && last.policy.suspensions.length === 0 ? aged(last) : undefined;
  const copy = await bodies.get<{ version: number; document: TenantDocument }>(keyOf(tenant), "json");
  if (!copy || !choosesStale(copy.document)) return undefined;
  return aged({
    tenant,
    version: copy.version,
    created: "",
    policy: { document: copy.document, suspensions: [], retired: [] },
    sections: new Map(),
    ring: [],
    seeded: true,
    validUntil: 0,
    keys: new Map(),
    derived: new Map(),
    ended: new EndedSessions(),
    bytes: 0,
    // This snapshot is not held for other requests, so nobody finds the authority by its placement.
    placement: ANYWHERE,
    inCode: false,
  });
}

function aged(snapshot: Snapshot): Snapshot {
  // Without the keys that it knew: they may have been revoked since.
  const copy = { ...snapshot, keys: new Map<string, null>(), validUntil: Date.now() + STALE_FOR_MS };
  stale.add(copy);
  return copy;
}
