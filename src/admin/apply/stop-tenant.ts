// Owns stopping a tenant whose own object does not answer: the platform's object says so to every isolate, and the tenant's hubs
// close what is open. Refuses to decide more than that: who is suspended otherwise, the tenant's own object keeps.

import { tellHubs } from "../../tenants/authority/announcer.ts";
import type { ChangeEvent } from "../../tenants/authority/changes.ts";
import { keptUnder } from "../../tenants/authority/incarnation.ts";
import { remote } from "../../tenants/authority/tables.ts";
import { askedDirectory } from "./asked-directory.ts";
import { brakeTables } from "../platform/brake-tables.ts";
import { platformOf } from "../platform/platform-door.ts";
import { notFound } from "../problem.ts";
import type { Desk, RouteAnswer } from "../route.ts";
import { stoppedEverywhere } from "./stopped-everywhere.ts";
import type { Managed } from "./tenant-access.ts";

const CLOSED: ChangeEvent = {
  log: "definitions",
  version: 0,
  after: 0,
  updated: [],
  listed: [],
  announced: [],
  policy: false,
  due: false,
  check: null,
  close: {},
};

/** The answer of a suspension, whose revision nobody knows now. Throws `not-found`. */
export async function stopTenant(desk: Desk, id: string, note: string): Promise<RouteAnswer> {
  const { env, caller } = desk;
  const inCode = desk.options.tenants.has(id);
  const directory = askedDirectory(env, id);
  const { entry } = inCode ? { entry: null } : await directory.lookup(id);
  if (!entry && !inCode && !(await directory.isDeclared(id))) throw notFound(`tenant ${id}`);
  const created = entry?.created ?? "";
  const changed = await remote(platformOf(env), brakeTables).stopTenant({ id, created, note }, caller);
  const effectiveAt = await stoppedEverywhere(env);
  await closeStreams(desk, keptUnder(id, created), entry?.jurisdiction ?? null);
  return { body: { revision: 0, changed, effectiveAt } };
}

/** Whoever comes back is refused. Where a hub does not answer, its streams end when they look again. */
async function closeStreams({ env, options }: Desk, kept: string, jurisdiction: string | null): Promise<void> {
  await tellHubs({ env, jurisdiction }, kept, CLOSED).catch((error: unknown) => options.onError?.(error));
}

/** Whether it was stopped so. Resolves when it is no more. */
export async function releaseTenant({ env, caller }: Desk, { id, created }: Managed): Promise<boolean> {
  const isReleased = await remote(platformOf(env), brakeTables).releaseTenant({ id, created }, caller);
  if (isReleased) await stoppedEverywhere(env);
  return isReleased;
}
