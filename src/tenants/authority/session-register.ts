// Owns which 2025 sessions have an object that remembers something, until their ids expire, so that the objects can be
// emptied when the tenant is deleted. A session that only lists and calls has no object and is not in here.

import type { TableHost, Tables } from "./tables.ts";

const PRUNED_AT_ONCE = 5000;

export interface RegisterMethods {
  /** `expires`: of the session's id, milliseconds since the epoch. false: the tenant is being deleted. */
  remember(nonce: string, expires: number): boolean;
  /** At most `limit` nonces in no order; empty when no session is left. */
  list(limit: number): readonly string[];
  forget(nonces: readonly string[]): void;
}

export const sessionRegister: Tables<RegisterMethods> = {
  name: "sessions",
  migrations: [
    "CREATE TABLE remembered_sessions (nonce TEXT PRIMARY KEY, expires INTEGER NOT NULL) WITHOUT ROWID",
    "CREATE INDEX remembered_by_expiry ON remembered_sessions (expires)",
  ],
  open: (host) => ({ methods: methodsOf(host), alarm: async (now) => prune(host, now) }),
};

/** Takes the session out; whether it was in there. */
export function takeRemembered(sql: SqlStorage, nonce: string): boolean {
  return sql.exec("DELETE FROM remembered_sessions WHERE nonce = ? RETURNING nonce", nonce).toArray().length > 0;
}

function methodsOf(host: TableHost): RegisterMethods {
  const { sql } = host;
  return {
    remember: (nonce, expires) => {
      if (host.closure.isClosed()) return false;
      sql.exec("INSERT OR REPLACE INTO remembered_sessions (nonce, expires) VALUES (?, ?)", nonce, expires);
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
