// Owns an object that domains keep their tables in: its SQLite database, its alarm, its end, and an RPC method for each method
// of the domains, as `policy.lease`. Refuses protocol logic, timers and waiting for people. Rows live in the domains' own files.

import { DurableObject } from "cloudflare:workers";
import { countWrites } from "./count-writes.ts";
import { createChangeDomain } from "./change-store.ts";
import { changeRpc } from "./change-rpc.ts";
import type { ChangeLogName } from "./changes.ts";
import { createDeletionState } from "./deletion-state.ts";
import { hasTable } from "./has-table.ts";
import { UNCHANGED, type RpcReply, type TenantUid, type RpcResult, type RpcRefusal } from "./tenant-uid.ts";
import { ObjectBusy, openStores, type MethodOptions, type OpenStore, type StoreHost, type Store } from "./store.ts";
import { logError } from "../../telemetry/error-line.ts";
import { withTimeout } from "../cache/with-timeout.ts";
import { createAlarmScheduler, type AlarmScheduler } from "./alarm-scheduler.ts";

/** What an object may store, as Cloudflare says; the Worker's `OBJECT_BYTES` may say less. */
const OBJECT_BYTES = 10 * 1024 ** 3;
/** The part of it that what tenants store may fill: revocations, suspensions, audit and deletions always find room. */
const TENANT_SHARE = 0.9;

function capacityOf(env: unknown): number {
  const bytes = Number((env as { readonly OBJECT_BYTES?: string } | undefined)?.OBJECT_BYTES ?? OBJECT_BYTES);
  return TENANT_SHARE * (bytes > 0 ? Math.min(bytes, OBJECT_BYTES) : OBJECT_BYTES);
}

/** When a domain whose alarm failed is rung again. */
const RETRY_MS = 60_000;
/** One that called somebody who never answers is rung again after so long: what it was to do is not done. */
const HUNG_AFTER_MS = 300_000;

type Method = (...args: readonly unknown[]) => unknown;
type OptionsByName = Readonly<Record<string, MethodOptions>>;

export type StoreObjectClass<Env> = new (ctx: DurableObjectState, env: Env) => DurableObject<Env> & Readiness;

/** What every object class of a Worker has. */
export interface Readiness {
  /** Resolves where the class can be used at all. */
  ready(): Promise<void>;
}

type MaybeRejected = RpcRefusal | undefined;

export interface StoreObjectOptions<Host> {
  /** What the domains share. */
  readonly hostOf: (base: StoreHost, ctx: DurableObjectState) => Host;
  /** Answers a call that means what the object does not keep; absent: it keeps all. `isEnding`: the method belongs to the end of what was meant. */
  readonly reject?: (host: Host, uid: TenantUid, isEnding: boolean) => MaybeRejected | Promise<MaybeRejected>;
  /** What is answered where nobody was made yet, so that nothing is stored; undefined: tables are made. `method`: `policy.lease`. */
  readonly answerAbsent?: (method: string, request: unknown, uid: TenantUid) => RpcResult | undefined;
  /** What its changes are of; of definitions when absent. */
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

/** The name of the objects that are only asked whether they answer: they store nothing. */
export const READINESS = "readyz";

/** A Durable Object class that holds these tables. */
export function createStoreObject<Env, Host extends StoreHost>(
  stores: readonly Store<object, Host>[],
  { hostOf, reject, answerAbsent, log = "definitions" }: StoreObjectOptions<Host>,
): StoreObjectClass<Env> {
  return class StoreObject extends DurableObject<Env> {
    static {
      for (const { name, methods } of [changeRpc, ...stores]) {
        for (const [method, options] of Object.entries(methods as OptionsByName)) {
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

    /** Asked of an object that nobody has anything in. */
    async ready(): Promise<void> {}

    /** The one way in, behind every RPC method. */
    async #run({ name, method, isEnding }: RpcCall, uid: TenantUid, args: readonly unknown[]): Promise<RpcReply> {
      const isNew = !this.#opened && !isEnding && !hasSchema(this.ctx);
      const absentResult = isNew ? answerAbsent?.(`${name}.${method}`, args[0], uid) : undefined;
      if (absentResult) return absentResult;
      const rejecting = reject?.(this.#open().host, uid, isEnding);
      // Most are known at once, and nothing comes between them and their method.
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

    /** An object that was erased has no tables: they are made again when a late call needs them. */
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

    /** Forgets what is in memory before everything stored is deleted: the tables and the alarm are gone then. */
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

/** Somebody was made here, and not everything was erased. */
function hasSchema({ storage }: DurableObjectState): boolean {
  return hasTable(storage.sql, "schema");
}

/**
 * One domain's failure is no other's: it is rung again later. Nothing is thrown, because the runtime gives up an alarm
 * that fails too often, and with it everything that waits here.
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
    // Stored by a later release, whose code is waited for.
    logError(error, { tenant, method: "alarm tables" });
    return alarmScheduler.schedule(now + RETRY_MS);
  }
  // Beside each other: one that waits for somebody else keeps no other one waiting.
  const running = Array.from(opened.stores, async ([name, store]) => {
    let next: number | undefined = now + RETRY_MS;
    if ((runningAlarms.get(store) ?? 0) > now - HUNG_AFTER_MS) return alarmScheduler.schedule(next);
    runningAlarms.set(store, now);
    try {
      next = await store.alarm?.(now);
    } catch (error) {
      // No author's hook is known here, so what failed is found in the Worker's logs.
      logError(error, { tenant, method: `alarm ${name}` });
    }
    if (runningAlarms.get(store) === now) runningAlarms.delete(store);
    if (next !== undefined) alarmScheduler.schedule(next);
  });
  // As long as an alarm is not over, no other one rings.
  await withTimeout(Promise.all(running), RETRY_MS).catch(() => {
    alarmScheduler.schedule(now + 2 * RETRY_MS);
  });
}

/** Whose alarm of before has not ended yet, and when it began. */
const runningAlarms = new WeakMap<OpenStore<object>, number>();

/** No call that began before the end goes on any more. Whether nothing is left. */
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
