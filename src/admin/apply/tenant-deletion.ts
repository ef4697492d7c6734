// Owns the end of a tenant, in an order in which every step can be repeated: nobody is served any more, then everything
// it stored goes, then its name.

import { forgetName } from "../../tenants/directory/directory.ts";
import { askedDirectory } from "./asked-directory.ts";
import { sessionName, sessionStub } from "../../sessions/session-door.ts";
import { sessionRegister } from "../../tenants/authority/session-register.ts";
import { dropSnapshot } from "../../tenants/isolate/snapshot.ts";
import { ANYWHERE } from "../../tenants/directory/placement.ts";
import { remote } from "../../tenants/authority/tables.ts";
import { baseTables } from "../platform/base-tables.ts";
import { fromNow, untilInForce } from "./in-force.ts";
import { releaseNames } from "./hostnames.ts";
import { operatorTables } from "../platform/operator-tables.ts";
import { platformOf } from "../platform/platform-door.ts";
import { ProblemError } from "../problem.ts";
import type { Desk } from "../route.ts";
import type { Managed } from "./tenant-access.ts";

/** Half of the thousand calls to KV that one invocation of the object may make. */
const BODIES_AT_ONCE = 500;
const SESSIONS_AT_ONCE = 100;
/** Of the thousand calls that one invocation of the Worker may make, those that are as many as there is to delete. */
const CALLS_AT_ONCE = 900;

/** May be called again for a deletion that was cut off. Throws `conflict` for a tenant in code, and `busy`. */
export async function deleteTenant(desk: Desk, managed: Managed): Promise<void> {
  const { id, created, policy, content } = managed;
  if (managed.entry === null && !managed.isGone) {
    throw new ProblemError("conflict", { detail: `The tenant ${id} is declared in the Worker's code` });
  }
  const { env, caller } = desk;
  const directory = askedDirectory(env, id);
  const entry = managed.entry ?? (await directory.endDeclared(id, created));
  const operators = remote(platformOf(env), operatorTables);
  // 1. No isolate that does not know it yet finds it, by id or hostname.
  await directory.markDeleting(entry);
  const record = await policy.read(false);
  if (record) {
    await operators.record(caller, "tenant.delete", `tenant ${id}`, { before: record.own, after: null });
    await releaseNames(desk, managed, record.effective.hostnames ?? []);
  }
  // 2. No lease is given any more, and those that were given end.
  await untilInForce(fromNow(await policy.close(created)));
  dropSnapshot(id);
  // 3. What it stored.
  await content.close(created);
  const spend = createBudget();
  while (!(await content.purge(BODIES_AT_ONCE)).done) spend(1);
  await endSessions(desk, managed, spend);
  await content.erase();
  await policy.erase();
  // 4. What others say about it, and its name.
  await remote(platformOf(env), baseTables).settle({ id, created }, []);
  await operators.forgetTenant({ id, created });
  await directory.remove(entry);
  forgetName(id);
}

type Spend = (calls: number) => void;

/** Throws `busy` where one request cannot delete all of it: what is deleted stays deleted, and the next one goes on. */
function createBudget(): Spend {
  let left = CALLS_AT_ONCE;
  return (calls) => {
    left -= calls;
    if (left >= 0) return;
    const detail = "Not all of it is deleted yet: repeat the request";
    throw new ProblemError("busy", { detail, headers: { "retry-after": "1" } });
  };
}

/** Ends what 2025 sessions remembered, because their stored calls hold the tenant's data. */
async function endSessions({ env }: Desk, { kept, entry, stub }: Managed, spend: Spend): Promise<void> {
  const { jurisdiction } = entry ?? ANYWHERE;
  const register = remote(stub(), sessionRegister);
  for (;;) {
    const nonces = await register.list(SESSIONS_AT_ONCE);
    if (nonces.length === 0) return;
    spend(nonces.length + 2);
    await Promise.all(nonces.map((nonce) => sessionStub(env, sessionName(kept, nonce), jurisdiction).end()));
    await register.forget(nonces);
  }
}
