// The last errors of a tenant. Operators find an error by the request id that the client received. Bounded in rows and
// bytes; the oldest are deleted first. The platform object stores errors without a tenant, and which tenant a request
// id belongs to.

import type { Store, StoreHost } from "./store.ts";

export interface ErrorRecord {
  /** Empty: no request. */
  readonly requestId: string;
  /** Empty: no tenant. */
  readonly tenant: string;
  readonly method: string;
  readonly name: string;
  /** Empty if the tenant object has the message. */
  readonly message: string;
  readonly stack: string;
}

export interface LoggedError extends ErrorRecord {
  readonly sequence: number;
  /** ISO 8601. */
  readonly at: string;
}

export interface ErrorQuery {
  /** null: any request. */
  readonly requestId: string | null;
  /** null: from the newest. */
  readonly before: number | null;
  readonly limit: number;
}

export interface ErrorLogMethods {
  recordError(error: ErrorRecord): void;
  /** Newest first. */
  listErrors(query: ErrorQuery): readonly LoggedError[];
}

const MAX_TENANT_ERRORS = 200;
/** Most of these are only a request id and its tenant. */
const MAX_PLATFORM_ERRORS = 2_000;
const MAX_PAGE = 200;
const RETENTION_DAYS = 14;
const DAY_MS = 86_400_000;
/** The most characters of each column; longer texts are cut. */
const MAX_NAME = 200;
const MAX_MESSAGE = 2_000;
const MAX_STACK = 6_000;

const MIGRATIONS = [
  `CREATE TABLE errors (sequence INTEGER PRIMARY KEY AUTOINCREMENT, at TEXT NOT NULL, request_id TEXT NOT NULL,
     tenant TEXT NOT NULL, method TEXT NOT NULL, name TEXT NOT NULL, message TEXT NOT NULL, stack TEXT NOT NULL)`,
];

export const errorLogStore = createErrorLogStore(MAX_TENANT_ERRORS);
export const platformErrorLogStore = createErrorLogStore(MAX_PLATFORM_ERRORS);

function createErrorLogStore(maxRows: number): Store<ErrorLogMethods> {
  return {
    name: "errors",
    methods: { recordError: {}, listErrors: { idempotent: true } },
    migrations: MIGRATIONS,
    open: (host) => ({ methods: createErrorLogMethods(host, maxRows) }),
  };
}

function createErrorLogMethods(host: StoreHost, maxRows: number): ErrorLogMethods {
  const { sql } = host;
  const since = () => new Date(host.now() - RETENTION_DAYS * DAY_MS).toISOString();
  return {
    recordError: ({ requestId, tenant, method, name, message, stack }) => {
      if (!host.hasCapacity()) return;
      const { sequence } = sql
        .exec<{ sequence: number }>(
          `INSERT INTO errors (at, request_id, tenant, method, name, message, stack) VALUES (?, ?, ?, ?, ?, ?, ?)
             RETURNING sequence`,
          new Date(host.now()).toISOString(),
          requestId.slice(0, MAX_NAME),
          tenant,
          method.slice(0, MAX_NAME),
          name.slice(0, MAX_NAME),
          message.slice(0, MAX_MESSAGE),
          stack.slice(0, MAX_STACK),
        )
        .one();
      sql.exec("DELETE FROM errors WHERE sequence <= ? OR at < ?", sequence - maxRows, since());
    },
    listErrors: ({ requestId, before, limit }) =>
      sql
        .exec<Record<string, SqlStorageValue> & LoggedError>(
          `SELECT sequence, at, request_id AS requestId, tenant, method, name, message, stack FROM errors
             WHERE at >= ? AND sequence < ? AND (? IS NULL OR request_id = ?) ORDER BY sequence DESC LIMIT ?`,
          since(),
          before ?? Number.MAX_SAFE_INTEGER,
          requestId,
          requestId,
          Math.min(limit, MAX_PAGE),
        )
        .toArray(),
  };
}
