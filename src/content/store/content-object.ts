// Owns the Durable Object that keeps one tenant's content beside its authority: what is listed, searched and written here
// never stands before a lease or a revocation. Refuses calls for a tenant that is not there any more.

import type { Incarnation, Ran } from "../../tenants/authority/incarnation.ts";
import type { TableHost } from "../../tenants/authority/tables.ts";
import { createTablesObject } from "../../tenants/authority/tables-object.ts";
import { contentTables } from "./content-tables.ts";
import { AuditIsFull } from "./edit.ts";
import { editOutbox } from "./edit-outbox.ts";
import { takeoverTables, type Admitted } from "./takeover.ts";

/** Its name is what stands for the tenant elsewhere, and begins with the id, which has no "@". */
function hostOf(base: TableHost): TableHost {
  return { ...base, tenant: base.tenant.split("@")[0] ?? "" };
}

/** Bind it as `CONTENT`. */
export class ContentObject extends createTablesObject([takeoverTables, contentTables, editOutbox], {
  hostOf,
  // Looked at in `run`, because the authority may have to be asked.
  isMeant: () => true,
  log: "content",
}) {
  override async run(tables: string, method: string, args: readonly unknown[], meant: Incarnation): Promise<Ran> {
    const admitted = await super.run("takeover", "admit", [meant, `${tables}.${method}`], meant);
    const state = "value" in admitted ? (admitted.value as Admitted) : "gone";
    if (state === "gone") return { gone: true };
    if (state === "busy") return { busy: true };
    try {
      return await super.run(tables, method, args, meant);
    } catch (error) {
      if (error instanceof AuditIsFull) return { busy: true };
      throw error;
    }
  }
}
