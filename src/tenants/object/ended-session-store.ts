// The 2025 sessions that their clients ended, until the ids expire. A session's id is sealed and not stored, so its end
// must be. Bounded: if an ended session is forgotten, its owner can use it again, but no other caller can.

import type { EndedSessionsDelta } from "./policy-records.ts";
import { unregisterSession } from "./stateful-session-store.ts";
import type { StoreHost, Store } from "./store.ts";

const MAX_ROWS = 500_000;
/** The most nonces that a lease carries. Isolates ask about older ones one by one. */
const MAX_SENT = 1000;
const TRIM_EVERY = 1000;
const PRUNE_BATCH = 5000;

export interface EndedSessionMethods {
  /**
   * `expires`: when the id expires, in milliseconds since the epoch. Returns false if the session has no object that
   * must be called.
   */
  endSession(nonce: string, expires: number): boolean;
  hasEnded(nonce: string): boolean;
}

export const endedSessionStore: Store<EndedSessionMethods> = {
  name: "ended",
  methods: { endSession: {}, hasEnded: {} },
  migrations: [
    "CREATE TABLE ended_sessions (sequence INTEGER PRIMARY KEY AUTOINCREMENT, nonce TEXT NOT NULL UNIQUE, ended_at INTEGER NOT NULL, expires INTEGER NOT NULL)",
    "CREATE INDEX ended_sessions_by_expiry ON ended_sessions (expires)",
  ],
  open: (host) => ({ methods: methodsOf(host), alarm: async (now) => prune(host, now) }),
};

function methodsOf(host: StoreHost): EndedSessionMethods {
  const { sql } = host;
  return {
    endSession: (nonce, expires) => {
      if (expires <= host.now() || host.deletion.isClosed()) return true;
      const hadObject = unregisterSession(sql, nonce);
      const [row] = sql
        .exec<{
          sequence: number;
        }>(
          "INSERT OR IGNORE INTO ended_sessions (nonce, ended_at, expires) VALUES (?, ?, ?) RETURNING sequence",
          nonce,
          host.now(),
          expires,
        )
        .toArray();
      // Repeated, because the answer was lost. Whether the object was called is unknown.
      if (!row) return true;
      if (row.sequence % TRIM_EVERY === 0)
        sql.exec("DELETE FROM ended_sessions WHERE sequence <= ?", row.sequence - MAX_ROWS);
      host.scheduleAlarm(expires);
      return hadObject;
    },
    hasEnded: (nonce) => sql.exec("SELECT 1 FROM ended_sessions WHERE nonce = ?", nonce).toArray().length > 0,
  };
}

/** The sessions that ended after the cursor `after`; null: there are no new ones. */
export function endedSince(sql: SqlStorage, after: number | null): EndedSessionsDelta | null {
  const rows = sql
    .exec<{ sequence: number; nonce: string; ended_at: number }>(
      "SELECT sequence, nonce, ended_at FROM ended_sessions WHERE sequence > ? ORDER BY sequence DESC LIMIT ?",
      after ?? 0,
      MAX_SENT + 1,
    )
    .toArray();
  const [newest] = rows;
  if (!newest) return after === null ? { cursor: 0, nonces: [], since: 0 } : null;
  const sent = rows.slice(0, MAX_SENT);
  const since = rows.length > MAX_SENT ? (sent.at(-1)?.ended_at ?? 0) : 0;
  return { cursor: newest.sequence, nonces: sent.map(({ nonce }) => nonce), since };
}

function prune({ sql }: StoreHost, now: number): number | undefined {
  const deleted = sql.exec(
    "DELETE FROM ended_sessions WHERE sequence IN (SELECT sequence FROM ended_sessions WHERE expires <= ? LIMIT ?) RETURNING sequence",
    now,
    PRUNE_BATCH,
  );
  if (deleted.toArray().length === PRUNE_BATCH) return now;
  return sql.exec<{ next: number | null }>("SELECT min(expires) AS next FROM ended_sessions").one().next ?? undefined;
}
