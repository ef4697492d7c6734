// The Durable Object that keeps one tenant's content beside its authority: what is listed, searched and written here never stands
// before a lease or a revocation. Refuses calls for a tenant that is not there any more.

import { createTablesObject } from "../../tenants/authority/tables-object.ts";
import type { TableHost } from "../../tenants/authority/tables.ts";
import { admissionTables, admitting, type Admit } from "./admission.ts";
import { contentTables } from "./content-tables.ts";
import { editOutbox } from "./edit-outbox.ts";

interface ContentHost extends TableHost {
  readonly admit: Admit;
}

/** Its name is what stands for the tenant elsewhere, and begins with the id, which has no "@". */
function hostOf(base: TableHost): ContentHost {
  const host = { ...base, tenant: base.tenant.split("@")[0] ?? "" };
  return { ...host, admit: admitting(host) };
}

export class ContentObject extends createTablesObject<Cloudflare.Env, ContentHost>(
  [contentTables, editOutbox, admissionTables],
  { hostOf, refuse: ({ admit }, meant, isEnding) => admit(meant, isEnding), log: "content" },
) {}
