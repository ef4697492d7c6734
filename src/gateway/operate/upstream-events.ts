// State changes that become events for people: the upstream is down or works again, or definitions are left out or wait
// for approval.

import type { TenantEvent } from "../../tenants/object/tenant-events.ts";
import type { StateChange } from "./state-log.ts";

const DOWN: ReadonlySet<string | null> = new Set(["unread", "lastGood"]);

/** Returns one event or none. `since` is when the upstream began to fail, milliseconds since the epoch. */
export function toUpstreamEvents({ upstream, state, was, why, since }: StateChange): readonly TenantEvent[] {
  const data = { upstream, why };
  if (DOWN.has(state)) return [{ type: "upstream.down", key: `${upstream} ${since}`, data }];
  if (DOWN.has(was)) return [{ type: "upstream.up", key: `${upstream} ${since}`, data }];
  return state === "degraded" ? [{ type: "definitions.held", key: `${upstream} ${why}`, data }] : [];
}
