// The calls that are under way when a Worker is killed, and what may come of each: one result where the client can go
// on with it, and never an effect twice.

import type { Draws } from "../jitter/draws.ts";
import { beginCall, type Begun, type Watcher } from "./watcher.ts";
import type { RestartingWorker } from "./restarting-worker.ts";

/** Whoever is asked says so, and answers when `until` settles. */
export interface Patience {
  until: Promise<unknown>;
  asked: () => void;
}

/** Someone who watches, and whom a call may ask. */
export interface Caller {
  readonly watcher: Watcher;
  readonly patience: Patience;
  readonly resumes: boolean;
  /** Whether it may be asked: mcp-remote offers its server nothing that its client can do. */
  readonly isAsked: boolean;
}

export interface Tally {
  begun: number;
  /** Got a result, as they must. */
  answered: number;
  /** Were told that there is none, as calls may that cannot be gone on with. */
  refused: number;
}

export type Tallies = Map<string, Tally>;

const SETTLED_WITHIN_MS = 60_000;
/** What began before the kill, of those that go on after it. */
const GOING_ON = { lab_long: "counted", lab_report: "reported", lab_pay: "asked" } as const;
const PAYS = "lab_pay_first";

export class CallsOfARound {
  readonly #worker: RestartingWorker;
  readonly #tenant: string;
  readonly #tag: string;
  readonly #callers: readonly Caller[];
  readonly #draws: Draws;
  readonly #going: Begun[] = [];
  readonly #paying: Begun[] = [];
  readonly #release = Promise.withResolvers<void>();
  #isOver = false;

  constructor(
    worker: RestartingWorker,
    tenant: string,
    { tag, callers, draws }: { readonly tag: string; readonly callers: readonly Caller[]; readonly draws: Draws },
  ) {
    this.#worker = worker;
    this.#tenant = tenant;
    this.#tag = tag;
    this.#callers = callers;
    this.#draws = draws;
  }

  /** Begins calls that outlive the kill; settles when their clients were told something of each, or asked. */
  async begin(each: number): Promise<void> {
    const underWay: Promise<unknown>[] = [];
    for (const name of Object.keys(GOING_ON) as (keyof typeof GOING_ON)[]) {
      const able = this.#callers.filter(({ resumes, isAsked }) => resumes && (isAsked || name !== "lab_pay"));
      for (let at = 0; at < each && able.length > 0; at += 1) {
        const { watcher, patience } = able.splice(this.#draws.below(able.length), 1)[0] as Caller;
        const arrival = Promise.withResolvers<void>();
        Object.assign(patience, { until: this.#release.promise, asked: arrival.resolve });
        const args = name === "lab_report" ? { reports: 10, everyMs: 200 } : {};
        const call = beginCall(watcher, { name, key: `${this.#tag}-${name}-${at}`, args });
        this.#going.push(call);
        underWay.push(Promise.race([call.underWay, arrival.promise]));
      }
    }
    await Promise.all(underWay);
  }

  /** Calls, one after the other for each of so many, whose answers may be lost: until `stop`. */
  async keepPaying(atOnce: number): Promise<void> {
    let made = 0;
    const turn = async () => {
      while (!this.#isOver) {
        const { watcher } = this.#draws.pick(this.#callers);
        const call = beginCall(watcher, { name: PAYS, key: `${this.#tag}-${(made += 1)}` });
        this.#paying.push(call);
        const outcome = await call.outcome;
        if ("error" in outcome) return;
      }
    };
    await Promise.all(Array.from({ length: atOnce }, turn));
  }

  stop(): void {
    this.#isOver = true;
  }

  /** Lets what waits go on: gates are opened, and people answer. */
  async goOn(): Promise<void> {
    for (const { key } of this.#going.filter(({ name }) => name === "lab_long")) {
      const query = new URLSearchParams({ uri: `lab://gates/${key}` });
      await this.#worker.insist("PUT", `/tenants/${this.#tenant}/resources/content?${query}`, { plain: "open" });
    }
    this.#release.resolve();
  }

  /** What came of them that should not have. */
  async judge(tallies: Tallies): Promise<readonly string[]> {
    const wrong: string[] = [];
    for (const call of this.#going) {
      const tally = tallyOf(tallies, GOING_ON[call.name as keyof typeof GOING_ON]);
      tally.begun += 1;
      const outcome = await settled(call);
      const problem = problemOf(call, outcome);
      if (problem === undefined) tally.answered += 1;
      else wrong.push(`${call.watcher.connected.kind}: ${call.name} ${call.key}: ${problem}`);
    }
    const effects = await this.#payments();
    for (const call of [...this.#paying, ...this.#going.filter(({ name }) => name === "lab_pay")]) {
      const outcome = await settled(call);
      const paid = effects.filter((uri) => uri.startsWith(`lab://payments/${call.key}/`));
      const text = "text" in outcome ? outcome.text : "";
      const isLost = text !== "" && paid.length === 0;
      if (
        isLost ||
        paid.length > 1 ||
        (text !== "" && !paid.some((uri) => text.includes(uri.split("/").at(-1) ?? "?")))
      )
        wrong.push(
          `${call.watcher.connected.kind}: ${call.name} ${call.key} said "${text}" and paid ${paid.length} times`,
        );
      if (call.name !== PAYS) continue;
      const tally = tallyOf(tallies, "paid");
      tally.begun += 1;
      if (text === "") tally.refused += 1;
      else tally.answered += 1;
    }
    return wrong;
  }

  async #payments(): Promise<readonly string[]> {
    const uris: string[] = [];
    const prefix = `lab://payments/${this.#tag}-`;
    for (let cursor = ""; ;) {
      const query = new URLSearchParams({ prefix, limit: "500", ...(cursor === "" ? {} : { cursor }) });
      const page = await this.#worker.json("GET", `/tenants/${this.#tenant}/resources?${query}`);
      for (const { uri } of page["items"] as { uri: string }[]) if (uri.startsWith(prefix)) uris.push(uri);
      if (typeof page["next"] !== "string") return uris;
      cursor = page["next"];
    }
  }
}

function tallyOf(tallies: Tallies, name: string): Tally {
  const tally = tallies.get(name) ?? { begun: 0, answered: 0, refused: 0 };
  tallies.set(name, tally);
  return tally;
}

type Outcome = Awaited<Begun["outcome"]>;

async function settled({ outcome }: Begun): Promise<Outcome> {
  const { promise, resolve } = Promise.withResolvers<Outcome>();
  const timer = setTimeout(() => resolve({ error: `nothing within ${SETTLED_WITHIN_MS} ms` }), SETTLED_WITHIN_MS);
  void outcome.then(resolve);
  const settling = await promise;
  clearTimeout(timer);
  return settling;
}

const EXPECTED: Readonly<Record<string, (key: string) => RegExp>> = {
  lab_long: (key) => new RegExp(`^${key} counted to 6$`),
  lab_report: () => /^10 reports$/,
  lab_pay: () => /^\{"receipt":"[-\w]+","thanks":.*\}$/,
};

/** undefined: it has the result, and every step was told at most once and in order. */
function problemOf({ name, key, steps }: Begun, outcome: Outcome): string | undefined {
  if ("error" in outcome) return `lost: ${outcome.error}`;
  if (!EXPECTED[name]?.(key).test(outcome.text)) return `answered ${outcome.text}`;
  if (steps.some((step, at) => at > 0 && step <= (steps[at - 1] ?? 0))) return `told steps ${steps.join(" ")}`;
  return undefined;
}
