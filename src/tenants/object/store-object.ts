// A Durable Object class for a list of stores: it has their SQLite database, one alarm, their deletion, and an RPC
// method for each of their methods, such as `policy.lease`. The stores own the rows.

import { DurableObject } from "cloudflare:workers";
import { countWrites } from "./count-writes.ts";
import { createChangeDomain } from "./change-store.ts";
import { changeRpc } from "./change-rpc.ts";
import type { ChangeLogName } from "./changes.ts";
import { createDeletionState } from "./deletion-state.ts";
import {
  hasTable,
  ObjectBusy,
  openStores,
  type MethodOptions,
  type OpenStore,
  type StoreHost,
  type Store,
} from "./store.ts";
import { UNCHANGED, type RpcReply, type TenantUid, type RpcResult, type RpcRefusal } from "./tenant-uid.ts";
import { logError } from "../../telemetry/error-line.ts";
import { withTimeout } from "../cache/with-timeout.ts";
import { createAlarmScheduler, type AlarmScheduler } from "./alarm-scheduler.ts";

/** The storage limit of an object, as Cloudflare documents it. The Worker's `OBJECT_BYTES` may lower it. */
const OBJECT_BYTES = 10 * 1024 ** 3;
/** The share that tenants' data may fill. Revocations, suspensions, audit entries and deletions always have room. */
const TENANT_SHARE = 0.9;

function capacityOf(env: unknown): number {
  const bytes = Number((env as { readonly OBJECT_BYTES?: string } | undefined)?.OBJECT_BYTES ?? OBJECT_BYTES);
  return TENANT_SHARE * (bytes > 0 ? Math.min(bytes, OBJECT_BYTES) : OBJECT_BYTES);
}

/** When the alarm of a failed store runs again. */
const RETRY_MS = 60_000;
/** An alarm that waits for an answer that never comes runs again after this time: its work is not done. */
const HUNG_AFTER_MS = 300_000;

type Method = (...args: readonly unknown[]) => unknown;
export type StoreObjectClass<Env> = new (ctx: DurableObjectState, env: Env) => DurableObject<Env> & Readiness;

/** The method that every object class of a Worker has. */
export interface Readiness {
  /** Resolves if the class is usable. */
  ready(): Promise<void>;
}

type MaybeRejected = RpcRefusal | undefined;

export interface StoreObjectOptions<Host> {
  readonly hostOf: (base: StoreHost, ctx: DurableObjectState) => Host;
  /**
   * Refuses a call that means another tenant than the object has; absent: the object accepts all. `isEnding`: the
   * method belongs to the tenant's deletion.
   */
  readonly reject?: (host: Host, uid: TenantUid, isEnding: boolean) => MaybeRejected | Promise<MaybeRejected>;
  /**
   * Answers a call to an object in which no tenant was created, so that nothing is stored. undefined: the tables are
   * created. `method`: such as `policy.lease`.
   */
  readonly answerAbsent?: (method: string, request: unknown, uid: TenantUid) => RpcResult | undefined;
  /** The log of the object's changes; "definitions" if absent. */
  readonly log?: ChangeLogName;
}

interface RpcCall {
  readonly name: string;
  readonly method: string;
  readonly isEnding: boolean;
}

interface OpenObject<Host> {
  readonly host: Host;
  readonly stores: ReadonlyMap<string, OpenStore<object>>;
}

/** The name of the objects, and of the KV entry, that a readiness check asks for. Neither is ever stored. */
export const PROBE_NAME = "readyz";

