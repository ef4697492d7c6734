// Stores results, and rests of results, in the tenant object, each for one principal in one profile. A body is split
// into chunks that fit into a row. The oldest results make room for new ones.

import { ceilToMinute } from "../../tenants/object/body-garbage.ts";
import type { StoreHost, Store } from "../../tenants/object/store.ts";

export const RESULT_LIFETIME_MS = 15 * 60_000;
const MIB = 1024 * 1024;
/** Limits of one principal over all profiles, of all callers without a credential, and of everybody. */
export const MAX_RESULTS_PER_OWNER = { count: 20, bytes: 4 * MIB };
const MAX_RESULTS = { count: 1000, bytes: 64 * MIB };
const MAX_WITHOUT_CREDENTIAL = { count: 250, bytes: 16 * MIB };
/** Prefix of the owner of a caller without a credential: see `hashAddress`. No principal's id has this prefix. */
const NO_CREDENTIAL = "address ";
/** A row holds at most 2 MB. */
const CHUNK_BYTES = MIB;

export interface StoredResult {
  /** Must be unguessable. */
  readonly id: string;
  /** Principal and profile. */
  readonly owner: string;
  readonly principal: string;
  /** Policy name of the tool whose result this is. */
  readonly tool: string;
  readonly body: Uint8Array;
  /** Defaults to 15 minutes. */
  readonly lifetimeMs?: number;
}

export interface ResultMethods {
  /** Returns until when the result can be read, milliseconds since the epoch. Returns null if there is no room. */
  put(result: StoredResult): number | null;
  /** Returns undefined if the result does not exist, has expired or belongs to another owner. */
  getInfo(id: string, owner: string): { readonly tool: string; readonly bytes: number } | undefined;
  get(id: string, owner: string): { readonly tool: string; readonly body: Uint8Array } | undefined;
}

export const resultStore: Store<ResultMethods> = {
  name: "results",
  methods: { put: { idempotent: true }, getInfo: { idempotent: true }, get: { idempotent: true } },
  migrations: [
    `CREATE TABLE results (id TEXT NOT NULL, position INTEGER NOT NULL, owner TEXT NOT NULL, tool TEXT NOT NULL,
       bytes INTEGER NOT NULL, expires INTEGER NOT NULL, body BLOB NOT NULL, principal TEXT NOT NULL, PRIMARY KEY (id, position))`,
    "CREATE INDEX results_by_expiry ON results (expires)",
    // Covers everything that is counted: in the row, columns after the body are a megabyte away.
    "CREATE INDEX results_by_principal ON results (principal, id, bytes)",
  ],
  open: (host) => ({
    methods: {
      put: (result) => host.transaction(() => putResult(host, result)),
      getInfo: (id, owner) => getResultInfo(host, id, owner),
      get: (id, owner) => getResult(host, id, owner),
    },
    alarm: async (now) => {
      host.sql.exec("DELETE FROM results WHERE expires <= ?", now);
      const { at } = host.sql.exec<{ at: number | null }>("SELECT min(expires) AS at FROM results").one();
      return at ?? undefined;
    },
  }),
};

function putResult(
  host: StoreHost,
  { id, owner, principal, tool, body, lifetimeMs = RESULT_LIFETIME_MS }: StoredResult,
): number | null {
  const { sql } = host;
  const { byteLength } = body;
  // A retry after a lost answer replaces the first copy.
  sql.exec("DELETE FROM results WHERE id = ?", id);
  if (byteLength > MAX_RESULTS_PER_OWNER.bytes || !host.hasCapacity()) return null;
  evictToFit(sql, byteLength, { where: "principal = ?", bindings: [principal], limits: MAX_RESULTS_PER_OWNER });
  // A caller without a credential cannot evict results of one that has a credential.
  if (principal.startsWith(NO_CREDENTIAL)) {
    evictToFit(sql, byteLength, {
      where: `principal GLOB '${NO_CREDENTIAL}*'`,
      bindings: [],
      limits: MAX_WITHOUT_CREDENTIAL,
    });
  }
  evictToFit(sql, byteLength, { where: "true", bindings: [], limits: MAX_RESULTS });
  const expiresAt = ceilToMinute(host.now() + lifetimeMs);
  for (let from = 0; from < byteLength; from += CHUNK_BYTES) {
    const chunk = body.slice(from, from + CHUNK_BYTES).buffer;
    const row = [id, from, owner, tool, chunk.byteLength, expiresAt, chunk, principal];
    const columns = "id, position, owner, tool, bytes, expires, body, principal";
    sql.exec(`INSERT INTO results (${columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`, ...row);
  }
  host.scheduleAlarm(expiresAt);
  return expiresAt;
}

interface EvictionScope {
  readonly where: string;
  readonly bindings: readonly string[];
  readonly limits: { readonly count: number; readonly bytes: number };
}

function evictToFit(sql: SqlStorage, needed: number, { where, bindings, limits }: EvictionScope): void {
  const query = `SELECT id, sum(bytes) AS bytes FROM results WHERE ${where} GROUP BY id ORDER BY min(rowid)`;
  const rows = sql.exec<{ id: string; bytes: number }>(query, ...bindings).toArray();
  let sum = rows.reduce((total, row) => total + row.bytes, needed);
  rows.forEach(({ id, bytes }, at) => {
    if (rows.length - at < limits.count && sum <= limits.bytes) return;
    sum -= bytes;
    sql.exec("DELETE FROM results WHERE id = ?", id);
  });
}

function getResultInfo(host: StoreHost, id: string, owner: string): ReturnType<ResultMethods["getInfo"]> {
  const query = "SELECT tool, sum(bytes) AS bytes FROM results WHERE id = ? AND owner = ? AND expires > ? GROUP BY id";
  return host.sql.exec<{ tool: string; bytes: number }>(query, id, owner, host.now()).toArray()[0];
}

function getResult(host: StoreHost, id: string, owner: string): ReturnType<ResultMethods["get"]> {
  const query = "SELECT tool, body FROM results WHERE id = ? AND owner = ? AND expires > ? ORDER BY position";
  const rows = host.sql.exec<{ tool: string; body: ArrayBuffer }>(query, id, owner, host.now()).toArray();
  const [first] = rows;
  if (!first) return undefined;
  const body = new Uint8Array(rows.reduce((total, row) => total + row.body.byteLength, 0));
  let at = 0;
  for (const { body: chunk } of rows) {
    body.set(new Uint8Array(chunk), at);
    at += chunk.byteLength;
  }
  return { tool: first.tool, body };
}
