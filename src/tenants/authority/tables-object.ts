// Owns an object that domains keep their tables in: its SQLite database, its alarm, its end.
// Refuses protocol logic, timers and waiting for people. Rows live in the domains' own files.

import { DurableObject } from "cloudflare:workers";
import { createChanges } from "./change-tables.ts";
import { createClosure, type Closure } from "./closure.ts";
import { openTables, type OpenTables, type TableHost, type Tables } from "./tables.ts";
import { createWake, type Wake } from "./wake.ts";

/** When a domain whose alarm failed is rung again. */
const RETRY_MS = 60_000;

type Method = (...args: unknown[]) => unknown;

export interface TablesObject {
  run(tables: string, method: string, args: readonly unknown[]): Promise<unknown>;
}

export type TablesObjectClass<Env> = new (ctx: DurableObjectState, env: Env) => DurableObject<Env> & TablesObject;

/** A Durable Object class that holds these tables; `hostOf`: what their domains share. */
export function createTablesObject<Env, Host extends TableHost>(
  tables: readonly Tables<object, Host>[],
  hostOf: (base: TableHost) => Host,
): TablesObjectClass<Env> {
  return class extends DurableObject<Env> {
    readonly #wake: Wake;
    readonly #closure: Closure;
    #opened: ReadonlyMap<string, OpenTables<object>> | undefined;

    constructor(ctx: DurableObjectState, env: Env) {
      super(ctx, env);
      this.#wake = createWake(ctx);
      this.#closure = createClosure(ctx.storage);
      if (this.#closure.erasedUntil() === undefined) this.#open();
    }

    async run(name: string, method: string, args: readonly unknown[]): Promise<unknown> {
      const methods = this.#open().get(name)?.methods as Record<string, Method> | undefined;
      if (!methods || !Object.hasOwn(methods, method)) throw new Error(`no method ${name}.${method}`);
      return methods[method]?.(...args);
    }

    override async alarm(): Promise<void> {
      this.#wake.clear();
      const now = Date.now();
      const erased = this.#closure.erasedUntil();
      if (erased !== undefined && now >= erased) await this.#empty(() => this.#closure.forget());
      else if (erased !== undefined) this.#wake.at(erased);
      else await ringAll(this.#open(), now, this.#wake);
    }

    /** An object that was erased has no tables: they are made again when a late call needs them. */
    #open(): ReadonlyMap<string, OpenTables<object>> {
      if (this.#opened) return this.#opened;
      const changes = createChanges();
      const base: TableHost = {
        ...hostOn(this.ctx, this.#wake),
        env: this.env,
        closure: this.#closure,
        changes: changes.log,
        erase: async () => {
          this.#wake.at(await this.#empty(() => this.#closure.erase(Date.now())));
        },
      };
      this.#opened = openTables<Host>([changes.tables, ...tables], base, hostOf);
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

/**
 * One domain's failure is no other's: it is rung again later. Nothing is thrown, because the runtime gives up an alarm
 * that fails too often, and with it everything that waits here.
 */
async function ringAll(opened: ReadonlyMap<string, OpenTables<object>>, now: number, wake: Wake): Promise<void> {
  for (const [name, entry] of opened) {
    let next: number | undefined;
    try {
      next = await entry.alarm?.(now);
    } catch (error) {
      // No author's hook is known here, so what failed is found in the Worker's logs.
      // oxlint-disable-next-line no-console
      console.error(name, error);
      next = now + RETRY_MS;
    }
    if (next !== undefined) wake.at(next);
  }
}

function hostOn({ id, storage }: DurableObjectState, wake: Wake) {
  return {
    sql: storage.sql,
    tenant: id.name ?? "",
    jurisdiction: id.jurisdiction ?? null,
    now: () => Date.now(),
    transaction: <T>(work: () => T) => wake.transaction(work),
    wakeAt: (time: number) => {
      wake.at(time);
    },
  };
}
