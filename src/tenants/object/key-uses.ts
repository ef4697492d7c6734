// Owns when each key of a tenant was last used, exact to the hour: a row is written when a key is seen first in an hour of the
// clock, and after the answer to whoever asked about it.

import { deferWrite } from "./defer-write.ts";
import type { StoreHost } from "./store.ts";

export interface KeyUses {
  /** `stored`: what its row says, ISO 8601. */
  record(id: string, stored: string | null): void;
  /** What is not in its row yet, or could not be written. */
  lastUse(id: string): string | undefined;
}

/** `2026-11-21T12`: as much of a time in ISO 8601 says in which hour it is. */
const HOUR_LENGTH = 13;

export function trackKeyUses({ sql, now }: Pick<StoreHost, "sql" | "now">): KeyUses {
  let hour = "";
  /** In this hour, by key. */
  const uses = new Map<string, string>();
  let pending: [id: string, at: string][] = [];
  const write = () => {
    const rows = pending;
    pending = [];
    for (const [id, at] of rows) sql.exec("UPDATE api_keys SET last_used = ? WHERE id = ?", at, id);
  };
  return {
    record: (id, stored) => {
      const at = new Date(now()).toISOString();
      const current = at.slice(0, HOUR_LENGTH);
      if (current !== hour) uses.clear();
      hour = current;
      if (uses.has(id) || stored?.startsWith(current)) return;
      uses.set(id, at);
      if (pending.push([id, at]) === 1) deferWrite("last_used", write);
    },
    lastUse: (id) => uses.get(id),
  };
}
