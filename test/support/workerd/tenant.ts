// Fresh tenants for tests inside the Worker: a real object with its real SQLite. Where a test sets the clock, it opens a
// store on that database itself.

import { runInDurableObject } from "cloudflare:test";
import { env, exports } from "cloudflare:workers";
import type { ContentObject, TenantObject } from "../../fixtures/worker.ts";
import { contentStubOf } from "../../../src/tenants/directory/tenant-stubs.ts";
import { DEFAULT_PLACEMENT } from "../../../src/tenants/directory/placement.ts";
import type { ChangeLog } from "../../../src/tenants/object/changes.ts";
import { countWrites } from "../../../src/tenants/object/count-writes.ts";
import { createTenantHost, type TenantHost } from "../../../src/tenants/object/tenant-host.ts";
import { policyStore } from "../../../src/tenants/object/policy-store.ts";
import {
  migrate,
  createRpcClient,
  type OpenStore,
  type StoreHost,
  type Store,
} from "../../../src/tenants/object/store.ts";
import { createTenantStub, ANY_UID, type TenantUid, type TenantStub } from "../../../src/tenants/object/tenant-uid.ts";
import { callOn } from "./object-calls.ts";

export interface FreshTenant {
  readonly id: string;
  readonly object: DurableObjectStub<InstanceType<typeof TenantObject>>;
  readonly stub: TenantStub;
  readonly uid: TenantUid;
  readonly contentObject: DurableObjectStub<InstanceType<typeof ContentObject>>;
  readonly content: TenantStub;
}

/** A tenant that no other test knows, in whichever file: several share a Worker. */
export function freshTenant(): FreshTenant {
  return tenantOf(`t-${crypto.randomUUID()}`);
}

/** An address that no other test comes from: what is counted by address is counted for all of a workerd's files together. */
export function freshAddress(): string {
  const [a = 0, b = 0] = crypto.getRandomValues(new Uint16Array(2));
  return `2001:db8:${(a | 0x1000).toString(16)}:${(b | 0x1000).toString(16)}::1`;
}

export function tenantOf(id: string): FreshTenant {
  const objects = { object: exports.TenantObject.getByName(id), contentObject: exports.ContentObject.getByName(id) };
  return { id, uid: ANY_UID, ...objects, stub: anyTenant(id), content: contentOfAny(id) };
}

/** The same, looked at from the object that keeps its content. */
export function contentSideOf(tenant: FreshTenant): FreshTenant {
  const object = tenant.contentObject as unknown as FreshTenant["object"];
  return { ...tenant, object, stub: tenant.content, uid: NO_UID };
}

export function contentStub(id: string, uid: TenantUid): TenantStub {
  return contentStubOf(env, { id, placement: DEFAULT_PLACEMENT, uid: uid });
}

/** Makes the tenant at its first call, unless the test did. */
function contentOfAny(id: string): TenantStub {
  let created: TenantUid | undefined;
  return {
    call: async (...called) => {
      if (created === undefined) {
        const policy = createRpcClient(anyTenant(id), policyStore);
        const birth = { created: NO_UID, own: {}, effective: {}, actor: { name: "test" }, action: "create" };
        await policy.create(birth);
        created = (await policy.tenantUid(false)) ?? "";
      }
      return contentStub(id, created).call(...called);
    },
  };
}

/** Whichever tenant has the name, or none: most tests need none to be made. */
export function anyTenant(id: string): TenantStub {
  return oneTenant(id, ANY_UID);
}

export function oneTenant(id: string, uid: TenantUid): TenantStub {
  return createTenantStub(() => exports.TenantObject.getByName(id), uid);
}

/** Of most tenants of tests: what they keep elsewhere has their id alone in its name. */
export const NO_UID: TenantUid = "";

/** Open, and never ended. */
export const NO_CLOSURE: StoreHost["deletion"] = {
  isClosed: () => false,
  deletedUid: () => undefined,
  closingUid: () => undefined,
  close: () => {},
  reopen: () => {},
};

/** Runs inside the tenant's object, which has tables from then on: it makes them when it is asked for something. */
export function inside<R>(
  { object, uid: meant }: FreshTenant,
  work: (state: DurableObjectState) => R | Promise<R>,
): Promise<R> {
  return runInDurableObject(object, async (instance, state) => {
    await Promise.resolve(callOn(instance, "changes.hubs", meant)).catch(() => {});
    return work(state);
  });
}

/**
 * How a method of the object fails. Called from within, because the test pool reports an RPC that rejects as unhandled
 * even when it is handled: https://github.com/cloudflare/workers-sdk/issues/14736
 */
