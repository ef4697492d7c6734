// Owns the one authority of a tenant: a SQLite database that domains keep their tables in, and its alarm.
// Refuses protocol logic, timers and waiting for people. Rows live in the domains' own files.

import { DurableObject } from "cloudflare:workers";
import { createChanges } from "./change-tables.ts";
import { createClosure, type Closure } from "./closure.ts";
import { openTables, type OpenTables, type Tables } from "./tables.ts";
import { createWake, type Wake } from "./wake.ts";

type Method = (...args: unknown[]) => unknown;

export interface TenantObjectBase {
  run(tables: string, method: string, args: readonly unknown[]): Promise<unknown>;
}

/** A Durable Object class that holds these tables. Bind it as `TENANTS`. */
export function createTenantObject<Env>(
  tables: readonly Tables[],
): new (ctx: DurableObjectState, env: Env) => DurableObject<Env> & TenantObjectBase {
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
      else await this.#ring(now);
    }

    async #ring(now: number): Promise<void> {
      for (const entry of this.#open().values()) {
        const next = await entry.alarm?.(now);
        if (next !== undefined) this.#wake.at(next);
      }
    }

    /** Once erased, there are no tables until somebody needs them. */
    #open(): ReadonlyMap<string, OpenTables<object>> {
      if (this.#opened) return this.#opened;
      const changes = createChanges();
      this.#opened = openTables([changes.tables, ...tables], {
        sql: this.ctx.storage.sql,
        env: this.env,
        tenant: this.ctx.id.name ?? "",
        jurisdiction: this.ctx.id.jurisdiction ?? null,
        now: () => Date.now(),
        transaction: (work) => this.#wake.transaction(work),
        wakeAt: (time) => {
          this.#wake.at(time);
        },
        closure: this.#closure,
        changes: changes.log,
        erase: async () => {
          this.#wake.at(await this.#empty(() => this.#closure.erase(Date.now())));
        },
      });
      return this.#opened;
    }

    /** What is in memory speaks of tables that are gone then, and the alarm with them. */
    #empty<T>(work: () => Promise<T>): Promise<T> {
      this.#opened = undefined;
      this.#wake.clear();
      return work();
    }
  };
}
