// Owns the one authority of a tenant: a SQLite database that domains keep their tables in, and its alarm.
// Refuses protocol logic, timers and waiting for people. Rows live in the domains' own files.

import { DurableObject } from "cloudflare:workers";
import { migrate, type OpenTables, type TableHost, type Tables } from "./tables.ts";

type Method = (...args: unknown[]) => unknown;

export interface TenantObjectBase {
  run(tables: string, method: string, args: readonly unknown[]): Promise<unknown>;
}

/** A Durable Object class that holds these tables. Bind it as `TENANTS`. */
export function createTenantObject<Env>(
  tables: readonly Tables[],
): new (ctx: DurableObjectState, env: Env) => DurableObject<Env> & TenantObjectBase {
  return class extends DurableObject<Env> {
    readonly #open = new Map<string, OpenTables<object>>();
    #wake: number | undefined;

    constructor(ctx: DurableObjectState, env: Env) {
      super(ctx, env);
      ctx.storage.transactionSync(() => {
        migrate(ctx.storage.sql, tables);
      });
      // An alarm outlives the instance that set it: a later one must not replace it.
      void ctx.blockConcurrencyWhile(async () => {
        this.#wake = (await ctx.storage.getAlarm()) ?? undefined;
      });
      const host: TableHost = {
        sql: ctx.storage.sql,
        env,
        tenant: ctx.id.name ?? "",
        now: () => Date.now(),
        transaction: (work) => this.#transaction(work),
        wakeAt: (time) => {
          this.#wakeAt(time);
        },
      };
      for (const entry of tables) this.#open.set(entry.name, entry.open(host));
    }

    async run(name: string, method: string, args: readonly unknown[]): Promise<unknown> {
      const methods = this.#open.get(name)?.methods as Record<string, Method> | undefined;
      if (!methods || !Object.hasOwn(methods, method)) throw new Error(`no method ${name}.${method}`);
      return methods[method]?.(...args);
    }

    override async alarm(): Promise<void> {
      this.#wake = undefined;
      const now = Date.now();
      for (const entry of this.#open.values()) {
        const next = await entry.alarm?.(now);
        if (next !== undefined) this.#wakeAt(next);
      }
    }

    /** An alarm set by work that failed is rolled back with it. */
    #transaction<T>(work: () => T): T {
      const before = this.#wake;
      try {
        return this.ctx.storage.transactionSync(work);
      } catch (error) {
        this.#wake = before;
        throw error;
      }
    }

    /** Each setAlarm is a row written: an earlier or equal alarm stands. */
    #wakeAt(time: number): void {
      if (this.#wake !== undefined && this.#wake <= time) return;
      this.#wake = time;
      void this.ctx.storage.setAlarm(time);
    }
  };
}
