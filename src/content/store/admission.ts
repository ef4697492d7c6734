// Admits calls to the object that keeps a tenant's content. The first call asks the tenant's authority whether there is such
// a tenant; nothing asks again.

import { isGone, meaning, type Incarnation, type Keeper } from "../../tenants/authority/incarnation.ts";
import { authorityTables } from "../../tenants/authority/authority-tables.ts";
import type { TenantHost } from "../../tenants/authority/tenant-host.ts";
import { remote, type Remote, type TableHost, type Tables } from "../../tenants/authority/tables.ts";
import { beforeAnother } from "../../tenants/isolate/asked-again.ts";
import { namespaceOf } from "../../tenants/directory/namespaces.ts";
import { objectsIn } from "../../tenants/directory/placement.ts";

const AT_THE_END = ["content.close", "content.purge", "content.erase"];

/** "ready": the call may go on; "busy": the authority did not answer; "gone": there is no such tenant. */
export type Admitted = "ready" | "busy" | "gone";

export interface AdmissionMethods {
  /** `call`: as in "content.search". */
  admit(meant: Incarnation, call: string): Admitted | Promise<Admitted>;
}

export const admissionTables: Tables<AdmissionMethods> = {
  name: "admission",
  migrations: ["CREATE TABLE content_tenant (one INTEGER PRIMARY KEY CHECK (one = 1), created TEXT NOT NULL)"],
  open: (host) => ({ methods: { admit: admitting(host) } }),
};

/** Which tenant's content this object keeps; undefined while nobody has asked for it. */
export function keptFor(sql: SqlStorage): Incarnation | undefined {
  return sql.exec<{ created: string }>("SELECT created FROM content_tenant").toArray()[0]?.created;
}

/** The tenant's authority, as the object of its content calls it. */
export function authorityOf<Methods extends object>(
  { env, tenant, jurisdiction }: TableHost,
  created: Incarnation,
  tables: Tables<Methods, TenantHost>,
): Remote<Methods> {
  const keeper = () => objectsIn(namespaceOf(env, "TenantObject"), jurisdiction).getByName(tenant) as unknown as Keeper;
  const again = async (call: string, error: unknown) => {
    await beforeAnother(call, error);
    return keeper();
  };
  return remote(meaning(keeper(), created, again), tables as Tables<Methods>);
}

function admitting(host: TableHost): AdmissionMethods["admit"] {
  let created = keptFor(host.sql);
  let asking: Promise<void> | undefined;

  const ask = async (meant: Incarnation) => {
    await authorityOf(host, meant, authorityTables).exists();
    if (host.closure.isClosed()) return;
    host.sql.exec("INSERT OR REPLACE INTO content_tenant (one, created) VALUES (1, ?)", meant);
    created = meant;
  };
  const admitFirst = async (meant: Incarnation): Promise<Admitted> => {
    try {
      await (asking ??= ask(meant).finally(() => (asking = undefined)));
    } catch (error) {
      return isGone(error) ? "gone" : "busy";
    }
    return created === meant && !host.closure.isClosed() ? "ready" : "gone";
  };

  return (meant, call) => {
    if (AT_THE_END.includes(call)) return "ready";
    if (host.closure.isClosed()) return "gone";
    if (created === undefined) return admitFirst(meant);
    return created === meant ? "ready" : "gone";
  };
}
