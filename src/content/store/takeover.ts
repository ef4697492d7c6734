// Owns taking over, once, what an earlier release kept of a tenant's content in its authority: page by page, each in one
// transaction with the place of the next, so that it can be broken off anywhere and gone on with.

import {
  authorityOf,
  keptFor,
  storeHeld,
  type ContentAdmission,
  type Admitted,
  type Held,
  type Place,
  type Taking,
} from "./admission.ts";
import { EARLIER_PARTS, earlierPages, type EarlierPart, type EarlierRow } from "./earlier-pages.ts";
import { indexTexts } from "./earlier-texts.ts";

/** After the parts: texts are read from KV again, for an index of words cannot be copied; then the old rows are deleted. */
const PHASES = [...EARLIER_PARTS, "texts", "dropping", "done"] as const;
type Phase = (typeof PHASES)[number];

/** Steps that one call, or one alarm, goes forward: each asks one other object, or KV, some times. */
const STEPS_AT_ONCE = 40;

interface Fetched {
  readonly rows: readonly EarlierRow[];
  /** null: the phase is over. */
  readonly next: Place;
  readonly part?: EarlierPart;
}

export class Takeover implements Taking {
  readonly #at: ContentAdmission;
  #step: Promise<void> | undefined;

  constructor(at: ContentAdmission) {
    this.#at = at;
    // A Worker that was without it for a while gave up the alarm.
    if (at.held && at.held.phase !== "done") at.host.wakeAt(at.host.now());
  }

  reach(call: string): Promise<Admitted> {
    return this.#reach(call === "content.search" ? "dropping" : "texts");
  }

  async alarm(now: number): Promise<number | undefined> {
    return (await this.#reach("done")) === "busy" ? now : undefined;
  }

  async #reach(phase: Phase): Promise<Admitted> {
    const { host } = this.#at;
    for (let steps = 0; steps < STEPS_AT_ONCE; steps += 1) {
      const { held } = this.#at;
      if (!held || host.closure.isClosed()) return "gone";
      if (PHASES.indexOf(held.phase as Phase) >= PHASES.indexOf(phase)) return "ready";
      await this.#next(held);
    }
    return "busy";
  }

  /** All who wait here share a step. */
  #next(held: Held): Promise<void> {
    this.#step ??= this.#take(held).finally(() => {
      this.#step = undefined;
    });
    return this.#step;
  }

  async #take(held: Held): Promise<void> {
    const phase = held.phase as Phase;
    if (phase === "done") return;
    const { rows, next, part } = await this.#fetch(held, phase);
    const { host } = this.#at;
    const at: Held = next === null ? { ...held, phase: after(phase), after: null } : { ...held, after: next };
    host.transaction(() => {
      // The tenant may have ended while rows were on their way.
      if (keptFor(host.sql) !== held.created) throw new Error("the tenant has ended");
      for (const row of rows) if (part) takeRow(host.sql, part, row);
      storeHeld(host.sql, at);
    });
    this.#at.held = at;
  }

  async #fetch({ created, after: from }: Held, phase: Exclude<Phase, "done">): Promise<Fetched> {
    const { host } = this.#at;
    const authority = authorityOf(host, created, earlierPages);
    const nowhere = (isOver: boolean): Fetched => ({ rows: [], next: isOver ? null : 0 });
    if (phase === "texts") return nowhere(await indexTexts(host));
    if (phase === "dropping") return nowhere(await authority.drop());
    return { ...(await authority.page(phase, from)), part: phase };
  }
}

function after(phase: Phase): Phase {
  return PHASES[PHASES.indexOf(phase) + 1] ?? "done";
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
