// Owns the audit log. An entry is written in the transaction of the change that it records, and is never changed.

import type { Actor, AuditEntry } from "./policy-records.ts";
import type { TableHost } from "./tables.ts";

const MAX_PAGE = 100;

export interface Recorded {
  readonly before: unknown;
  readonly after: unknown;
}

export function recordAudit(
  { sql, now }: Pick<TableHost, "sql" | "now">,
  actor: Actor,
  [action, target]: readonly [action: string, target: string],
  { before, after }: Recorded,
): void {
  sql.exec(
    "INSERT INTO audit (at, actor, action, target, before, after) VALUES (?, ?, ?, ?, ?, ?)",
    new Date(now()).toISOString(),
    actor.name,
    action,
    target,
    JSON.stringify(before ?? null),
    JSON.stringify(after ?? null),
  );
}

interface AuditRow {
  [column: string]: SqlStorageValue;
  sequence: number;
  at: string;
  actor: string;
  action: string;
  target: string;
  before: string;
  after: string;
}

/** Entries before the sequence number `before` (null: from the newest on), newest first, 1 to 100 of them. */
export function auditPage(sql: SqlStorage, before: number | null, limit: number): readonly AuditEntry[] {
  return sql
    .exec<AuditRow>(
      "SELECT * FROM audit WHERE sequence < ? ORDER BY sequence DESC LIMIT ?",
      before ?? Number.MAX_SAFE_INTEGER,
      Math.min(Math.max(1, limit), MAX_PAGE),
    )
    .toArray()
    .map((entry) => ({
      ...entry,
      before: JSON.parse(entry.before) as unknown,
      after: JSON.parse(entry.after) as unknown,
    }));
}
