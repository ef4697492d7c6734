// Owns holding the snapshot that a visit is let in by: without a call while the lease holds and the credential is
// known, with one otherwise that serves all who wait for the same.

import { keyHashOf, memoOf, type Credential } from "../auth/credential.ts";
import { storeSeed } from "../content/store/seed.ts";
import { RecentMap } from "../limits/recent-map.ts";
import { LONGEST_MS, Overdue } from "../streams/overdue.ts";
import { SingleFlight } from "../tenants/isolate/single-flight.ts";
import {
  askSnapshot,
  dropSnapshot,
  isLeased,
  lastSnapshot,
  validSnapshot,
  type Snapshot,
  type SnapshotAsk,
} from "../tenants/isolate/snapshot.ts";
import { keptUnder } from "../tenants/authority/incarnation.ts";
import type { NewResource } from "../calls/resource-store.ts";
import type { Tenant } from "../tenants/document/tenant-definition.ts";
import type { Visit } from "./visit.ts";

/** undefined: the authority has no such tenant. `revision`: the least revision of the policy that will do. */
export async function holdSnapshot(
  visit: Visit,
  tenant: Tenant<NewResource>,
  revision = 0,
): Promise<Snapshot | undefined> {
  const held = heldSnapshot(tenant, revision);
  return held && isWorthKnown(held, visit.knock.credential) ? held : takeSnapshot(visit, tenant, revision);
}

function heldSnapshot({ id }: Tenant<NewResource>, revision: number): Snapshot | undefined {
  const held = validSnapshot(id);
  return held && held.version >= revision ? held : undefined;
}

/** Whether the authority was asked about this credential already, or need not be, because it cannot be a key. */
export function isWorthKnown({ asked }: Snapshot, credential: Credential): boolean {
  const memo = memoOf(credential);
  return memo === undefined || asked.has(memo);
}

/** How many leases and keys are asked for at a time before somebody asks once more than needed. */
const MAX_FLIGHTS = 4000;

const flights = new RecentMap<SingleFlight<Snapshot | undefined>>(MAX_FLIGHTS);

/** Those who ask for the same: a lease of the tenant where it is thought to be, or what a key of it is worth. */
function flightFor(
  { id, definition, placement: { jurisdiction } }: Tenant<NewResource>,
  memo = "",
): SingleFlight<Snapshot | undefined> {
  const where = definition ? "in code" : jurisdiction;
  // Most often the id alone, which nobody has to put together; it has no blank in it.
  const name = where === null && memo === "" ? id : `${id} ${where} ${memo}`;
  let flight = flights.get(name);
  if (!flight) flights.set(name, (flight = new SingleFlight()));
  return flight;
}

async function takeSnapshot(
  visit: Visit,
  tenant: Tenant<NewResource>,
  revision: number,
): Promise<Snapshot | undefined> {
  const { credential } = visit.knock;
  const memo = memoOf(credential);
  const isKnown = memo === undefined || lastSnapshot(tenant.id)?.asked.has(memo) === true;
  const flight = flightFor(tenant, isKnown ? undefined : memo);
  const isShared = flight.isUnderWay;
  const ask = () => leaseOf(visit, tenant);
  let found = await flight.run(ask);
  // The lease that another request asked for, perhaps before this one came, will do only while it holds. That there was no
  // such tenant says nothing.
  const willDo = found && isLeased(found) && found.version >= revision;
  if (isShared && !willDo) found = await flight.runNext(ask);
  // What another one brought may be a new version, of which nobody has asked about this key.
  return !found || isWorthKnown(found, credential) ? found : takeSnapshot(visit, tenant, revision);
}

/**
 * Asks for the next lease beside the request of somebody who was let in. Once for each lease; where it fails, who finds the
 * lease ended asks again. Not where an author's function says under each lease what the tenant is: it would be asked more
 * often, and waited for in the middle of one.
 */
export function renewAhead(visit: Visit, tenant: Tenant<NewResource>, { renewal }: Snapshot): void {
  const flight = flightFor(tenant);
  if (flight.isUnderWay || visit.deployment.asked?.last(tenant.id)) return;
  renewal.from = Infinity;
  const renewing = flight.run(async () => askLease(visit, await leaseAskOf(visit, tenant)));
  visit.waitUntil(
    renewing.catch((error: unknown) => {
      visit.onError(error);
    }),
  );
}

async function leaseAskOf(visit: Visit, tenant: Tenant<NewResource>): Promise<SnapshotAsk> {
  const { definition, maxStalenessMs, placement } = tenant;
  const { credential } = visit.knock;
  const memo = memoOf(credential);
  const ask = { maxStalenessMs, inCode: definition !== undefined, placement, key: null };
  if (memo === undefined) return ask;
  const hash = await keyHashOf(credential);
  return { ...ask, key: hash === null ? null : { memo, hash } };
}

async function leaseOf(visit: Visit, tenant: Tenant<NewResource>): Promise<Snapshot | undefined> {
  const { id, definition } = tenant;
  const ask = await leaseAskOf(visit, tenant);
  const snapshot = await askLease(visit, ask);
  if (!snapshot || snapshot.seeded || !definition) return snapshot;
  // The first lease of a tenant in code also stores its first content.
  dropSnapshot(id);
  const place = { kept: keptUnder(id, snapshot.created), bodies: visit.env.BODIES };
  const objects = { stub: visit.stub(snapshot.created), content: visit.contentStub(snapshot.created) };
  await storeSeed(place, objects, definition.seed?.() ?? []);
  return askSnapshot(id, visit.stub(), ask);
}

/** Whoever takes longer is one that cannot be reached. */
const ANSWERED_WITHIN_MS = LONGEST_MS;
/** Bound: the calls that are under way. */
const ASKS = new Overdue();

function askLease(visit: Visit, ask: SnapshotAsk): Promise<Snapshot | undefined> {
  return ASKS.inTime(askSnapshot(visit.tenant, visit.stub(), ask), ANSWERED_WITHIN_MS, visit);
}
