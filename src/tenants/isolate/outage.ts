// Owns what happens when a tenant's authority cannot be reached: closed by default; where the tenant chose so, an open
// tenant's definitions are served from a copy, and marked. The copy holds nothing that grants or withdraws access, so a
// tenant with suspensions has none. Overloaded is not unreachable.

import type { TenantDocument } from "../document/tenant-document.ts";
import { EndedSessions } from "./ended-sessions.ts";
import { lastSnapshot, type Snapshot } from "./snapshot.ts";
import { ANYWHERE } from "../directory/placement.ts";

const WRITE_EVERY_MS = 10_000;
/** How long a stale answer is repeated before the authority is tried again. */
const STALE_FOR_MS = 2000;

const keyOf = (tenant: string) => `outage/${tenant}`;
const written = new Map<string, { readonly at: number; readonly version: number }>();

function choosesStale(document: TenantDocument): boolean {
  return document.outage === "stale" && document.mode === "open";
}

/** The write to wait for in the background, when there is one to make. */
export function keepCopy(snapshot: Snapshot, bodies: KVNamespace): Promise<void> | undefined {
  const { tenant, version, policy } = snapshot;
  const last = written.get(tenant);
  if (last?.version === version) return undefined;
  if (!choosesStale(policy.document) || policy.suspensions.length > 0) return dropCopy(snapshot, bodies);
  if (last && Date.now() < last.at + WRITE_EVERY_MS) return undefined;
  written.set(tenant, { at: Date.now(), version });
  return bodies.put(keyOf(tenant), JSON.stringify({ version, document: policy.document }));
}

/** At once: a copy that may be served no more does not wait its turn. A tenant that never said `outage` never had one. */
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
    // Not held, so nobody looks for the authority by it.
    placement: ANYWHERE,
  });
}

function aged(snapshot: Snapshot): Snapshot {
  // Keys may have been revoked since.
  const copy = { ...snapshot, keys: new Map<string, null>(), validUntil: Date.now() + STALE_FOR_MS };
  stale.add(copy);
  return copy;
}
