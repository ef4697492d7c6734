// How a domain keeps tables in a Durable Object: ordered migrations, methods that are called over RPC, and a shared
// alarm. The object is composed from a list of stores.

import type { ChangeLog } from "./changes.ts";
import type { DeletionState } from "./deletion-state.ts";
import { OTHER_RELEASE, UNRELEASED, type TenantStub } from "./tenant-uid.ts";

export interface StoreHost {
  readonly sql: SqlStorage;
  readonly env: unknown;
  readonly tenant: string;
  /** The current tenant's prefix in the names of data outside the object, as `storageKey()` makes it. */
  storageKey(): string;
  /** The jurisdiction of the object; null: any. */
  readonly jurisdiction: string | null;
  now(): number;
  transaction<T>(work: () => T): T;
  /** How many writes may have happened since the object started, by any store. */
  writes(): number;
  /** Requests `OpenStore.alarm` at this time or earlier (milliseconds since the epoch). */
  scheduleAlarm(time: number): void;
  /** Whether tenants' data may grow. The rest of the object is reserved for writes by operators and the platform. */
  hasCapacity(): boolean;
  /** Where a domain reports its changes to the tenant's listeners. */
  readonly changes: ChangeLog;
  /** Whether the tenant is being deleted, or was deleted recently. Late data must not be stored then. */
  readonly deletion: Pick<DeletionState, "isClosed" | "close" | "reopen" | "deletedUid" | "closingUid">;
  /** Deletes all storage of the object and keeps it closed for a while. Nothing may be written after it. */
  erase(): Promise<void>;
}

/**
 * Thrown in an object, by a method that did nothing and may work in a moment. The stub turns it into the
 * `AppError("busy")` that Worker code throws.
 */
export class ObjectBusy extends Error {}

export interface OpenStore<Methods> {
  readonly methods: Methods;
  /** Bounded work. Returns when to run next, in milliseconds since the epoch; undefined: not again. */
  alarm?(now: number): Promise<number | undefined>;
}

export interface MethodOptions {
  /**
   * The method changes nothing, or repeating it has the same result. It is called again if the platform says that the
   * first call was lost.
   */
  readonly idempotent?: true;
  /** Part of the tenant's deletion: allowed after the tenant is closed. All other methods are refused then. */
  readonly ending?: true;
}

type Options<Methods> = { readonly [Name in keyof Methods]: MethodOptions };

/**
 * The part of a store that callers need. In a separate file if the caller's code runs in Node, where the store cannot be
 * loaded.
 */
export interface RpcInterface<Methods> {
  readonly name: string;
  /** Each is the RPC method `NAME.METHOD` of the object with the store. */
  readonly methods: Options<Methods>;
}

export interface Store<Methods = object, Host extends StoreHost = StoreHost> extends RpcInterface<Methods> {
  /** SQL statements, each applied once and in order. New ones are only appended; a released one is never edited. */
  readonly migrations: readonly string[];
  /**
   * The number of migrations that code must know to read the tables safely. Absent: older code ignores what these
   * migrations add.
   */
  readonly oldestReader?: number;
  open(host: Host): OpenStore<Methods>;
  /** Deletes data outside the object that was written after the object was erased. Repeated if it rejects. */
  sweep?(host: Pick<StoreHost, "env" | "storageKey">): Promise<void>;
}

/**
 * The schema marker. Until the first release, each change to existing migrations raises it, and storage with another
 * marker is refused. From the first release on it stays, because migrations are only appended.
 */
const MARKER = 2;

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

/**
 * Marks empty storage. The platform's own tables begin with an underscore. Throws `UNRELEASED`, and writes nothing, if
 * there are tables with another marker or none.
 */
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
 * Runs the new migrations. Older code accepts a newer schema and logs a warning. If the schema's row requires a newer
 * reader, it throws `OTHER_RELEASE`, and neither reads nor writes.
 */
export function migrate(sql: SqlStorage, stores: readonly Pick<Store, "name" | "migrations" | "oldestReader">[]): void {
  markSchema(sql);
  for (const { name, migrations, oldestReader } of stores) {
    const { version: applied, oldest } = schemaOf(sql, name) ?? { version: 0, oldest: 0 };
    const known = migrations.length;
    if (oldest > known) throw new Error(`${name}: the stored data is ${OTHER_RELEASE}`);
    // The author's error hook is not known here.
    // oxlint-disable-next-line no-console
    if (applied > known) console.warn(`${name}: migration ${applied} is newer than this release, which has ${known}`);
    if (applied >= known) continue;
    for (const statement of migrations.slice(applied)) sql.exec(statement);
    saveSchema(sql, name, known, oldestReader);
  }
}

/** `hostOf` builds the host that the stores of this object share. It is called when all tables exist. */
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

/** The same methods, as a Worker calls them. */
export type RpcClient<Methods> = {
  readonly [Name in keyof Methods]: Methods[Name] extends (...args: infer Args) => infer Result
    ? (...args: Args) => Promise<Awaited<Result>>
    : never;
};

/**
 * The path of a call, with `createRpcClient(stub, policyRpc).lease(request)` as the example. The stub
 * (`createTenantStub` in tenant-uid.ts) calls the object's native RPC method `policy.lease(uid, request)`; `uid` says
 * which tenant of the name is meant. The object (store-object.ts) has one RPC method for each method of its stores. It
 * refuses a call for another tenant, and runs the method that `open` returned. The stub unwraps the answer, or throws.
 * An idempotent call is repeated once if the platform says that it was lost.
 */
export function createRpcClient<Methods extends object>(
  stub: TenantStub,
  { name, methods }: RpcInterface<Methods>,
): RpcClient<Methods> {
  const options = methods as Readonly<Record<string, MethodOptions>>;
  return new Proxy({} as RpcClient<Methods>, {
    get: (_target, method: string) => {
      // Other members are undefined: if an async function returns the proxy, the runtime reads `then`.
      if (!Object.hasOwn(options, method)) return undefined;
      const isIdempotent = options[method]?.idempotent === true;
      return (...args: unknown[]) => stub.call(`${name}.${method}`, args, isIdempotent);
    },
  });
}

/** An object in which no tenant was created has no tables. */
export function hasTable(sql: SqlStorage, name: string): boolean {
  return sql.exec("SELECT 1 FROM sqlite_master WHERE name = ?", name).toArray().length > 0;
}
