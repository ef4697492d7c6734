// Deletes a tenant, in steps that can each be repeated: end its service, delete its data, then free its name.

import { forgetName } from "../../tenants/directory/directory.ts";
import { retryingDirectory } from "./retrying-directory.ts";
import { sessionName, sessionStub } from "../../sessions/session-stub.ts";
import { statefulSessionStore } from "../../tenants/object/stateful-session-store.ts";
import { evictPolicy } from "../../tenants/cache/policy-cache.ts";
import { DEFAULT_PLACEMENT } from "../../tenants/directory/placement.ts";
import { createRpcClient } from "../../tenants/object/store.ts";
import { baseStore } from "../platform/base-store.ts";
import { deadlineFrom, waitForLeases } from "./propagation.ts";
import { releaseAllHostnames } from "./hostnames.ts";
import { operatorStore } from "../platform/operator-store.ts";
import { platformStubOf } from "../platform/platform-object.ts";
import { ProblemError } from "../problem.ts";
import type { AdminContext } from "../route.ts";
import type { TenantHandle } from "./tenant-handle.ts";

/** Half of the thousand KV calls that one invocation of the object may make. */
const BODY_BATCH = 500;
const SESSION_BATCH = 100;
/** The part of the thousand calls of one Worker invocation that may go to deleting items. */
const MAX_CALLS = 900;

/** May be called again for a deletion that was cut off. Throws `conflict` for a tenant in code, and `busy`. */
export async function deleteTenant(context: AdminContext, handle: TenantHandle): Promise<void> {
  const { id, created, policy, content } = handle;
  if (handle.entry === null && !handle.isOrphaned) {
    throw new ProblemError("conflict", { detail: `The tenant ${id} is declared in the Worker's code` });
  }
  const { env, caller } = context;
  const directory = retryingDirectory(env, id);
  const entry = handle.entry ?? (await directory.endDeclared(id, created));
  const operators = createRpcClient(platformStubOf(env), operatorStore);
  // 1. Isolates that do not know the tenant yet no longer find it, by id or hostname.
  await directory.markDeleting(entry);
  const record = await policy.read(false);
  if (record) {
    await operators.record(caller, "tenant.delete", `tenant ${id}`, { before: record.own, after: null });
    await releaseAllHostnames(context, handle, record.effective.hostnames ?? []);
  }
  // 2. No new leases are granted, and the existing ones expire.
  await waitForLeases(deadlineFrom(await policy.close(created)));
  evictPolicy(id);
  // 3. Delete the stored data.
  await content.closeContent(created);
  const spend = createCallBudget();
  while (!(await content.purge(BODY_BATCH)).done) spend(1);
  await endSessions(context, handle, spend);
  await content.erase();
  await policy.erase();
  // 4. Remove references in other objects, then the name.
  await createRpcClient(platformStubOf(env), baseStore).setUses({ id, created }, []);
  await operators.removeTenant({ id, created });
  await directory.remove(entry);
  forgetName(id);
}

type SpendCalls = (calls: number) => void;

/**
 * Throws `busy` if one request cannot delete everything. Deleted items stay deleted, and the next request continues.
 */
function createCallBudget(): SpendCalls {
  let remaining = MAX_CALLS;
  return (calls) => {
    remaining -= calls;
    if (remaining >= 0) return;
    const detail = "Not all of it is deleted yet: repeat the request";
    throw new ProblemError("busy", { detail, headers: { "retry-after": "1" } });
  };
}

/** Deletes the state of sessions of MCP 2025, because their stored calls hold the tenant's data. */
async function endSessions(
  { env }: AdminContext,
  { storageKey, entry, stub }: TenantHandle,
  spend: SpendCalls,
): Promise<void> {
  const { jurisdiction } = entry ?? DEFAULT_PLACEMENT;
  const sessions = createRpcClient(stub(), statefulSessionStore);
  for (;;) {
    const sessionIds = await sessions.list(SESSION_BATCH);
    if (sessionIds.length === 0) return;
    spend(sessionIds.length + 2);
    await Promise.all(
      sessionIds.map((sessionId) => sessionStub(env, sessionName(storageKey, sessionId), jurisdiction).end()),
    );
    await sessions.forget(sessionIds);
  }
}