export function failureOf({ object, uid: meant }: FreshTenant, method: string, ...args: unknown[]): Promise<unknown> {
  return runInDurableObject(object, async (instance) => {
    try {
      await callOn(instance, method, meant, ...args);
      return "it did not fail";
    } catch (error) {
      return error;
    }
  });
}

export function rowsOf(tenant: FreshTenant, query: string): Promise<Record<string, SqlStorageValue>[]> {
  return inside(tenant, ({ storage }) => storage.sql.exec(query).toArray());
}

/** For tables whose changes nobody listens to. */
export const NO_CHANGES: ChangeLog = { updated: () => {}, announced: () => {}, policy: () => {} };

/** The part of a store that is needed to open it. */
export type StoreTables<Methods> = Omit<Store<Methods, TenantHost>, "methods">;

export interface OpenedStore<Methods> {
  readonly open: OpenStore<Methods>;
  readonly methods: Methods;
  readonly sql: SqlStorage;
  /** Every statement that was executed. */
  readonly statements: Set<string>;
  /** How many rows SQLite reads for this. */
  readonly rowsFor: (work: () => unknown) => number;
  /** How many it writes. */
  readonly writtenFor: (work: () => unknown) => number;
  /** The times given to `scheduleAlarm`. */
  readonly alarms: number[];
  readonly clock: { now: number };
}

/**
 * Opens a store on the database of a fresh tenant, with the test's clock. `bodies` and `env` replace the bindings; while
 * `isFull` returns true, the database accepts no writes.
 */
export function withStore<Methods, R>(
  tables: StoreTables<Methods>,
  work: (store: OpenedStore<Methods>) => R | Promise<R>,
  about: {
    readonly tenant?: FreshTenant;
    readonly bodies?: Pick<KVNamespace, "delete">;
    readonly env?: object;
    readonly isFull?: () => boolean;
  } = {},
): Promise<R> {
  const tenant = about.tenant ?? freshTenant();
  return inside(tenant, ({ storage }) => {
    const statements = new Set<string>();
    const wakes: number[] = [];
    const clock = { now: Date.UTC(2026, 10, 21, 12) };
    const counter = countRows();
    const sql = recording(storage.sql, statements, (run, query) => {
      if (about.isFull?.() && !/^(SELECT|DELETE)/.test(query)) throw new Error("database or disk is full: SQLITE_FULL");
      return counter.add(run);
    });
    const host: StoreHost = {
      ...countWrites(sql),
      env: { BODIES: about.bodies ?? env.BODIES, ...about.env },
      tenant: tenant.id,
      storageKey: () => tenant.id,
      jurisdiction: null,
      now: () => clock.now,
      transaction: (step) => storage.transactionSync(step),
      scheduleAlarm: (time) => {
        wakes.push(time);
      },
      changes: NO_CHANGES,
      deletion: NO_CLOSURE,
      erase: async () => {},
      hasCapacity: () => true,
    };
    migrate(storage.sql, [tables]);
    const open = tables.open(createTenantHost(host));
    const { rowsFor, writtenFor } = counter;
    return work({ open, methods: open.methods, sql, statements, alarms: wakes, clock, rowsFor, writtenFor });
  });
}

type Cursor = SqlStorageCursor<Record<string, SqlStorageValue>>;

interface RowCounter extends Pick<OpenedStore<unknown>, "rowsFor" | "writtenFor"> {
  readonly add: (cursor: () => Cursor) => Cursor;
}

function countRows(): RowCounter {
  const open: Cursor[] = [];
  const counting = (counted: "rowsRead" | "rowsWritten") => (work: () => unknown) => {
    open.length = 0;
    work();
    return open.reduce((rows, cursor) => rows + cursor[counted], 0);
  };
  return {
    add: (run) => {
      const cursor = run();
      open.push(cursor);
      return cursor;
    },
    rowsFor: counting("rowsRead"),
    writtenFor: counting("rowsWritten"),
  };
}

type Running = (cursor: () => Cursor, query: string) => Cursor;

function recording(sql: SqlStorage, statements: Set<string>, add: Running): SqlStorage {
  return new Proxy(sql, {
    get(target, member) {
      if (member !== "exec") return Reflect.get(target, member, target) as unknown;
      return (query: string, ...bindings: unknown[]) => {
        statements.add(query);
        return add(() => target.exec(query, ...bindings), query);
      };
    },
  });
}

/** The steps of a statement's query plan that read a whole table. */
export function scansOf(sql: SqlStorage, statement: string): string[] {
  const bindings = Array.from(statement.matchAll(/\?/g), () => "");
  const plan = sql.exec<{ detail: string }>(`EXPLAIN QUERY PLAN ${statement}`, ...bindings).toArray();
  return plan.map(({ detail }) => detail).filter((detail) => /^SCAN \w+$/.test(detail));
}
