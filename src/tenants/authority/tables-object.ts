// Owns an object that domains keep their tables in: its SQLite database, its alarm, its end, and an RPC method for each method
// of the domains, as `policy.lease`. Refuses protocol logic, timers and waiting for people. Rows live in the domains' own files.

import { DurableObject } from "cloudflare:workers";
import { countWrites } from "./count-writes.ts";
import { createChanges } from "./change-tables.ts";
import { changeCalls } from "./change-calls.ts";
import type { ChangeLogName } from "./changes.ts";
import { createClosure } from "./closure.ts";
import { hasTable } from "./has-table.ts";
import { UNCHANGED, type SentAnswer, type Incarnation, type Ran, type Refused } from "./incarnation.ts";
import { ObjectBusy, openTables, type MethodOptions, type OpenTables, type TableHost, type Tables } from "./tables.ts";
import { logFault } from "../../telemetry/fault-line.ts";
import { inTime } from "../isolate/in-time.ts";
import { createWake, type Wake } from "./wake.ts";

/** What an object may store, as Cloudflare says; the Worker's `OBJECT_BYTES` may say less. */
const OBJECT_BYTES = 10 * 1024 ** 3;
/** The part of it that what tenants store may fill: revocations, suspensions, audit and deletions always find room. */
const FOR_TENANTS = 0.9;

function roomIn(env: unknown): number {
  const bytes = Number((env as { readonly OBJECT_BYTES?: string } | undefined)?.OBJECT_BYTES ?? OBJECT_BYTES);
  return FOR_TENANTS * (bytes > 0 ? Math.min(bytes, OBJECT_BYTES) : OBJECT_BYTES);
}

/** When a domain whose alarm failed is rung again. */
const RETRY_MS = 60_000;
/** One that called somebody who never answers is rung again after so long: what it was to do is not done. */
const HANGS_MS = 300_000;

type Method = (...args: readonly unknown[]) => unknown;
type OptionsByName = Readonly<Record<string, MethodOptions>>;

export type TablesObjectClass<Env> = new (ctx: DurableObjectState, env: Env) => DurableObject<Env> & Answering;

/** What every object class of a Worker has. */
export interface Answering {
  /** Resolves where the class can be used at all. */
  ready(): Promise<void>;
}

type MaybeRefused = Refused | undefined;

export interface Shared<Host> {
  /** What the domains share. */
  readonly hostOf: (base: TableHost, ctx: DurableObjectState) => Host;
  /** Answers a call that means what the object does not keep; absent: it keeps all. `isEnding`: the method belongs to the end of what was meant. */
  readonly refuse?: (host: Host, meant: Incarnation, isEnding: boolean) => MaybeRefused | Promise<MaybeRefused>;
  /** What is answered where nobody was made yet, so that nothing is stored; undefined: tables are made. `method`: `policy.lease`. */
  readonly absent?: (method: string, ask: unknown, meant: Incarnation) => Ran | undefined;
  /** What its changes are of; of definitions when absent. */
  readonly log?: ChangeLogName;
}

interface Called {
  readonly name: string;
  readonly method: string;
  readonly isEnding: boolean;
}

interface Opened<Host> {
  readonly host: Host;
  readonly tables: ReadonlyMap<string, OpenTables<object>>;
}

/** The name of the objects that are only asked whether they answer: they store nothing. */
export const READINESS = "readyz";

