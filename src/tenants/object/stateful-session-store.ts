// The 2025 sessions that have an object with state, until their ids expire. Deleting the tenant then finds and empties
// the objects. A session that only lists and calls has no object and is not listed here.

import type { StoreHost, Store } from "./store.ts";

const PRUNE_BATCH = 5000;

/** The owner of a session, and the limits on stateful sessions. */
export interface SessionOwnership {
  /** A principal, or the client address if it is anonymous. */
  readonly owner: string;
  readonly maxPerOwner: number;
  readonly maxPerTenant: number;
  /**
   * How many of the tenant's sessions must stay free. Addresses cost nothing, and callers with a key must find room.
   */
  readonly spare?: number;
}

export interface StatefulSessionMethods {
  /**
   * `expires`: when the session's id expires, in milliseconds since the epoch. Returns false if the tenant is being
   * deleted, or the name of the limit that is reached.
   */
  register(nonce: string, expires: number, ownership: SessionOwnership): boolean | "sessions" | "tenantSessions";
  /** At most `limit` nonces, in no order; empty if no session is left. */
  list(limit: number): readonly string[];
  forget(nonces: readonly string[]): void;
}

export const statefulSessionStore: Store<StatefulSessionMethods> = {
  name: "sessions",
  methods: { register: {}, list: { idempotent: true, ending: true }, forget: { idempotent: true, ending: true } },
  migrations: [
    "CREATE TABLE stateful_sessions (nonce TEXT PRIMARY KEY, expires INTEGER NOT NULL, owner TEXT NOT NULL DEFAULT '') WITHOUT ROWID",
    "CREATE INDEX stateful_sessions_by_expiry ON stateful_sessions (expires)",
    "CREATE INDEX stateful_sessions_by_owner ON stateful_sessions (owner, expires)",
  ],
  open: (host) => ({ methods: methodsOf(host), alarm: async (now) => prune(host, now) }),
};

/** Removes the session. Returns whether it was registered. */
export function unregisterSession(sql: SqlStorage, nonce: string): boolean {
  return sql.exec("DELETE FROM stateful_sessions WHERE nonce = ? RETURNING nonce", nonce).toArray().length > 0;
}

function methodsOf(host: StoreHost): StatefulSessionMethods {
  const { sql } = host;
  const counter = createSessionCounter(host);
  return {
    register: (nonce, expires, ownership) => {
      if (host.deletion.isClosed()) return false;
      const exceeded = isRegistered(sql, nonce) ? undefined : counter.take(ownership);
      if (exceeded) return exceeded;
      sql.exec(
        "INSERT OR REPLACE INTO stateful_sessions (nonce, expires, owner) VALUES (?, ?, ?)",
        nonce,
        expires,
        ownership.owner,
      );
      host.scheduleAlarm(expires);
      return true;
    },
    list: (limit) =>
      sql
        .exec<{ nonce: string }>("SELECT nonce FROM stateful_sessions LIMIT ?", limit)
        .toArray()
        .map(({ nonce }) => nonce),
    forget: (nonces) => {
      host.transaction(() => {
        for (const nonce of nonces) sql.exec("DELETE FROM stateful_sessions WHERE nonce = ?", nonce);
      });
    },
  };
}

function isRegistered(sql: SqlStorage, nonce: string): boolean {
  return sql.exec("SELECT 1 FROM stateful_sessions WHERE nonce = ?", nonce).toArray().length > 0;
}

interface SessionCounter {
  /** Takes a place for one session, or returns the limit that is reached. */
  take(ownership: SessionOwnership): "sessions" | "tenantSessions" | undefined;
}

/** How long a full tenant is not counted again. */
const RECOUNT_AFTER_MS = 5000;

/** Counts all sessions only when they may be at the limit, because counting reads every row. */
function createSessionCounter(host: StoreHost): SessionCounter {
  const { sql } = host;
  let free = 0;
  let lastMax = 0;
  let fullUntil = 0;
  const countAll = () => sql.exec<{ sessions: number }>("SELECT count(*) AS sessions FROM stateful_sessions").one();
  return {
    take: ({ owner, maxPerOwner, maxPerTenant, spare = 0 }) => {
      const { own } = sql
        .exec<{ own: number }>(
          "SELECT count(*) AS own FROM stateful_sessions WHERE owner = ? AND expires > ?",
          owner,
          host.now(),
        )
        .one();
      if (own >= maxPerOwner) return "sessions";
      if (lastMax !== maxPerTenant) fullUntil = free = 0;
      lastMax = maxPerTenant;
      if (free <= spare && host.now() >= fullUntil) {
        free = maxPerTenant - countAll().sessions;
        if (free <= spare) fullUntil = host.now() + RECOUNT_AFTER_MS;
      }
      if (free <= spare) return "tenantSessions";
      free -= 1;
      return undefined;
    },
  };
}

function prune({ sql }: StoreHost, now: number): number | undefined {
  const deleted = sql.exec(
    "DELETE FROM stateful_sessions WHERE nonce IN (SELECT nonce FROM stateful_sessions WHERE expires <= ? LIMIT ?) RETURNING nonce",
    now,
    PRUNE_BATCH,
  );
  if (deleted.toArray().length === PRUNE_BATCH) return now;
  const { next } = sql.exec<{ next: number | null }>("SELECT min(expires) AS next FROM stateful_sessions").one();
  return next ?? undefined;
}
