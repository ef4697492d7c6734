// Owns whose content an object keeps, and whether it is all there: asked once of the tenant's authority. Refuses calls for a
// tenant that is gone, and those that need what an earlier release kept in the authority, until `earlierContent()` took it over.

import { logFault } from "../../telemetry/fault-line.ts";
import { setChangeFact } from "../../tenants/authority/change-tables.ts";
import { isGone, meaning, OTHER_RELEASE, type Incarnation, type Keeper } from "../../tenants/authority/incarnation.ts";
import type { TenantHost } from "../../tenants/authority/tenant-host.ts";
import { remote, type OpenTables, type Remote, type TableHost, type Tables } from "../../tenants/authority/tables.ts";
import { beforeAnother } from "../../tenants/isolate/asked-again.ts";
import { objectsIn } from "../../tenants/directory/placement.ts";
import { handoverTables } from "./handover.ts";

const AT_THE_END = ["content.close", "content.purge", "content.erase"];

/** Where a page ends; null: before the first, or after the last. */
export type Place = string | number | null;

/** "ready": the call may go on; "busy": what it needs is still on its way; "gone": there is no such tenant. */
export type Admitted = "ready" | "busy" | "gone";

export interface AdmissionMethods {
  /** `call`: as in "content.search". */
  admit(meant: Incarnation, call: string): Admitted | Promise<Admitted>;
}

/** How far an object is. */
export interface Held {
  [column: string]: SqlStorageValue;
  created: Incarnation;
  /** "resources": of what is taken over, nothing is there yet; "done": everything is; between them whatever takes it over says. */
  phase: string;
  after: Place;
}

export interface ContentAdmission {
  readonly host: TableHost;
  /** undefined: nobody has asked for the content. */
  held: Held | undefined;
}

/** Takes over what an earlier release kept. */
export interface Taking {
  /** Goes on as far as the call needs it. */
  reach(call: string): Promise<Admitted>;
  readonly alarm: NonNullable<OpenTables<object>["alarm"]>;
}

let taker: ((admission: ContentAdmission) => Taking) | undefined;

/** Said when the feature is made, which is before any object; undefined: nothing is taken over. */
export function takeOverBy(by: typeof taker): void {
  taker = by;
}

export const admissionTables: Tables<AdmissionMethods> = {
  name: "takeover",
  migrations: [
    "CREATE TABLE takeover (one INTEGER PRIMARY KEY CHECK (one = 1), created TEXT NOT NULL, phase TEXT NOT NULL, after)",
    // What the index of before has, which did not know where a text is, is as due as what comes from the authority.
    "INSERT OR IGNORE INTO texts_due SELECT id FROM texts_unplaced",
    "DELETE FROM texts_unplaced",
    "DROP TABLE IF EXISTS resource_text",
    "UPDATE takeover SET phase = 'texts' WHERE phase IN ('dropping', 'done') AND EXISTS (SELECT 1 FROM texts_due)",
  ],
  open: (host) => {
    const admission: ContentAdmission = {
      host,
      held: host.sql.exec<Held>("SELECT created, phase, after FROM takeover").toArray()[0],
    };
    const taking = taker?.(admission);
    return {
      methods: { admit: admitting(admission, taking) },
      alarm: async (now) => taking?.alarm(now),
    };
  },
};

/** Which tenant's content this object keeps; undefined while nobody has asked for it. */
export function keptFor(sql: SqlStorage): Incarnation | undefined {
  return sql.exec<{ created: string }>("SELECT created FROM takeover").toArray()[0]?.created;
}

/** The tenant's authority, as the object of its content calls it. */
export function authorityOf<Methods extends object>(
  { env, tenant, jurisdiction }: TableHost,
  created: Incarnation,
  tables: Tables<Methods, TenantHost>,
): Remote<Methods> {
  const { TENANTS } = env as { TENANTS: DurableObjectNamespace };
  const keeper = () => objectsIn(TENANTS, jurisdiction).getByName(tenant) as unknown as Keeper;
  const again = async (call: string, error: unknown) => {
    await beforeAnother(call, error);
    return keeper();
  };
  return remote(meaning(keeper(), created, again), tables as Tables<Methods>);
}

export function storeHeld(sql: SqlStorage, { created, phase, after }: Held): void {
  sql.exec("INSERT OR REPLACE INTO takeover (one, created, phase, after) VALUES (1, ?, ?, ?)", created, phase, after);
}

function admitting(admission: ContentAdmission, taking: Taking | undefined): AdmissionMethods["admit"] {
  const { host } = admission;
  let beginning: Promise<Held> | undefined;
  let isTold = false;

  const reach = async (meant: Incarnation, call: string): Promise<Admitted> => {
    let held: Held;
    try {
      held =
        admission.held ??
        (await (beginning ??= begin(admission, meant, taking).finally(() => (beginning = undefined))));
      if (host.closure.isClosed()) return "gone";
      if (held.phase === "done") return "ready";
      if (taking) return await taking.reach(call);
    } catch (error) {
      // The authority, or KV, is away. What has arrived is kept, and the next call goes on from there.
      return isGone(error) ? "gone" : "busy";
    }
    const why = new Error(`content of release 0.1.0 needs the feature earlierContent(): it is ${OTHER_RELEASE}`);
    if (!isTold) logFault(why, { tenant: host.tenant, method: call });
    isTold = true;
    throw why;
  };

  return (meant, call) => {
    const { held } = admission;
    if (AT_THE_END.includes(call)) return "ready";
    if (host.closure.isClosed() || (held && held.created !== meant)) return "gone";
    return held?.phase === "done" ? "ready" : reach(meant, call);
  };
}

/** Nothing is stored where there is something to take over and nobody to do it. */
async function begin(admission: ContentAdmission, created: Incarnation, taking: Taking | undefined): Promise<Held> {
  const { host } = admission;
  const { holds, version, floor } = await authorityOf(host, created, handoverTables).handOver();
  const held: Held = { created, phase: holds ? "resources" : "done", after: null };
  if (holds && !taking) return held;
  host.transaction(() => {
    setChangeFact(host.sql, "base", version);
    setChangeFact(host.sql, "floor", floor);
    storeHeld(host.sql, held);
    if (holds) host.wakeAt(host.now());
  });
  return (admission.held = held);
}
