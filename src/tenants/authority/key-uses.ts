// Owns when each key of a tenant was last used, exact to the hour: a row is written when a key is seen first in an hour of the
// clock, and after the answer to whoever asked about it.

import { afterAnswer } from "./after-answer.ts";
import type { TableHost } from "./tables.ts";

export interface KeyUses {
  /** `stored`: what its row says, ISO 8601. */
  note(id: string, stored: string | null): void;
  /** What is not in its row yet, or could not be written. */
  noted(id: string): string | undefined;
}

/** `2026-11-21T12`: as much of a time in ISO 8601 says in which hour it is. */
const HOUR_LENGTH = 13;

export function trackKeyUses({ sql, now }: Pick<TableHost, "sql" | "now">): KeyUses {
  let hour = "";
  /** In this hour, by key. */
  const uses = new Map<string, string>();
  let unwritten: [id: string, at: string][] = [];
  const write = () => {
    const rows = unwritten;
    unwritten = [];
    for (const [id, at] of rows) sql.exec("UPDATE api_keys SET last_used = ? WHERE id = ?", at, id);
  };
  return {
    note: (id, stored) => {
      const at = new Date(now()).toISOString();
      const current = at.slice(0, HOUR_LENGTH);
      if (current !== hour) uses.clear();
      hour = current;
      if (uses.has(id) || stored?.startsWith(current)) return;
      uses.set(id, at);
      if (unwritten.push([id, at]) === 1) afterAnswer("last_used", write);
    },
    noted: (id) => uses.get(id),
  };
}
