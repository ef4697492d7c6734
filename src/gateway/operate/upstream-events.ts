// Owns which changes of an upstream people are told of, beside the Worker's log: that it is down or works again, and that
// definitions are left out or wait.

import type { TenantEvent } from "../../tenants/object/tenant-events.ts";
import type { StateChange } from "./state-log.ts";

const DOWN: ReadonlySet<string | null> = new Set(["unread", "lastGood"]);

/** None, or one. `since`: since when it cannot be read, or could not be (milliseconds since the epoch). */
export function toUpstreamEvents({ upstream, state, was, why, since }: StateChange): readonly TenantEvent[] {
  const data = { upstream, why };
  if (DOWN.has(state)) return [{ type: "upstream.down", key: `${upstream} ${since}`, data }];
  if (DOWN.has(was)) return [{ type: "upstream.up", key: `${upstream} ${since}`, data }];
  return state === "degraded" ? [{ type: "definitions.held", key: `${upstream} ${why}`, data }] : [];
}