export function createStoreObject<Env, Host extends StoreHost>(
  stores: readonly Store<object, Host>[],
  { hostOf, reject, answerAbsent, log = "definitions" }: StoreObjectOptions<Host>,
): StoreObjectClass<Env> {
  return class StoreObject extends DurableObject<Env> {
    static {
      for (const { name, methods } of [changeRpc, ...stores]) {
        for (const [method, options] of Object.entries(methods as Readonly<Record<string, MethodOptions>>)) {
          const run = function (this: StoreObject, uid: TenantUid, ...args: readonly unknown[]) {
            return this.#run({ name, method, isEnding: options.ending === true }, uid, args);
          };
          Object.assign(this.prototype, { [`${name}.${method}`]: run });
        }
      }
    }

    readonly #alarmScheduler = createAlarmScheduler(this.ctx);
    readonly #deletion = createDeletionState(this.ctx.storage);
    #opened: OpenObject<Host> | undefined;

    /** Called on an object that stores nothing. */
    async ready(): Promise<void> {}

    /** Every RPC method calls this. */
    async #run({ name, method, isEnding }: RpcCall, uid: TenantUid, args: readonly unknown[]): Promise<RpcReply> {
      const isNew = !this.#opened && !isEnding && !hasSchema(this.ctx);
      const absentResult = isNew ? answerAbsent?.(`${name}.${method}`, args[0], uid) : undefined;
      if (absentResult) return absentResult;
      const rejecting = reject?.(this.#open().host, uid, isEnding);
      // Most results are not promises, and without an await nothing runs between the check and the method.
      const rejection = rejecting instanceof Promise ? await rejecting : rejecting;
      if (rejection) return rejection;
      const methods = this.#open().stores.get(name)?.methods as Readonly<Record<string, Method>>;
      try {
        return toReply(await (methods[method] as Method)(...args));
      } catch (error) {
        if (error instanceof ObjectBusy) return { busy: true };
        throw error;
      }
    }

    override async alarm(): Promise<void> {
      this.#alarmScheduler.clear();
      const now = Date.now();
      const erasedUntil = this.#deletion.erasedUntil();
      const host = { env: this.env, storageKey: () => this.ctx.id.name ?? "" };
      if (erasedUntil === undefined)
        await this.#alarmScheduler.runAlarm(() =>
          runAlarms(this.ctx.id.name, () => this.#open(), this.#alarmScheduler),
        );
      else if (now < erasedUntil || !(await sweepAll(stores, host)))
        this.#alarmScheduler.schedule(Math.max(erasedUntil, now + RETRY_MS));
      else await this.#forgetMemory(() => this.#deletion.forget());
    }

    /** An erased object has no tables. They are created again when a late call needs them. */
    #open(): OpenObject<Host> {
      if (this.#opened) return this.#opened;
      const changes = createChangeDomain(log);
      const base: StoreHost = {
        ...createBaseHost(this.ctx, this.#alarmScheduler),
        env: this.env,
        hasCapacity: () => this.ctx.storage.sql.databaseSize < capacityOf(this.env),
        deletion: this.#deletion,
        changes: changes.log,
        erase: async () => {
          this.#alarmScheduler.schedule(await this.#forgetMemory(() => this.#deletion.erase(Date.now())));
        },
      };
      let host: Host | undefined;
      const opened = openStores<Host>([changes.store, ...stores], base, (shared) => (host = hostOf(shared, this.ctx)));
      this.#opened = { host: host as Host, stores: opened };
      return this.#opened;
    }

    /** Clears the memory before all storage is deleted, because the tables and the alarm are gone then. */
    #forgetMemory<T>(work: () => Promise<T>): Promise<T> {
      this.#opened = undefined;
      this.#alarmScheduler.clear();
      return work();
    }
  };
}

function toReply(value: unknown): RpcReply {
  return value === UNCHANGED ? UNCHANGED.state : { value };
}

/** Whether a tenant was created here and not everything was erased. */
function hasSchema({ storage }: DurableObjectState): boolean {
  return hasTable(storage.sql, "schema");
}

/**
 * A failure of one store does not affect the others: its alarm runs again later. Nothing is thrown, because the runtime
 * drops an alarm that fails too often, and with it all pending work.
 */
async function runAlarms(
  tenant: string | undefined,
  open: () => OpenObject<StoreHost>,
  alarmScheduler: AlarmScheduler,
): Promise<void> {
  const now = Date.now();
  let opened: OpenObject<StoreHost>;
  try {
    opened = open();
  } catch (error) {
    // A later release wrote the storage. The object waits for that code.
    logError(error, { tenant, method: "alarm tables" });
    return alarmScheduler.schedule(now + RETRY_MS);
  }
  // The alarms run concurrently, so that a slow one does not delay the others.
  const running = Array.from(opened.stores, async ([name, store]) => {
    let next: number | undefined = now + RETRY_MS;
    if ((runningAlarms.get(store) ?? 0) > now - HUNG_AFTER_MS) return alarmScheduler.schedule(next);
    runningAlarms.set(store, now);
    try {
      next = await store.alarm?.(now);
    } catch (error) {
      // The author's error hook is not known here, so the error goes to the Worker's log.
      logError(error, { tenant, method: `alarm ${name}` });
    }
    if (runningAlarms.get(store) === now) runningAlarms.delete(store);
    if (next !== undefined) alarmScheduler.schedule(next);
  });
  // While an alarm runs, no other alarm of the object fires.
  await withTimeout(Promise.all(running), RETRY_MS).catch(() => {
    alarmScheduler.schedule(now + 2 * RETRY_MS);
  });
}

/** Stores whose previous alarm has not ended yet, and when it began. */
const runningAlarms = new WeakMap<OpenStore<object>, number>();

/** Calls from before the deletion cannot continue any more. Returns whether everything is deleted. */
async function sweepAll(stores: readonly Pick<Store, "sweep">[], host: Parameters<NonNullable<Store["sweep"]>>[0]) {
  try {
    for (const store of stores) await store.sweep?.(host);
    return true;
  } catch (error) {
    logError(error, { tenant: host.storageKey(), method: "alarm sweep" });
    return false;
  }
}

function createBaseHost({ id, storage }: DurableObjectState, alarmScheduler: AlarmScheduler) {
  return {
    ...countWrites(storage.sql),
    tenant: id.name ?? "",
    storageKey: () => id.name ?? "",
    jurisdiction: id.jurisdiction ?? null,
    now: () => Date.now(),
    transaction: <T>(work: () => T) => alarmScheduler.transaction(work),
    scheduleAlarm: (time: number) => {
      alarmScheduler.schedule(time);
    },
  };
}
