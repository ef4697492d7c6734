// Decisions that only the one tenant object can make: its sealing keys, one-time claims, and whether the tenant is
// seeded.

import { logError } from "../../telemetry/error-line.ts";
import type { KeyRing } from "../../auth/seal.ts";
import { MAX_STALENESS_MS } from "../document/tenant-document.ts";
import type { StoreHost, Store } from "./store.ts";

const DAY = 86_400_000;
/**
 * A key seals for this long, and unseals for as long again. Session ids are the longest-lived sealed texts and last as
 * long.
 */
export const KEY_LIFETIME_MS = 7 * DAY;
const MAX_SEALING_KEYS = 2;
/**
 * A new key only unseals for this long before it seals, because isolates with an older lease do not have it yet. Covers
 * the longest lease, and a minute for clocks that differ.
 */
export const KEY_SETTLING_MS = MAX_STALENESS_MS + 60_000;

/** `unknown`: it was claimed before, and the outcome was never reported. */
export type Claim =
  | { readonly state: "claimed" }
  | { readonly state: "settled"; readonly value: string }
  | { readonly state: "unknown" };

interface KeyRow {
  [column: string]: SqlStorageValue;
  id: string;
  secret: ArrayBuffer;
  created: number;
}

export interface AuthorityState {
  readonly ring: KeyRing;
  readonly seeded: boolean;
}

export interface AuthorityMethods {
  state(): AuthorityState;
  /** Resolves if the tenant that the call means is here. */
  exists(): void;
  markSeeded(): void;
  /**
   * The first caller claims a nonce and name; later callers get the outcome, if it is known. `expires`: how long the
   * claim is kept, in milliseconds since the epoch.
   */
  claim(nonce: string, name: string, expires: number): Claim;
  settle(nonce: string, name: string, value: string): void;
}

export const authorityStore: Store<AuthorityMethods> = {
  name: "authority",
  methods: {
    state: {},
    exists: { idempotent: true },
    markSeeded: {},
    claim: { idempotent: true },
    settle: { idempotent: true },
  },
  migrations: [
    "CREATE TABLE sealing_keys (id TEXT PRIMARY KEY, secret BLOB NOT NULL, created INTEGER NOT NULL)",
    "CREATE TABLE flags (name TEXT PRIMARY KEY, value TEXT NOT NULL)",
    `CREATE TABLE once_claims (nonce TEXT NOT NULL, name TEXT NOT NULL, expires INTEGER NOT NULL, value TEXT,
       PRIMARY KEY (nonce, name)) WITHOUT ROWID`,
    "CREATE INDEX once_claims_by_expiry ON once_claims (expires)",
  ],
  open: (host) => ({ methods: methodsOf(host), alarm: async (now) => pruneClaims(host.sql, now) }),
};

const PRUNE_BATCH = 1000;

/** Returns when the next claim expires, in milliseconds since the epoch. */
function pruneClaims(sql: SqlStorage, now: number): number | undefined {
  const old = "SELECT nonce, name FROM once_claims WHERE expires < ? LIMIT ?";
  sql.exec(`DELETE FROM once_claims WHERE (nonce, name) IN (${old})`, now, PRUNE_BATCH);
  const { next } = sql.exec<{ next: number | null }>("SELECT min(expires) AS next FROM once_claims").one();
  return next === null ? undefined : Math.max(next + 1, now);
}

function methodsOf(host: StoreHost): AuthorityMethods {
  const { sql } = host;
  return {
    state: () => authorityState(host),
    exists: () => {},
    markSeeded: () => {
      sql.exec("INSERT OR IGNORE INTO flags (name, value) VALUES ('seeded', ?)", new Date(host.now()).toISOString());
    },
    claim: (nonce, name, expires) => {
      pruneClaims(sql, host.now());
      const row = sql
        .exec<{ value: string | null }>("SELECT value FROM once_claims WHERE nonce = ? AND name = ?", nonce, name)
        .toArray()[0];
      if (row) return row.value === null ? { state: "unknown" } : { state: "settled", value: row.value };
      sql.exec("INSERT INTO once_claims (nonce, name, expires) VALUES (?, ?, ?)", nonce, name, expires);
      host.scheduleAlarm(expires + 1);
      return { state: "claimed" };
    },
    settle: (nonce, name, value) => {
      sql.exec("UPDATE once_claims SET value = ? WHERE nonce = ? AND name = ?", value, nonce, name);
    },
  };
}

/** The sealing keys and the seeding flag, which every lease carries beside the policy. */
export function authorityState(host: StoreHost): AuthorityState {
  const seeded = host.sql.exec("SELECT 1 FROM flags WHERE name = 'seeded'").toArray().length > 0;
  return { ring: currentRing(host), seeded };
}

/** The newest key first, unless it is still settling. Creates the first key, and a new one if the newest is too old. */
function currentRing(host: StoreHost): KeyRing {
  const { sql } = host;
  const readKeys = (): KeyRow[] => sql.exec<KeyRow>("SELECT * FROM sealing_keys ORDER BY created DESC").toArray();
  let rows = readKeys();
  if (!rows[0] || rows[0].created + KEY_LIFETIME_MS < host.now()) {
    createSealingKey(host, rows.length > 0);
    rows = readKeys();
    for (const old of rows.slice(MAX_SEALING_KEYS)) sql.exec("DELETE FROM sealing_keys WHERE id = ?", old.id);
  }
  const ring = rows.slice(0, MAX_SEALING_KEYS).map(({ id, secret }) => ({ id, secret: new Uint8Array(secret) }));
  const settling = rows[0] !== undefined && host.now() < rows[0].created + KEY_SETTLING_MS;
  return settling ? ring.toReversed() : ring;
}

/** `hasFallback`: there is an older key, which keeps sealing if the object is full. */
function createSealingKey(host: StoreHost, hasFallback: boolean): void {
  const id = crypto.randomUUID().slice(0, 8);
  try {
    host.sql.exec(
      "INSERT INTO sealing_keys (id, secret, created) VALUES (?, ?, ?)",
      id,
      crypto.getRandomValues(new Uint8Array(32)).buffer,
      host.now(),
    );
  } catch (error) {
    if (!hasFallback) throw error;
    logError(error, { tenant: host.tenant, method: "sealing_keys" });
  }
}
