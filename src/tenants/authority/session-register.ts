// Owns which 2025 sessions have an object that remembers something, until their ids expire, so that the objects can be
// emptied when the tenant is deleted. A session that only lists and calls has no object and is not in here.

import type { TableHost, Tables } from "./tables.ts";

const PRUNED_AT_ONCE = 5000;

/** Whose session it is, and how many are kept at once. */
export interface SessionOwnership {
  /** A principal, or where it comes from if it is anonymous. */
  readonly owner: string;
  readonly mostOfOwner: number;
  readonly mostOfAll: number;
  /** How many of all must stay free: addresses cost nothing, and those who bring a key must not find them all taken. */
  readonly spare?: number;
}

export interface RegisterMethods {
  /**
   * `expires`: of the session's id, milliseconds since the epoch. false: the tenant is being deleted; otherwise the limit
   * that leaves no room.
   */
  remember(nonce: string, expires: number, of: SessionOwnership): boolean | "sessions" | "tenantSessions";
  /** At most `limit` nonces in no order; empty when no session is left. */
  list(limit: number): readonly string[];
  forget(nonces: readonly string[]): void;
}

export const sessionRegister: Tables<RegisterMethods> = {
  name: "sessions",
  methods: { remember: {}, list: { idempotent: true, ending: true }, forget: { idempotent: true, ending: true } },
  migrations: [
    "CREATE TABLE remembered_sessions (nonce TEXT PRIMARY KEY, expires INTEGER NOT NULL, owner TEXT NOT NULL DEFAULT '') WITHOUT ROWID",
    "CREATE INDEX remembered_by_expiry ON remembered_sessions (expires)",
    "CREATE INDEX remembered_by_owner ON remembered_sessions (owner, expires)",
  ],
  open: (host) => ({ methods: methodsOf(host), alarm: async (now) => prune(host, now) }),
};

/** Takes the session out; whether it was in there. */
export function takeRemembered(sql: SqlStorage, nonce: string): boolean {
  return sql.exec("DELETE FROM remembered_sessions WHERE nonce = ? RETURNING nonce", nonce).toArray().length > 0;
}

function methodsOf(host: TableHost): RegisterMethods {
  const { sql } = host;
  const room = createRoom(host);
  return {
    remember: (nonce, expires, of) => {
      if (host.closure.isClosed()) return false;
      const met = isRemembered(sql, nonce) ? undefined : room.missing(of);
      if (met) return met;
      sql.exec(
        "INSERT OR REPLACE INTO remembered_sessions (nonce, expires, owner) VALUES (?, ?, ?)",
        nonce,
        expires,
        of.owner,
      );
      host.wakeAt(expires);
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

function isRemembered(sql: SqlStorage, nonce: string): boolean {
  return sql.exec("SELECT 1 FROM remembered_sessions WHERE nonce = ?", nonce).toArray().length > 0;
}

interface Room {
  /** Which limit leaves no room for one more. Where there is room, it is taken. */
  missing(of: SessionOwnership): "sessions" | "tenantSessions" | undefined;
}

/** How long a tenant that has no room is not counted again. */
const FULL_MS = 5000;

/** All sessions are counted when there may be no room left, not at each one: counting reads every row. */
function createRoom(host: TableHost): Room {
  const { sql } = host;
  let left = 0;
  let mostThen = 0;
  let fullUntil = 0;
  const countAll = () => sql.exec<{ sessions: number }>("SELECT count(*) AS sessions FROM remembered_sessions").one();
  return {
    missing: ({ owner, mostOfOwner, mostOfAll, spare = 0 }) => {
      const { own } = sql
        .exec<{ own: number }>(
          "SELECT count(*) AS own FROM remembered_sessions WHERE owner = ? AND expires > ?",
          owner,
          host.now(),
        )
        .one();
      if (own >= mostOfOwner) return "sessions";
      if (mostThen !== mostOfAll) fullUntil = left = 0;
      mostThen = mostOfAll;
      if (left <= spare && host.now() >= fullUntil) {
        left = mostOfAll - countAll().sessions;
        if (left <= spare) fullUntil = host.now() + FULL_MS;
      }
      if (left <= spare) return "tenantSessions";
      left -= 1;
      return undefined;
    },
  };
}

function prune({ sql }: TableHost, now: number): number | undefined {
  const gone = sql.exec(
    "DELETE FROM remembered_sessions WHERE nonce IN (SELECT nonce FROM remembered_sessions WHERE expires <= ? LIMIT ?) RETURNING nonce",
    now,
    PRUNED_AT_ONCE,
  );
  if (gone.toArray().length === PRUNED_AT_ONCE) return now;
  const { next } = sql.exec<{ next: number | null }>("SELECT min(expires) AS next FROM remembered_sessions").one();
  return next ?? undefined;
}
