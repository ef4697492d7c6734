// An operator's edit of a resource: a write with conditions, and with an audit entry that is stored in the same
// transaction. A conflicting edit is rejected before anything changes. Writes by tools have neither conditions nor
// entries.

import { canonicalJson } from "../auth/seal.ts";
import { ObjectBusy, type StoreHost } from "../tenants/object/store.ts";
import { etagOf, type NewRow, type ResourceRow } from "./resource-row.ts";

export interface Edit {
  /** The operator's name, for the audit log. */
  readonly actor: string;
  /** Entity tags, one of which must be current; "*" for any; null for no condition. */
  readonly ifMatch: readonly string[] | null;
  /** Writes only if there is no resource with this URI yet. */
  readonly ifAbsent: boolean;
}

/** An edit's audit entry on its way to the tenant object, which stores the log. */
export interface EditEntry {
  readonly sequence: number;
  /** ISO 8601. */
  readonly at: string;
  readonly actor: string;
  readonly action: string;
  readonly target: string;
  /** JSON. */
  readonly before: string;
  readonly after: string;
}

/** Most entries that wait for a tenant object that does not answer. */
export const MAX_QUEUED_EDITS = 1000;

/** Entries of many edits travel together. */
const SEND_DELAY_MS = 1000;

export type RemoveResult =
  | { readonly state: "removed" }
  | { readonly state: "absent" }
  | { readonly state: "conflict"; readonly etag: string | null };

/** `same`: the edit would change nothing. */
export type EditRejection =
  | { readonly state: "same"; readonly row: ResourceRow }
  | { readonly state: "conflict"; readonly etag: string | null };

/** Whether the entity tags of `If-Match` allow a change of this row; undefined: there is no row. */
export function matchesIfMatch(ifMatch: readonly string[] | null, row: ResourceRow | undefined): boolean {
  if (ifMatch === null) return true;
  if (!row) return false;
  return ifMatch.includes("*") || ifMatch.includes(etagOf(row));
}

/** Returns undefined if the edit may continue. */
export function editRejection(edit: Edit, next: NewRow, old: ResourceRow | undefined): EditRejection | undefined {
  if (!matchesIfMatch(edit.ifMatch, old) || (edit.ifAbsent && old)) {
    return { state: "conflict", etag: old ? etagOf(old) : null };
  }
  if (old && isSame(old, next)) return { state: "same", row: old };
  return undefined;
}

function isSame(old: ResourceRow, next: NewRow): boolean {
  const { lastModified, revision } = old;
  return canonicalJson(old) === canonicalJson({ lastModified, ...next, revision });
}

export function auditEdit(
  host: StoreHost,
  actor: string,
  { before, after }: { readonly before: ResourceRow | undefined; readonly after: ResourceRow | undefined },
): void {
  const action = after === undefined ? "delete" : before === undefined ? "create" : "update";
  const uri = (after ?? before)?.uri ?? "";
  const { waiting } = host.sql.exec<{ waiting: number }>("SELECT count(*) AS waiting FROM edit_outbox").one();
  // An edit that cannot be audited is not made.
  if (waiting >= MAX_QUEUED_EDITS) throw new ObjectBusy();
  host.sql.exec(
    "INSERT INTO edit_outbox (at, actor, action, target, before, after) VALUES (?, ?, ?, ?, ?, ?)",
    new Date(host.now()).toISOString(),
    actor,
    `resource.${action}`,
    `resource ${uri}`,
    JSON.stringify(before ?? null),
    JSON.stringify(after ?? null),
  );
  host.scheduleAlarm(host.now() + SEND_DELAY_MS);
}
