// Owns keeping errors where `tenantry errors` finds them: in the object of their tenant, and in the platform's one what leads there.
// Refuses more of them than an operator reads: a storm of errors must not become one of writes.

import type { Bindings, TrailVisit } from "../../deployment/deployment.ts";
import { faultTables, type FaultRecord } from "../../tenants/authority/fault-tables.ts";
import { remote } from "../../tenants/authority/tables.ts";
import { hasNamespace, namespaceOf } from "../../tenants/directory/namespaces.ts";
import { ANYWHERE, keeperOf } from "../../tenants/directory/placement.ts";
import { inTime } from "../../tenants/isolate/in-time.ts";
import { RecentMap } from "../../limits/recent-map.ts";
import { COUNTERS } from "../../telemetry/counters.ts";
import type { FaultPlace } from "../../telemetry/fault-line.ts";

/** Of one tenant, in one isolate. The platform's object, which all isolates write to, is asked as often for all tenants. */
const MOST_IN_A_MINUTE = 20;
/** Of these, what one tenant takes at most: whoever makes a tool fail again and again hides nobody else's error. */
const MOST_OF_ONE = 10;
const MINUTE_MS = 60_000;
const MOST_TENANTS = 1_000;
/** No request waits for it, and no invocation for long. */
const PLATFORM_WITHIN_MS = 2_000;

interface Spent {
  readonly minute: number;
  count: number;
}

const spent = new RecentMap<Spent>(MOST_TENANTS);

function mayKeep(whose: string, most = MOST_IN_A_MINUTE): boolean {
  const minute = Math.floor(Date.now() / MINUTE_MS);
  let known = spent.get(whose);
  if (known?.minute !== minute) spent.set(whose, (known = { minute, count: 0 }));
  known.count += 1;
  return known.count <= most;
}

/** What looks like a credential of ours, like one in a header, or like a person's token, in words that an error brought along. */
const CREDENTIALS = /\b(?:tn[a-z]_\w+|bearer\s+[\w.~+/=-]+|eyJ[\w-]+\.[\w-]+\.[\w-]*)/gi;

/** Characters that are handed on of each text; the tables keep fewer. A caller may have had an error say megabytes. */
const MOST_TEXT = 8_192;

/** Of whatever was thrown, which may have no words at all. */
function redacted(...said: readonly unknown[]): string {
  try {
    return said.map(String).join("").slice(0, MOST_TEXT).replaceAll(CREDENTIALS, "[credential]");
  } catch {
    return "an error that says nothing";
  }
}

export function recordOf(error: unknown, place: FaultPlace): FaultRecord {
  const { tenant = "", requestId = "", method = "", name = "" } = place;
  const { stack = "", cause } = Object(error) as { readonly stack?: unknown; readonly cause?: unknown };
  const because = cause instanceof Error ? `\ncaused by ${cause.stack}` : "";
  return { tenant, requestId, method, name, message: redacted(error), stack: redacted(stack, because) };
}

interface Keeping {
  readonly env: Bindings;
  readonly visit: TrailVisit | undefined;
}

/** Never rejects: the error was logged before. What could not be kept is counted. */
export async function keepFault(error: unknown, place: FaultPlace, { env, visit }: Keeping): Promise<void> {
  const record = recordOf(error, place);
  const host = visit?.host;
  // Nothing is written for a name of which nobody was let in: there may be no such tenant.
  const isKept =
    host !== undefined &&
    (await kept(`tenant ${record.tenant}`, () => remote(host.stub(), faultTables).noteFault(record)));
  if (!hasNamespace(env, "PlatformObject")) return;
  const platform = namespaceOf(env, "PlatformObject");
  const object = () => keeperOf(platform, "platform", { id: "platform", placement: ANYWHERE, incarnation: "" });
  // What a tenant must keep where it is stays there, though its own object could not be reached.
  const isBound = (visit?.placement.jurisdiction ?? null) !== null;
  const led = isKept || isBound ? { ...record, name: "", message: "", stack: "" } : record;
  const isOfMany = mayKeep(`platform of ${record.tenant}`, record.tenant === "" ? MOST_IN_A_MINUTE : MOST_OF_ONE);
  const write = () => inTime(remote(object(), faultTables).noteFault(led), PLATFORM_WITHIN_MS);
  if (isOfMany) await kept("platform", write);
  else COUNTERS.add("errorsDropped");
}

async function kept(whose: string, write: () => Promise<unknown>): Promise<boolean> {
  try {
    if (mayKeep(whose)) {
      await write();
      return true;
    }
  } catch {
    // Counted below. Its keeper is away, which others hear of.
  }
  COUNTERS.add("errorsDropped");
  return false;
}
