// Owns the last errors of a tenant, as its operators look for them: by the id that a client was told. Bounded in rows and in bytes;
// the oldest make room. The platform's object keeps as many that are of no tenant, and which tenant an id is of.

import type { Tables, TableHost } from "./tables.ts";

export interface FaultRecord {
  /** Empty: of no request. */
  readonly requestId: string;
  /** Empty: of no tenant. */
  readonly tenant: string;
  readonly method: string;
  readonly name: string;
  /** Empty where the tenant's own object has it. */
  readonly message: string;
  readonly stack: string;
}

export interface NotedFault extends FaultRecord {
  readonly sequence: number;
  /** ISO 8601. */
  readonly at: string;
}

export interface FaultAsk {
  /** null: of any. */
  readonly requestId: string | null;
  /** null: from the newest on. */
  readonly before: number | null;
  readonly limit: number;
}

export interface FaultMethods {
  noteFault(fault: FaultRecord): void;
  /** Newest first. */
  faults(ask: FaultAsk): readonly NotedFault[];
}

const MOST_OF_TENANT = 200;
/** Most are no more than an id and its tenant. */
const MOST_OF_PLATFORM = 2_000;
const MOST_AT_ONCE = 200;
const KEPT_DAYS = 14;
const DAY_MS = 86_400_000;
/** Characters of each column; what is longer is cut. */
const MOST_NAME = 200;
const MOST_MESSAGE = 2_000;
const MOST_STACK = 6_000;

const MIGRATIONS = [
  `CREATE TABLE faults (sequence INTEGER PRIMARY KEY AUTOINCREMENT, at TEXT NOT NULL, request_id TEXT NOT NULL,
     tenant TEXT NOT NULL, method TEXT NOT NULL, name TEXT NOT NULL, message TEXT NOT NULL, stack TEXT NOT NULL)`,
];

export const faultTables = tablesOf(MOST_OF_TENANT);
export const platformFaultTables = tablesOf(MOST_OF_PLATFORM);

function tablesOf(most: number): Tables<FaultMethods> {
  return {
    name: "faults",
    methods: { noteFault: {}, faults: { idempotent: true } },
    migrations: MIGRATIONS,
    open: (host) => ({ methods: faultMethods(host, most) }),
  };
}

function faultMethods(host: TableHost, most: number): FaultMethods {
  const { sql } = host;
  const since = () => new Date(host.now() - KEPT_DAYS * DAY_MS).toISOString();
  return {
    noteFault: ({ requestId, tenant, method, name, message, stack }) => {
      if (!host.hasRoom()) return;
      const { sequence } = sql
        .exec<{ sequence: number }>(
          `INSERT INTO faults (at, request_id, tenant, method, name, message, stack) VALUES (?, ?, ?, ?, ?, ?, ?)
             RETURNING sequence`,
          new Date(host.now()).toISOString(),
          requestId.slice(0, MOST_NAME),
          tenant,
          method.slice(0, MOST_NAME),
          name.slice(0, MOST_NAME),
          message.slice(0, MOST_MESSAGE),
          stack.slice(0, MOST_STACK),
        )
        .one();
      sql.exec("DELETE FROM faults WHERE sequence <= ? OR at < ?", sequence - most, since());
    },
    faults: ({ requestId, before, limit }) =>
      sql
        .exec<Record<string, SqlStorageValue> & NotedFault>(
          `SELECT sequence, at, request_id AS requestId, tenant, method, name, message, stack FROM faults
             WHERE at >= ? AND sequence < ? AND (? IS NULL OR request_id = ?) ORDER BY sequence DESC LIMIT ?`,
          since(),
          before ?? Number.MAX_SAFE_INTEGER,
          requestId,
          requestId,
          Math.min(limit, MOST_AT_ONCE),
        )
        .toArray(),
  };
}
