// Admits calls to the object that keeps a tenant's content. The first call asks the tenant's authority whether there is such
// a tenant; nothing asks again.

import { isGone, meaning, type Incarnation, type Refused } from "../../tenants/authority/incarnation.ts";
import { authorityTables } from "../../tenants/authority/authority-tables.ts";
import { remote, type Calls, type Remote, type TableHost, type Tables } from "../../tenants/authority/tables.ts";
import { namespaceOf } from "../../tenants/directory/namespaces.ts";
import { objectsIn } from "../../tenants/directory/placement.ts";

/** undefined: the call may go on; `busy`: the authority did not answer; `gone`: there is no such tenant. */
type Admission = Refused | undefined;

export type Admit = (meant: Incarnation, isEnding: boolean) => Admission | Promise<Admission>;

export const admissionTables: Tables = {
  name: "admission",
  methods: {},
  migrations: ["CREATE TABLE content_tenant (one INTEGER PRIMARY KEY CHECK (one = 1), created TEXT NOT NULL)"],
  open: () => ({ methods: {} }),
};

/** Which tenant's content this object keeps; undefined while nobody has asked for it. */
export function keptFor(sql: SqlStorage): Incarnation | undefined {
  return sql.exec<{ created: string }>("SELECT created FROM content_tenant").toArray()[0]?.created;
}

/** The tenant's authority, as the object of its content calls it. */
export function authorityOf<Methods extends object>(
  { env, tenant, jurisdiction }: TableHost,
  created: Incarnation,
  calls: Calls<Methods>,
): Remote<Methods> {
  const keeper = () => objectsIn(namespaceOf(env, "TenantObject"), jurisdiction).getByName(tenant);
  return remote(meaning(keeper, created), calls);
}

export function admitting(host: TableHost): Admit {
  let created = keptFor(host.sql);
  let asking: Promise<void> | undefined;

  const ask = async (meant: Incarnation) => {
    await authorityOf(host, meant, authorityTables).exists();
    if (host.closure.isClosed()) return;
    host.sql.exec("INSERT OR REPLACE INTO content_tenant (one, created) VALUES (1, ?)", meant);
    created = meant;
  };
  const admitFirst = async (meant: Incarnation): Promise<Admission> => {
    try {
      await (asking ??= ask(meant).finally(() => (asking = undefined)));
    } catch (error) {
      return isGone(error) ? { gone: true } : { busy: true };
    }
    return created === meant && !host.closure.isClosed() ? undefined : { gone: true };
  };

  return (meant, isEnding) => {
    if (isEnding) return undefined;
    if (host.closure.isClosed()) return { gone: true };
    if (created === undefined) return admitFirst(meant);
    return created === meant ? undefined : { gone: true };
  };
}
