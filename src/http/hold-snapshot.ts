// Owns holding the snapshot that a visit is let in by: without a call while the lease holds and the credential is
// known, with one otherwise that serves all who wait for the same.

import { keyHashOf, memoOf, type Credential } from "../auth/credential.ts";
import { storeSeed } from "../content/store/seed.ts";
import { RecentMap } from "../limits/recent-map.ts";
import { Overdue } from "../streams/overdue.ts";
import { InTurn, WITHIN_MS } from "../tenants/isolate/in-turn.ts";
import {
  askSnapshot,
  dropSnapshot,
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
export function holdSnapshot(
  visit: Visit,
  tenant: Tenant<NewResource>,
  revision = 0,
): Snapshot | Promise<Snapshot | undefined> {
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
const MAX_TURNS = 4000;

const turns = new RecentMap<InTurn>(MAX_TURNS);

/** Those who ask for the same: a lease of the tenant where it is thought to be, or what a key of it is worth. */
function turnFor({ id, definition, placement: { jurisdiction } }: Tenant<NewResource>, memo = ""): InTurn {
  const where = definition ? "in code" : jurisdiction;
  // Most often the id alone, which nobody has to put together; it has no blank in it.
  const name = where === null && memo === "" ? id : `${id} ${where} ${memo}`;
  let turn = turns.get(name);
  if (!turn) turns.set(name, (turn = new InTurn()));
  return turn;
}

async function takeSnapshot(
  visit: Visit,
  tenant: Tenant<NewResource>,
  revision: number,
): Promise<Snapshot | undefined> {
  const { credential } = visit.knock;
  const memo = memoOf(credential);
  const isKnown = memo === undefined || lastSnapshot(tenant.id)?.asked.has(memo) === true;
  const found = await turnFor(tenant, isKnown ? undefined : memo).ask({
    // Of an authority that is slower than its leases last, what another one was told would have ended for all who wait.
    look: (isNew) => {
      const held = isNew ? lastSnapshot(tenant.id) : heldSnapshot(tenant, revision);
      const willDo = held && (isWorthKnown(held, credential) || isKnown);
      return willDo ? held : undefined;
    },
    ask: () => leaseOf(visit, tenant),
  });
  // What another one brought may be a new version, of which nobody has asked about this key.
  return !found || isWorthKnown(found, credential) ? found : takeSnapshot(visit, tenant, revision);
}

/**
 * Asks for the next lease beside the request of somebody who was let in. Once for each lease; where it fails, who finds the
 * lease ended asks again. Not where an author's function says under each lease what the tenant is: it would be asked more
 * often, and waited for in the middle of one.
 */
export function renewAhead(visit: Visit, tenant: Tenant<NewResource>, { renewal }: Snapshot): void {
  const turn = turnFor(tenant);
  if (turn.isUnderWay || visit.deployment.asked?.last(tenant.id)) return;
  renewal.from = Infinity;
  const renewing = turn.ask({
    look: () => undefined,
    ask: async () => askLease(visit, await leaseAskOf(visit, tenant)),
  });
  visit.waitUntil(
    renewing.catch((error: unknown) => {
      visit.onError(error);
    }),
  );
}

function leaseAskOf(visit: Visit, tenant: Tenant<NewResource>): SnapshotAsk | Promise<SnapshotAsk> {
  const { definition, maxStalenessMs, placement } = tenant;
  const { credential } = visit.knock;
  const memo = memoOf(credential);
  const ask = { maxStalenessMs, inCode: definition !== undefined, placement, key: null };
  if (memo === undefined) return ask;
  return keyHashOf(credential).then((hash) => ({ ...ask, key: hash === null ? null : { memo, hash } }));
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

/** The watch looks four times a second, and `InTurn` waits no longer than `WITHIN_MS` for what comes in place of an answer. */
const ANSWERED_WITHIN_MS = WITHIN_MS - 250;
/** Bound: the turns that are under way. */
const ASKS = new Overdue();

function askLease(visit: Visit, ask: SnapshotAsk): Promise<Snapshot | undefined> {
  return ASKS.inTime(askSnapshot(visit.tenant, visit.stub(), ask), ANSWERED_WITHIN_MS, visit);
}
