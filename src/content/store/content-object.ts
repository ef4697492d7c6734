// Owns the Durable Object that keeps one tenant's content beside its authority: what is listed, searched and written here
// never stands before a lease or a revocation. Refuses calls for a tenant that is not there any more.

import type { Keeper } from "../../tenants/authority/incarnation.ts";
import type { TableHost, Tables } from "../../tenants/authority/tables.ts";
import { createTablesObject, type TablesObjectClass } from "../../tenants/authority/tables-object.ts";
import { contentTables } from "./content-tables.ts";
import { admissionTables, type Admitted } from "./admission.ts";

/** Its name is what stands for the tenant elsewhere, and begins with the id, which has no "@". */
function hostOf(base: TableHost): TableHost {
  return { ...base, tenant: base.tenant.split("@")[0] ?? "" };
}

/** `tables`: those of the content, and what goes with them. */
export function createContentObject(tables: readonly Tables[]): TablesObjectClass<Cloudflare.Env> {
  const shared = {
    hostOf,
    // Looked at in `run`, because the authority may have to be asked.
    isMeant: () => true,
    log: "content",
  } as const;
  return class extends createTablesObject<Cloudflare.Env, TableHost>([...tables, admissionTables], shared) {
    override async run(...call: Parameters<Keeper["run"]>): ReturnType<Keeper["run"]> {
      const [of, method, , meant] = call;
      const admitted = await super.run("admission", "admit", [meant, `${of}.${method}`], meant);
      const state = typeof admitted === "object" && "value" in admitted ? (admitted.value as Admitted) : "gone";
      if (state === "gone") return { gone: true };
      return state === "busy" ? { busy: true } : super.run(...call);
    }
  };
}

export class ContentObject extends createContentObject([contentTables]) {}
