// Owns what operators do with a tenant's content beside what everybody may: conditional and audited edits, how much there is, and
// its end. The admin API alone asks for that, so a Worker without it has the tables of content as they are.

import type { Incarnation } from "../../tenants/authority/incarnation.ts";
import type { Remote, TableHost, Tables } from "../../tenants/authority/tables.ts";
import { contentTables, openContent, removeRow, storedAt, type ContentMethods } from "./content-tables.ts";
import { auditEdit, matches, refuseEdit, type Edit, type RemoveResult } from "./edit.ts";
import { purge, purgeListed } from "./garbage.ts";
import { etagOf, fromStored } from "./resource-row.ts";
import { totalsOf } from "./totals.ts";

/** Half of the calls to KV that one invocation may make. */
const SWEPT_AT_ONCE = 500;

export interface OperatedContentMethods extends ContentMethods {
  /** An operator's removal: conditional and audited. */
  removeAs(uri: string, edit: Pick<Edit, "actor" | "ifMatch">): RemoveResult;
  usage(): { readonly resources: number; readonly bytes: number };
  /** The tenant is being deleted: from now on nothing is written. */
  close(incarnation: Incarnation): void;
  /** Deletes at most `limit` bodies from KV, as part of the tenant's end. `done`: none is left. */
  purge(limit: number): Promise<{ readonly done: boolean }>;
  /** Deletes everything that the object stores. */
  erase(): Promise<void>;
}

export type RemoteOperatedContent = Remote<OperatedContentMethods>;

/** In the place of `contentTables`, whose name they have. */
export const operatedContent: Tables<OperatedContentMethods> = {
  ...contentTables,
  ending: ["close", "purge", "erase"],
  // A body may be uploaded by who is cut off then, and its tenant have ended meanwhile.
  sweep: async (host) => {
    if ((await purgeListed(host, SWEPT_AT_ONCE)) === SWEPT_AT_ONCE) throw new Error("there are more of them");
  },
  open: (host) => {
    const { methods, ...opened } = openContent(host, {
      refuse: refuseEdit,
      audit: ({ actor }, before, after) => {
        auditEdit(host, actor, { before, after });
      },
    });
    return { ...opened, methods: { ...methods, ...operatedMethods(host) } };
  },
};

function operatedMethods(host: TableHost): Omit<OperatedContentMethods, keyof ContentMethods> {
  return {
    removeAs: (uri, edit) => host.transaction(() => removeAs(host, uri, edit)),
    usage: () => totalsOf(host.sql),
    close: (incarnation) => {
      host.closure.close(incarnation);
    },
    purge: (limit) => purge(host, limit),
    erase: () => host.erase(),
  };
}

function removeAs(host: TableHost, uri: string, { actor, ifMatch }: Pick<Edit, "actor" | "ifMatch">): RemoveResult {
  const stored = storedAt(host.sql, uri);
  const row = stored && fromStored(stored);
  if (!matches(ifMatch, row)) return { state: "conflict", etag: row ? etagOf(row) : null };
  if (!stored || !row) return { state: "absent" };
  removeRow(host, stored);
  auditEdit(host, actor, { before: row, after: undefined });
  return { state: "removed" };
}