/** A Durable Object class that holds these tables. */
export function createTablesObject<Env, Host extends TableHost>(
  tables: readonly Tables<object, Host>[],
  { hostOf, refuse, absent, log = "definitions" }: Shared<Host>,
): TablesObjectClass<Env> {
  return class TablesObject extends DurableObject<Env> {
    static {
      for (const { name, methods } of [changeCalls, ...tables]) {
        for (const [method, options] of Object.entries(methods as OptionsByName)) {
          const run = function (this: TablesObject, meant: Incarnation, ...args: readonly unknown[]) {
            return this.#run({ name, method, isEnding: options.ending === true }, meant, args);
          };
          Object.assign(this.prototype, { [`${name}.${method}`]: run });
        }
      }
    }

    readonly #wake = createWake(this.ctx);
    readonly #closure = createClosure(this.ctx.storage);
    #opened: Opened<Host> | undefined;

    /** Asked of an object that nobody has anything in. */
    async ready(): Promise<void> {}

    /** The one way in, behind every RPC method. */
    async #run({ name, method, isEnding }: Called, meant: Incarnation, args: readonly unknown[]): Promise<SentAnswer> {
      const isNew = !this.#opened && !isEnding && !isUsed(this.ctx);
      const none = isNew ? absent?.(`${name}.${method}`, args[0], meant) : undefined;
      if (none) return none;
      const refusing = refuse?.(this.#open().host, meant, isEnding);
      // Most are known at once, and nothing comes between them and their method.
      const refused = refusing instanceof Promise ? await refusing : refusing;
      if (refused) return refused;
      const methods = this.#open().tables.get(name)?.methods as Readonly<Record<string, Method>>;
      try {
        return told(await (methods[method] as Method)(...args));
      } catch (error) {
        if (error instanceof ObjectBusy) return { busy: true };
        throw error;
      }
    }

    override async alarm(): Promise<void> {
      this.#wake.clear();
      const now = Date.now();
      const erased = this.#closure.erasedUntil();
      const host = { env: this.env, kept: () => this.ctx.id.name ?? "" };
      if (erased === undefined) await this.#wake.ring(() => ringAll(this.ctx.id.name, () => this.#open(), this.#wake));
      else if (now < erased || !(await sweepAll(tables, host))) this.#wake.at(Math.max(erased, now + RETRY_MS));
      else await this.#empty(() => this.#closure.forget());
    }

    /** An object that was erased has no tables: they are made again when a late call needs them. */
    #open(): Opened<Host> {
      if (this.#opened) return this.#opened;
      const changes = createChanges(log);
      const base: TableHost = {
        ...hostOn(this.ctx, this.#wake),
        env: this.env,
        hasRoom: () => this.ctx.storage.sql.databaseSize < roomIn(this.env),
        closure: this.#closure,
        changes: changes.log,
        erase: async () => {
          this.#wake.at(await this.#empty(() => this.#closure.erase(Date.now())));
        },
      };
      let host: Host | undefined;
      const opened = openTables<Host>([changes.tables, ...tables], base, (shared) => (host = hostOf(shared, this.ctx)));
      this.#opened = { host: host as Host, tables: opened };
      return this.#opened;
    }

    /** Forgets what is in memory before everything stored is deleted: the tables and the alarm are gone then. */
    #empty<T>(work: () => Promise<T>): Promise<T> {
      this.#opened = undefined;
      this.#wake.clear();
      return work();
    }
  };
}

function told(value: unknown): SentAnswer {
  return value === UNCHANGED ? UNCHANGED.state : { value };
}

/** Somebody was made here, and not everything was erased. */
function isUsed({ storage }: DurableObjectState): boolean {
  return hasTable(storage.sql, "schema");
}

/**
 * One domain's failure is no other's: it is rung again later. Nothing is thrown, because the runtime gives up an alarm
 * that fails too often, and with it everything that waits here.
 */
async function ringAll(tenant: string | undefined, open: () => Opened<TableHost>, wake: Wake): Promise<void> {
  const now = Date.now();
  let opened: Opened<TableHost>;
  try {
    opened = open();
  } catch (error) {
    // Stored by a later release, whose code is waited for.
    logFault(error, { tenant, method: "alarm tables" });
    return wake.at(now + RETRY_MS);
  }
  // Beside each other: one that waits for somebody else keeps no other one waiting.
  const ringing = Array.from(opened.tables, async ([name, entry]) => {
    let next: number | undefined = now + RETRY_MS;
    if ((underWay.get(entry) ?? 0) > now - HANGS_MS) return wake.at(next);
    underWay.set(entry, now);
    try {
      next = await entry.alarm?.(now);
    } catch (error) {
      // No author's hook is known here, so what failed is found in the Worker's logs.
      logFault(error, { tenant, method: `alarm ${name}` });
    }
    if (underWay.get(entry) === now) underWay.delete(entry);
    if (next !== undefined) wake.at(next);
  });
  // As long as an alarm is not over, no other one rings.
  await inTime(Promise.all(ringing), RETRY_MS).catch(() => {
    wake.at(now + 2 * RETRY_MS);
  });
}

/** Whose alarm of before has not ended yet, and when it began. */
const underWay = new WeakMap<OpenTables<object>, number>();

/** No call that began before the end goes on any more. Whether nothing is left. */
async function sweepAll(tables: readonly Pick<Tables, "sweep">[], host: Parameters<NonNullable<Tables["sweep"]>>[0]) {
  try {
    for (const entry of tables) await entry.sweep?.(host);
    return true;
  } catch (error) {
    logFault(error, { tenant: host.kept(), method: "alarm sweep" });
    return false;
  }
}

function hostOn({ id, storage }: DurableObjectState, wake: Wake) {
  return {
    ...countWrites(storage.sql),
    tenant: id.name ?? "",
    kept: () => id.name ?? "",
    jurisdiction: id.jurisdiction ?? null,
    now: () => Date.now(),
    transaction: <T>(work: () => T) => wake.transaction(work),
    wakeAt: (time: number) => {
      wake.at(time);
    },
  };
}
