// Owns whether an object's content is all there: what an earlier release kept in the tenant's authority is taken over
// from there, once, page by page, each page in one transaction with the place of the next, so that it can be broken off
// anywhere and gone on with. Refuses calls for a tenant that is gone, and those that need what has not arrived yet.

import { setChangeFact } from "../../tenants/authority/change-tables.ts";
import { isGone, meaning, type Incarnation, type Keeper } from "../../tenants/authority/incarnation.ts";
import type { TenantHost } from "../../tenants/authority/tenant-host.ts";
import { remote, type Remote, type TableHost, type Tables } from "../../tenants/authority/tables.ts";
import { objectsIn } from "../../tenants/directory/placement.ts";
import {
  EARLIER_PARTS,
  earlierContent,
  type EarlierMethods,
  type EarlierPart,
  type Place,
  type EarlierRow,
} from "./earlier-content.ts";
import { indexTexts } from "./earlier-texts.ts";

/** After the parts: texts are read from KV again, for an index of words cannot be copied; then the old rows are deleted. */
const PHASES = [...EARLIER_PARTS, "texts", "dropping", "done"] as const;
type Phase = (typeof PHASES)[number];

/** Steps that one call, or one alarm, goes forward: each asks one other object, or KV, some times. */
const STEPS_AT_ONCE = 40;
const AT_THE_END = ["content.close", "content.purge", "content.erase"];

/** "ready": the call may go on; "busy": what it needs is still on its way; "gone": there is no such tenant. */
export type Admitted = "ready" | "busy" | "gone";

export interface TakeoverMethods {
  /** `call`: as in "content.search". */
  admit(meant: Incarnation, call: string): Admitted | Promise<Admitted>;
}

interface Held {
  [column: string]: SqlStorageValue;
  created: string;
  phase: Phase;
  after: Place;
}

export const takeoverTables: Tables<TakeoverMethods> = {
  name: "takeover",
  migrations: [
    "CREATE TABLE takeover (one INTEGER PRIMARY KEY CHECK (one = 1), created TEXT NOT NULL, phase TEXT NOT NULL, after)",
  ],
  open: (host) => {
    const takeover = new Takeover(host);
    return {
      methods: { admit: (meant, call) => takeover.admit(meant, call) },
      alarm: async (now) => ((await takeover.goOn()) ? undefined : now),
    };
  },
};

/** Which tenant's content this object keeps; undefined while nobody has asked for it. */
export function keptFor(sql: SqlStorage): Incarnation | undefined {
  return sql.exec<{ created: string }>("SELECT created FROM takeover").toArray()[0]?.created;
}

/** The tenant's authority, as the object of its content calls it. */
export function authorityOf<Methods extends EarlierMethods>(
  { env, tenant, jurisdiction }: TableHost,
  created: Incarnation,
  tables: Tables<Methods, TenantHost>,
): Remote<Methods> {
  const { TENANTS } = env as { TENANTS: DurableObjectNamespace };
  const keeper = objectsIn(TENANTS, jurisdiction).getByName(tenant) as unknown as Keeper;
  return remote(meaning(keeper, created), tables);
}

class Takeover {
  readonly #host: TableHost;
  #held: Held | undefined;
  #beginning: Promise<void> | undefined;
  #step: Promise<void> | undefined;

  constructor(host: TableHost) {
    this.#host = host;
    this.#held = host.sql.exec<Held>("SELECT created, phase, after FROM takeover").toArray()[0];
  }

