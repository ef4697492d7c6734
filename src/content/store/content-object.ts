// The Durable Object that keeps one tenant's content beside its authority: what is listed, searched and written here never stands
// before a lease or a revocation. Refuses calls for a tenant that is not there any more.

import type { Keeper } from "../../tenants/authority/incarnation.ts";
import type { TableHost } from "../../tenants/authority/tables.ts";
import { createTablesObject } from "../../tenants/authority/tables-object.ts";
import { admissionTables, type Admitted } from "./admission.ts";
import { contentTables } from "./content-tables.ts";
import { AuditIsFull } from "./edit.ts";
import { editOutbox } from "./edit-outbox.ts";

/** Its name is what stands for the tenant elsewhere, and begins with the id, which has no "@". */
function hostOf(base: TableHost): TableHost {
  return { ...base, tenant: base.tenant.split("@")[0] ?? "" };
}

export class ContentObject extends createTablesObject<Cloudflare.Env, TableHost>(
  [contentTables, editOutbox, admissionTables],
  // What is meant is looked at in `run`, because the authority may have to be asked.
  { hostOf, isMeant: () => true, log: "content" },
) {
  override async run(...call: Parameters<Keeper["run"]>): ReturnType<Keeper["run"]> {
    const [of, method, , meant] = call;
    const admitted = await super.run("admission", "admit", [meant, `${of}.${method}`], meant);
    const state = typeof admitted === "object" && "value" in admitted ? (admitted.value as Admitted) : "gone";
    if (state === "gone") return { gone: true };
    if (state === "busy") return { busy: true };
    try {
      return await super.run(...call);
    } catch (error) {
      if (error instanceof AuditIsFull) return { busy: true };
      throw error;
    }
  }
}
