// Owns how a domain keeps tables inside a tenant's object: migrations in order, methods called by name, one alarm shared.
// Refuses to know any domain: the object is composed from a list in the entry.

import type { ChangeLog } from "./changes.ts";
import type { Closure } from "./closure.ts";

export interface TableHost {
  readonly sql: SqlStorage;
  readonly env: unknown;
  /** The tenant's id, which names the object. */
  readonly tenant: string;
  /** Where the object must stay; null: anywhere. */
  readonly jurisdiction: string | null;
  now(): number;
  transaction<T>(work: () => T): T;
  /** Asks for `Tables.alarm` not later than this time (milliseconds since the epoch). */
  wakeAt(time: number): void;
  /** What is written here is told to whoever listens. */
  readonly changes: ChangeLog;
  /** Closed: the tenant is being deleted, or was not long ago; whatever comes late must not be kept. */
  readonly closure: Pick<Closure, "isClosed" | "setClosed">;
  /** Deletes everything that the object stores; it stays closed for a while. Nothing but the answer may follow. */
  erase(): Promise<void>;
}

export interface OpenTables<Methods> {
  readonly methods: Methods;
  /** Bounded work; returns when it wants to be woken next, undefined for not at all. */
  alarm?(now: number): Promise<number | undefined>;
}

export interface Tables<Methods = object, Host extends TableHost = TableHost> {
  readonly name: string;
  /** Applied once each, in order; never edited once released. */
  readonly migrations: readonly string[];
  open(host: Host): OpenTables<Methods>;
}

export function migrate(sql: SqlStorage, tables: readonly Pick<Tables, "name" | "migrations">[]): void {
  sql.exec("CREATE TABLE IF NOT EXISTS schema_versions (name TEXT PRIMARY KEY, version INTEGER NOT NULL)");
  for (const { name, migrations } of tables) {
    const row = sql.exec<{ version: number }>("SELECT version FROM schema_versions WHERE name = ?", name).toArray()[0];
    const done = row?.version ?? 0;
    if (done >= migrations.length) continue;
    for (const statement of migrations.slice(done)) sql.exec(statement);
    sql.exec(
      "INSERT INTO schema_versions (name, version) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET version = excluded.version",
      name,
      migrations.length,
    );
  }
}

/** `hostOf`: what the domains of this object share beyond their tables, once all tables are there. */
export function openTables<Host extends TableHost>(
  tables: readonly Tables<object, Host>[],
  base: TableHost,
  hostOf: (base: TableHost) => Host,
): ReadonlyMap<string, OpenTables<object>> {
  base.transaction(() => {
    migrate(base.sql, tables);
  });
  const host = hostOf(base);
  return new Map(tables.map((entry) => [entry.name, entry.open(host)]));
}

/** The same methods, called from a Worker. */
export type Remote<Methods> = {
  readonly [Name in keyof Methods]: Methods[Name] extends (...args: infer Args) => infer Result
    ? (...args: Args) => Promise<Awaited<Result>>
    : never;
};

export interface TenantStub {
  run(tables: string, method: string, args: readonly unknown[]): Promise<unknown>;
}

export function remote<Methods extends object>(stub: TenantStub, tables: Tables<Methods>): Remote<Methods> {
  return new Proxy({} as Remote<Methods>, {
    // Without this an async function that returns one would take it for a promise.
    get: (_target, method) =>
      method === "then" ? undefined : (...args: unknown[]) => stub.run(tables.name, String(method), args),
  });
}