  admit(meant: Incarnation, call: string): ReturnType<TakeoverMethods["admit"]> {
    if (AT_THE_END.includes(call)) return "ready";
    if (this.#host.closure.isClosed() || (this.#held && this.#held.created !== meant)) return "gone";
    return this.#held?.phase === "done"
      ? "ready"
      : this.#prepare(meant, call === "content.search" ? "dropping" : "texts");
  }

  async #prepare(meant: Incarnation, phase: Phase): Promise<Admitted> {
    try {
      if (!this.#held) {
        this.#beginning ??= this.#begin(meant).finally(() => {
          this.#beginning = undefined;
        });
        await this.#beginning;
      }
      return await this.#reach(phase);
    } catch (error) {
      // The authority, or KV, is away. What has arrived is kept, and the next call goes on from there.
      return isGone(error) ? "gone" : "busy";
    }
  }

  async #begin(created: Incarnation): Promise<void> {
    const begun = await authorityOf(this.#host, created, earlierContent).handOver();
    const held: Held = { created, phase: begun.holds ? "resources" : "done", after: null };
    const { sql } = this.#host;
    this.#host.transaction(() => {
      setChangeFact(sql, "base", begun.version);
      setChangeFact(sql, "floor", begun.floor);
      store(sql, held);
      if (begun.holds) this.#host.wakeAt(this.#host.now());
    });
    this.#held = held;
  }

  async #reach(phase: Phase): Promise<Admitted> {
    for (let steps = 0; steps < STEPS_AT_ONCE; steps += 1) {
      if (!this.#held || this.#host.closure.isClosed()) return "gone";
      if (PHASES.indexOf(this.#held.phase) >= PHASES.indexOf(phase)) return "ready";
      await this.#next(this.#held);
    }
    return "busy";
  }

  /** Goes some steps forward; whether nothing is left to do. */
  async goOn(): Promise<boolean> {
    return (await this.#reach("done")) !== "busy";
  }

  /** All who wait here share a step. */
  #next(held: Held): Promise<void> {
    this.#step ??= this.#take(held).finally(() => {
      this.#step = undefined;
    });
    return this.#step;
  }

  async #take(held: Held): Promise<void> {
    const { phase } = held;
    if (phase === "done") return;
    const { rows, next, part } = await this.#fetch(held, phase);
    const { sql } = this.#host;
    const at: Held = next === null ? { ...held, phase: after(phase), after: null } : { ...held, after: next };
    this.#host.transaction(() => {
      // The tenant may have ended while rows were on their way.
      if (keptFor(sql) !== held.created) throw new Error("the tenant has ended");
      for (const row of rows) if (part) takeRow(sql, part, row);
      store(sql, at);
    });
    this.#held = at;
  }

  async #fetch({ created, after: from }: Held, phase: Exclude<Phase, "done">): Promise<Fetched> {
    const authority = authorityOf(this.#host, created, earlierContent);
    const nowhere = (isOver: boolean): Fetched => ({ rows: [], next: isOver ? null : 0 });
    if (phase === "texts") return nowhere(await indexTexts(this.#host));
    if (phase === "dropping") return nowhere(await authority.drop());
    return { ...(await authority.page(phase, from)), part: phase };
  }
}

interface Fetched {
  readonly rows: readonly EarlierRow[];
  /** null: the phase is over. */
  readonly next: Place;
  readonly part?: EarlierPart;
}

function after(phase: Phase): Phase {
  return PHASES[PHASES.indexOf(phase) + 1] ?? "done";
}

function store(sql: SqlStorage, held: Held): void {
  sql.exec(
    "INSERT OR REPLACE INTO takeover (one, created, phase, after) VALUES (1, ?, ?, ?)",
    held.created,
    held.phase,
    held.after,
  );
}

function takeRow(sql: SqlStorage, part: EarlierPart, row: EarlierRow): void {
  const columns = Object.keys(row);
  const places = columns.map(() => "?").join(", ");
  // A row of resources that is replaced would be counted twice.
  const anew = part === "resources" ? "IGNORE" : "REPLACE";
  sql.exec(`INSERT OR ${anew} INTO ${part} (${columns.join(", ")}) VALUES (${places})`, ...Object.values(row));
  if (part !== "resources") return;
  sql.exec("INSERT OR IGNORE INTO texts_due (id) VALUES (?)", row["id"] ?? null);
  for (const tag of JSON.parse(row["tags"] as string) as string[]) {
    sql.exec("INSERT OR IGNORE INTO resource_tags (tag, uri) VALUES (?, ?)", tag, row["uri"] ?? null);
  }
}
