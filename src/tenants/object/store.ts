// Owns how a domain keeps tables inside a tenant's object: migrations in order, methods that are called over RPC, one alarm
// shared. Refuses to know any domain: the object is composed from a list.

import type { ChangeLog } from "./changes.ts";
import type { DeletionState } from "./deletion-state.ts";
import { hasTable } from "./has-table.ts";
import { OTHER_RELEASE, UNRELEASED, type TenantStub } from "./tenant-uid.ts";

export interface StoreHost {
  readonly sql: SqlStorage;
  readonly env: unknown;
  /** The tenant's id. */
  readonly tenant: string;
  /** What stands for the tenant, as it is now, in the names of what is kept elsewhere: `keptUnder`. */
  storageKey(): string;
  /** Where the object must stay; null: anywhere. */
  readonly jurisdiction: string | null;
  now(): number;
  transaction<T>(work: () => T): T;
  /** How often something may have been written since the object began, whoever wrote it. */
  writes(): number;
  /** Asks for `Tables.alarm` not later than this time (milliseconds since the epoch). */
  scheduleAlarm(time: number): void;
  /** Whether what tenants store may grow: the rest of the object is kept for what operators and the platform write. */
  hasCapacity(): boolean;
  /** Where a domain says what it changed, for whoever listens to the tenant. */
  readonly changes: ChangeLog;
  /** Whether the tenant is being deleted, or was not long ago: what comes late must not be kept. */
  readonly deletion: Pick<DeletionState, "isClosed" | "close" | "reopen" | "deletedUid" | "closingUid">;
  /** Deletes everything that the object stores and keeps it closed for a while. Nothing must be written after it. */
  erase(): Promise<void>;
}

/** Thrown by a method that did nothing, and may do it in a moment. The caller gets `busy`. */
export class ObjectBusy extends Error {}

export interface OpenStore<Methods> {
  readonly methods: Methods;
  /** Bounded work. Gives the time to be woken next, milliseconds since the epoch; undefined: not at all. */
  alarm?(now: number): Promise<number | undefined>;
}

/** What holds for a method, for who calls it. */
export interface MethodOptions {
  /** It changes nothing, or the same once more: it is called again where the platform says that the first call was lost. */
  readonly idempotent?: true;
  /** With it a tenant's end goes on once it is closed. All others are refused to a tenant that is not there. */
  readonly ending?: true;
}

type Options<Methods> = { readonly [Name in keyof Methods]: MethodOptions };

/** What tables are called by: all that a caller needs. On its own where the caller's code runs in Node, which may not open them. */
export interface RpcInterface<Methods> {
  readonly name: string;
  /** Each is the RPC method `NAME.METHOD` of the object that has the tables. */
  readonly methods: Options<Methods>;
}

export interface Store<Methods = object, Host extends StoreHost = StoreHost> extends RpcInterface<Methods> {
  /** SQL statements, each applied once and in order. They only add; one that was released is never edited. */
  readonly migrations: readonly string[];
  /** How many of these the oldest code knows that may read what they made; absent: older code leaves alone what they add. */
  readonly oldestReader?: number;
  open(host: Host): OpenStore<Methods>;
  /** Deletes what came after everything was deleted, from where it is kept elsewhere. Repeated where it rejects. */
  sweep?(host: Pick<StoreHost, "env" | "storageKey">): Promise<void>;
}

/**
 * The schema marker. Until the first release, each change that edits migrations raises it, and storage with another marker
 * is refused. From the first release on it stays: migrations only add.
 */
const MARKER = 1;

interface SchemaRow {
  [column: string]: SqlStorageValue;
  version: number;
  oldest: number;
}

function schemaOf(sql: SqlStorage, name: string): SchemaRow | undefined {
  return sql.exec<SchemaRow>("SELECT version, oldest FROM schema WHERE name = ?", name).toArray()[0];
}

function saveSchema(sql: SqlStorage, name: string, version: number, oldest = 0): void {
  sql.exec("INSERT OR REPLACE INTO schema (name, version, oldest) VALUES (?, ?, ?)", name, version, oldest);
}

/** Marks empty storage; the platform's own tables begin with an underscore. Throws `UNRELEASED`, and writes nothing, where tables have another marker or none. */
function markSchema(sql: SqlStorage): void {
  const tables = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '\\_%' ESCAPE '\\' LIMIT 1";
  if (sql.exec(tables).toArray().length === 0) {
    sql.exec(
      "CREATE TABLE schema (name TEXT PRIMARY KEY, version INTEGER NOT NULL, oldest INTEGER NOT NULL) WITHOUT ROWID",
    );
    saveSchema(sql, "marker", MARKER);
  }
  if (hasTable(sql, "schema") && schemaOf(sql, "marker")?.version === MARKER) return;
  throw new Error(UNRELEASED);
}

/**
 * Runs the migrations that are new. Older code goes on over a newer schema, and says so in the log, unless the schema's row
 * names an oldest reader that is newer: then it throws `OTHER_RELEASE`, and neither reads nor writes.
 */
export function migrate(sql: SqlStorage, stores: readonly Pick<Store, "name" | "migrations" | "oldestReader">[]): void {
  markSchema(sql);
  for (const { name, migrations, oldestReader } of stores) {
    const { version: applied, oldest } = schemaOf(sql, name) ?? { version: 0, oldest: 0 };
    const known = migrations.length;
    if (oldest > known) throw new Error(`${name}: stored ${OTHER_RELEASE}`);
    // No author's hook is known here.
    // oxlint-disable-next-line no-console
    if (applied > known) console.warn(`${name}: migration ${applied} is of a later release, after ${known}`);
    if (applied >= known) continue;
    for (const statement of migrations.slice(applied)) sql.exec(statement);
    saveSchema(sql, name, known, oldestReader);
  }
}

/** `hostOf` makes what the domains of this object share. It is called when all tables exist. */
export function openStores<Host extends StoreHost>(
  stores: readonly Store<object, Host>[],
  base: StoreHost,
  hostOf: (base: StoreHost) => Host,
): ReadonlyMap<string, OpenStore<object>> {
  base.transaction(() => {
    migrate(base.sql, stores);
  });
  const host = hostOf(base);
  return new Map(stores.map((store) => [store.name, store.open(host)]));
}

/** The same methods as a Worker calls them. */
export type RpcClient<Methods> = {
  readonly [Name in keyof Methods]: Methods[Name] extends (...args: infer Args) => infer Result
    ? (...args: Args) => Promise<Awaited<Result>>
    : never;
};

/**
 * So a call travels: for `remote(stub, policyTables).lease(ask)` the stub (`meaning` in incarnation.ts) calls the object's native RPC
 * method `policy.lease(meant, ask)`; `meant` says which tenant of the name. The object (tables-object.ts), which has one for each
 * method of its tables, refuses what is meant for another and runs the method that `open` gave. The stub unwraps the answer, or throws.
 * An idempotent call is made once more where the platform says that it was lost.
 */
export function createRpcClient<Methods extends object>(
  stub: TenantStub,
  { name, methods }: RpcInterface<Methods>,
): RpcClient<Methods> {
  const options = methods as Readonly<Record<string, MethodOptions>>;
  return new Proxy({} as RpcClient<Methods>, {
    get: (_target, method: string) => {
      // Others are none: an async function that returns the proxy asks it for `then`.
      if (!Object.hasOwn(options, method)) return undefined;
      const isIdempotent = options[method]?.idempotent === true;
      return (...args: unknown[]) => stub.call(`${name}.${method}`, args, isIdempotent);
    },
  });
}
