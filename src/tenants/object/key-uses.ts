// Records when each key was last used, to the hour. A row is written at a key's first use in an hour of the clock,
// after the response.

import { deferWrite } from "./defer-write.ts";
import type { StoreHost } from "./store.ts";

export interface KeyUses {
  /** `stored`: the time in the key's row, ISO 8601. */
  record(id: string, stored: string | null): void;
  /** A use that is not written yet, or could not be written. */
  lastUse(id: string): string | undefined;
}

/** The length of `2026-11-21T12`: an ISO 8601 time up to its hour. */
const HOUR_LENGTH = 13;

export function trackKeyUses({ sql, now }: Pick<StoreHost, "sql" | "now">): KeyUses {
  let hour = "";
  /** The uses in this hour, by key. */
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
