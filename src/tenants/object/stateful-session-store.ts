// Owns which 2025 sessions have an object that remembers something, until their ids expire, so that the objects can be
// emptied when the tenant is deleted. A session that only lists and calls has no object and is not in here.

import type { StoreHost, Store } from "./store.ts";

const PRUNE_BATCH = 5000;

/** Whose session it is, and how many are kept at once. */
export interface SessionOwnership {
  /** A principal, or where it comes from if it is anonymous. */
  readonly owner: string;
  readonly maxPerOwner: number;
  readonly maxPerTenant: number;
  /** How many of all must stay free: addresses cost nothing, and those who bring a key must not find them all taken. */
  readonly spare?: number;
}

export interface StatefulSessionMethods {
  /**
   * `expires`: of the session's id, milliseconds since the epoch. false: the tenant is being deleted; otherwise the limit
   * that leaves no room.
   */
  register(nonce: string, expires: number, ownership: SessionOwnership): boolean | "sessions" | "tenantSessions";
  /** At most `limit` nonces in no order; empty when no session is left. */
  list(limit: number): readonly string[];
  forget(nonces: readonly string[]): void;
}

export const statefulSessionStore: Store<StatefulSessionMethods> = {
  name: "sessions",
  methods: { register: {}, list: { idempotent: true, ending: true }, forget: { idempotent: true, ending: true } },
  migrations: [
    "CREATE TABLE remembered_sessions (nonce TEXT PRIMARY KEY, expires INTEGER NOT NULL, owner TEXT NOT NULL DEFAULT '') WITHOUT ROWID",
    "CREATE INDEX remembered_by_expiry ON remembered_sessions (expires)",
    "CREATE INDEX remembered_by_owner ON remembered_sessions (owner, expires)",
  ],
  open: (host) => ({ methods: methodsOf(host), alarm: async (now) => prune(host, now) }),
};

/** Takes the session out; whether it was in there. */
export function unregisterSession(sql: SqlStorage, nonce: string): boolean {
  return sql.exec("DELETE FROM remembered_sessions WHERE nonce = ? RETURNING nonce", nonce).toArray().length > 0;
}

function methodsOf(host: StoreHost): StatefulSessionMethods {
  const { sql } = host;
  const quota = createSessionQuota(host);
  return {
    register: (nonce, expires, ownership) => {
      if (host.deletion.isClosed()) return false;
      const exceeded = isRegistered(sql, nonce) ? undefined : quota.take(ownership);
      if (exceeded) return exceeded;
      sql.exec(
        "INSERT OR REPLACE INTO remembered_sessions (nonce, expires, owner) VALUES (?, ?, ?)",
        nonce,
        expires,
        ownership.owner,
      );
      host.scheduleAlarm(expires);
      return true;
    },
    list: (limit) =>
      sql
        .exec<{ nonce: string }>("SELECT nonce FROM remembered_sessions LIMIT ?", limit)
        .toArray()
        .map(({ nonce }) => nonce),
    forget: (nonces) => {
      host.transaction(() => {
        for (const nonce of nonces) sql.exec("DELETE FROM remembered_sessions WHERE nonce = ?", nonce);
      });
    },
  };
}

function isRegistered(sql: SqlStorage, nonce: string): boolean {
  return sql.exec("SELECT 1 FROM remembered_sessions WHERE nonce = ?", nonce).toArray().length > 0;
}

interface SessionQuota {
  /** Which limit leaves no room for one more. Where there is room, it is taken. */
  take(ownership: SessionOwnership): "sessions" | "tenantSessions" | undefined;
}

/** How long a tenant that has no room is not counted again. */
const RECOUNT_AFTER_MS = 5000;

/** All sessions are counted when there may be no room left, not at each one: counting reads every row. */
function createSessionQuota(host: StoreHost): SessionQuota {
  const { sql } = host;
  let free = 0;
  let lastMax = 0;
  let fullUntil = 0;
  const countAll = () => sql.exec<{ sessions: number }>("SELECT count(*) AS sessions FROM remembered_sessions").one();
  return {
    take: ({ owner, maxPerOwner, maxPerTenant, spare = 0 }) => {
      const { own } = sql
        .exec<{ own: number }>(
          "SELECT count(*) AS own FROM remembered_sessions WHERE owner = ? AND expires > ?",
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
    "DELETE FROM remembered_sessions WHERE nonce IN (SELECT nonce FROM remembered_sessions WHERE expires <= ? LIMIT ?) RETURNING nonce",
    now,
    PRUNE_BATCH,
  );
  if (deleted.toArray().length === PRUNE_BATCH) return now;
  const { next } = sql.exec<{ next: number | null }>("SELECT min(expires) AS next FROM remembered_sessions").one();
  return next ?? undefined;
}
