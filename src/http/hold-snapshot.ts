// Owns holding the snapshot that a visit is let in by: without a call while the lease holds and the credential is
// known, with exactly one otherwise, and from a copy where a tenant chose that for an outage.

import { keyHashOf, memoOf, type Credential } from "../auth/credential.ts";
import { storeSeed } from "../content/store/seed.ts";
import { endOutage, isOverloaded, keepCopy, repeatedSnapshot, staleSnapshot } from "../tenants/isolate/outage.ts";
import {
  askSnapshot,
  dropSnapshot,
  validSnapshot,
  type Snapshot,
  type SnapshotAsk,
} from "../tenants/isolate/snapshot.ts";
import { inTime } from "../tenants/isolate/in-time.ts";
import { keptUnder } from "../tenants/authority/incarnation.ts";
import type { NewResource } from "../calls/resource-store.ts";
import type { Tenant } from "../tenants/document/tenant-definition.ts";
import type { Visit } from "./visit.ts";

/** undefined: the authority has no such tenant. `revision`: the least revision of the policy that will do. */
export function holdSnapshot(
  visit: Visit,
  tenant: Tenant<NewResource>,
  revision = 0,
): Snapshot | Promise<Snapshot | undefined> {
  const held = validSnapshot(tenant.id) ?? repeatedSnapshot(tenant.id);
  if (held && held.version >= revision && isWorthKnown(held, visit.knock.credential)) return held;
  return takeSnapshot(visit, tenant);
}

/** Whether the authority was asked about this credential already, or need not be, because it cannot be a key. */
export function isWorthKnown({ keys }: Snapshot, credential: Credential): boolean {
  const memo = memoOf(credential);
  return memo === undefined || keys.has(memo);
}

async function takeSnapshot(visit: Visit, tenant: Tenant<NewResource>): Promise<Snapshot | undefined> {
  const { id, definition, maxStalenessMs, placement } = tenant;
  const { credential } = visit.knock;
  const memo = memoOf(credential);
  const hash = memo === undefined ? null : await keyHashOf(credential);
  const key = memo === undefined || hash === null ? null : { memo, hash };
  const ask = { maxStalenessMs, inCode: definition !== undefined, placement, key };
  const snapshot = await askOrStale(visit, ask);
  if (!snapshot || snapshot.seeded || !definition) return snapshot;
  // The first lease of a tenant in code also stores its first content.
  dropSnapshot(id);
  const place = { kept: keptUnder(id, snapshot.created), bodies: visit.env.BODIES };
  const objects = { stub: visit.stub(snapshot.created), content: visit.contentStub(snapshot.created) };
  await storeSeed(place, objects, definition.seed?.() ?? []);
  return askSnapshot(id, visit.stub(), ask);
}

/** An authority that takes longer is one that cannot be reached: clients do not wait for a minute. */
const LEASED_WITHIN_MS = 10_000;

async function askOrStale(visit: Visit, ask: SnapshotAsk): Promise<Snapshot | undefined> {
  const { tenant, env } = visit;
  try {
    const snapshot = await inTime(askSnapshot(tenant, visit.stub(), ask), LEASED_WITHIN_MS);
    endOutage(tenant);
    const copying = snapshot && keepCopy(snapshot, env.BODIES);
    if (copying) visit.waitUntil(copying.catch((error: unknown) => visit.onError(error)));
    return snapshot;
  } catch (error) {
    const served = isOverloaded(error) ? undefined : await staleSnapshot(tenant, ask.placement, env.BODIES);
    if (!served) throw error;
    return served;
  }
}
