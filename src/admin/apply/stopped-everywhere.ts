// Owns waiting until what the platform's object stops is stopped in every isolate, and showing it beside what a tenant's own
// object says. Tenants are not told: whatever their number, so many calls are made as there are replicas, and few more.

import type { TenantRecord } from "../../tenants/authority/policy-records.ts";
import { remote } from "../../tenants/authority/tables.ts";
import { brakeTables } from "../platform/brake-tables.ts";
import { platformOf, type PlatformEnv } from "../platform/platform-door.ts";
import { isoTime } from "./in-force.ts";
import type { Managed } from "./tenant-access.ts";

/** Resolves when no isolate serves what was before; gives when that was, ISO 8601. A repeated write waits, too. */
export async function stoppedEverywhere(env: PlatformEnv): Promise<string> {
  const left = await remote(platformOf(env), brakeTables).push();
  if (left > 0) await scheduler.wait(left);
  return isoTime(Date.now());
}

/** The record with what the platform stops in this tenant among its suspensions. */
export async function withStops<R extends Pick<TenantRecord, "suspensions">>(
  env: PlatformEnv,
  { id, created }: Pick<Managed, "id" | "created">,
  record: R,
): Promise<R> {
  const { tools, tenants } = await remote(platformOf(env), brakeTables).stopped();
  const stopped = tenants.filter((one) => one.id === id && ["", created].includes(one.created));
  return {
    ...record,
    suspensions: [
      ...stopped.map(({ note, since }) => ({ kind: "tenant" as const, name: "", note, since })),
      ...record.suspensions,
      ...tools.map((tool) => ({ kind: "tool" as const, ...tool })),
    ],
  };
}
