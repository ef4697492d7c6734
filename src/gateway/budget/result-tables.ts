// Owns what was left out of results that were too long for a profile: each for one principal in one profile, for some
// minutes, in pieces as large as a row may be. Bounded: the oldest make room. Refuses to give it to anybody else.

import { onTheMinute } from "../../tenants/authority/body-garbage.ts";
import type { TableHost, Tables } from "../../tenants/authority/tables.ts";

export const RESULT_LIFETIME_MS = 15 * 60_000;
const MIB = 1024 * 1024;
/** Of one principal, in all profiles, and of all: how many, and how many bytes. */
export const MOST_RESULTS_OF_OWNER = { count: 20, bytes: 4 * MIB };
const MOST_OF_ALL = { count: 1000, bytes: 64 * MIB };
const MOST_WITHOUT_CREDENTIAL = { count: 250, bytes: 16 * MIB };
/** With which an owner begins who has no credential: see `storedAddress`. No principal's id does. */
const NO_CREDENTIAL = "address ";
/** A row has at most 2 MB. */
const PIECE = MIB;

export interface KeptResult {
  /** Nobody can guess it. */
  readonly id: string;
  /** The principal and the profile. */
  readonly owner: string;
  readonly principal: string;
  /** The tool whose result it is, by the name that its source gives it. */
  readonly tool: string;
  readonly body: Uint8Array;
  /** 15 minutes when absent. */
  readonly lifetimeMs?: number;
}

export interface ResultMethods {
  /** Until when it can be read, milliseconds since the epoch; null: there is no room for it. */
  keep(result: KeptResult): number | null;
  /** How long it is; undefined: there is none, or none any more, or it is somebody else's. */
  look(id: string, owner: string): { readonly tool: string; readonly bytes: number } | undefined;
  take(id: string, owner: string): { readonly tool: string; readonly body: Uint8Array } | undefined;
}

export const resultTables: Tables<ResultMethods> = {
  name: "results",
  methods: { keep: { idempotent: true }, look: { idempotent: true }, take: { idempotent: true } },
  migrations: [
    `CREATE TABLE results (id TEXT NOT NULL, part INTEGER NOT NULL, owner TEXT NOT NULL, tool TEXT NOT NULL,
       bytes INTEGER NOT NULL, until INTEGER NOT NULL, body BLOB NOT NULL, principal TEXT NOT NULL, PRIMARY KEY (id, part))`,
    "CREATE INDEX results_by_end ON results (until)",
    // Has all that is counted: in the rows, what stands behind a body is a megabyte away.
    "CREATE INDEX results_by_principal ON results (principal, id, bytes)",
  ],
  open: (host) => ({
    methods: {
      keep: (result) => host.transaction(() => keep(host, result)),
      look: (id, owner) => look(host, id, owner),
      take: (id, owner) => take(host, id, owner),
    },
    alarm: async (now) => {
      host.sql.exec("DELETE FROM results WHERE until <= ?", now);
      const { at } = host.sql.exec<{ at: number | null }>("SELECT min(until) AS at FROM results").one();
      return at ?? undefined;
    },
  }),
};

function keep(
  host: TableHost,
  { id, owner, principal, tool, body, lifetimeMs = RESULT_LIFETIME_MS }: KeptResult,
): number | null {
  const { sql } = host;
  const { byteLength } = body;
  // The same once more, because nobody heard that it was kept, takes the place of the first.
  sql.exec("DELETE FROM results WHERE id = ?", id);
  if (byteLength > MOST_RESULTS_OF_OWNER.bytes || !host.hasRoom()) return null;
  makeRoom(sql, byteLength, { where: "principal = ?", bound: [principal], most: MOST_RESULTS_OF_OWNER });
  // Whoever has no credential takes nobody's place who has one.
  if (principal.startsWith(NO_CREDENTIAL)) {
    makeRoom(sql, byteLength, {
      where: `principal GLOB '${NO_CREDENTIAL}*'`,
      bound: [],
      most: MOST_WITHOUT_CREDENTIAL,
    });
  }
  makeRoom(sql, byteLength, { where: "true", bound: [], most: MOST_OF_ALL });
  const until = onTheMinute(host.now() + lifetimeMs);
  for (let from = 0; from < byteLength; from += PIECE) {
    const piece = body.slice(from, from + PIECE).buffer;
    const row = [id, from, owner, tool, piece.byteLength, until, piece, principal];
    const columns = "id, part, owner, tool, bytes, until, body, principal";
    sql.exec(`INSERT INTO results (${columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`, ...row);
  }
  host.wakeAt(until);
  return until;
}

interface Room {
  readonly where: string;
  readonly bound: readonly string[];
  readonly most: { readonly count: number; readonly bytes: number };
}

function makeRoom(sql: SqlStorage, needed: number, { where, bound, most }: Room): void {
  const query = `SELECT id, sum(bytes) AS bytes FROM results WHERE ${where} GROUP BY id ORDER BY min(rowid)`;
  const rows = sql.exec<{ id: string; bytes: number }>(query, ...bound).toArray();
  let sum = rows.reduce((total, row) => total + row.bytes, needed);
  rows.forEach(({ id, bytes }, at) => {
    if (rows.length - at < most.count && sum <= most.bytes) return;
    sum -= bytes;
    sql.exec("DELETE FROM results WHERE id = ?", id);
  });
}

function look(host: TableHost, id: string, owner: string): ReturnType<ResultMethods["look"]> {
  const query = "SELECT tool, sum(bytes) AS bytes FROM results WHERE id = ? AND owner = ? AND until > ? GROUP BY id";
  return host.sql.exec<{ tool: string; bytes: number }>(query, id, owner, host.now()).toArray()[0];
}

function take(host: TableHost, id: string, owner: string): ReturnType<ResultMethods["take"]> {
  const query = "SELECT tool, body FROM results WHERE id = ? AND owner = ? AND until > ? ORDER BY part";
  const rows = host.sql.exec<{ tool: string; body: ArrayBuffer }>(query, id, owner, host.now()).toArray();
  const [first] = rows;
  if (!first) return undefined;
  const body = new Uint8Array(rows.reduce((total, row) => total + row.body.byteLength, 0));
  let at = 0;
  for (const { body: piece } of rows) {
    body.set(new Uint8Array(piece), at);
    at += piece.byteLength;
  }
  return { tool: first.tool, body };
}
