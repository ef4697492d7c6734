// What happens between one kill and the next: changes and calls until the Worker is killed, in the middle of which it
// is, and what is true of each stream and call after the other release answers.

import { setTimeout as pause } from "node:timers/promises";
import { createDraws, type Draws } from "../jitter/draws.ts";
import type { Release } from "../two-releases.ts";
import { CallsOfARound, type Caller, type Tallies } from "./calls.ts";
import type { RestartingWorker } from "./restarting-worker.ts";

export const GAP_MS = 10_000;
/** After so long a stream is said to have lost what it was not told. */
const HEARD_WITHIN_MS = 30_000;
/** The tool that is withdrawn and given back. */
const WITHDRAWN = "lab_echo";
const WRITE_EVERY_MS = 40;

export const BEAT = "lab://kills/beat";
export const PAGES = Array.from({ length: 8 }, (_none, at) => `lab://kills/page-${at}`);

export interface Figures {
  readonly calls: Tallies;
  /** Milliseconds from the new process's first answer, by kind of client. */
  readonly gaps: Map<string, number[]>;
  /** How long nobody answered, in milliseconds. */
  readonly away: number[];
  acknowledged: number;
  cutOff: number;
  withdrawals: number;
  /** Results that were sent again to clients that do not say what they had. */
  sentAgain: number;
  readonly violations: string[];
}

export function newFigures(): Figures {
  const counts = { acknowledged: 0, cutOff: 0, withdrawals: 0, sentAgain: 0 };
  return { calls: new Map(), gaps: new Map(), away: [], violations: [], ...counts };
}

export interface Sizes {
  readonly callsOfAKind: number;
  readonly paying: number;
}

/** When the new process answered first, and how long after that a write was acknowledged. */
interface Answered {
  readonly answeredAt: number;
  readonly writtenAfter: number;
}

const otherOf = (release: Release): Release => (release === "this" ? "next" : "this");

export class Rounds {
  readonly #worker: RestartingWorker;
  readonly #tenant: string;
  #callers: readonly Caller[] = [];
  readonly #figures: Figures;
  readonly #seed: number;
  /** The last number that was sent of each resource, and the last that was acknowledged. */
  readonly #sent = new Map<string, number>();
  readonly #acknowledged = new Map<string, number>();

  constructor(worker: RestartingWorker, tenant: string, figures: Figures, seed: number) {
    this.#worker = worker;
    this.#tenant = tenant;
    this.#figures = figures;
    this.#seed = seed;
  }

  /** Before anybody watches. */
  async writeAll(): Promise<void> {
    for (const uri of [BEAT, ...PAGES]) await this.#write(uri);
  }

  async play(callers: readonly Caller[], at: number, sizes: Sizes): Promise<void> {
    this.#callers = callers;
    const seed = this.#seed;
    const draws = createDraws(seed + at);
    const problems = await this.#play(`r${at}`, draws, sizes);
    const { release } = this.#worker;
    this.#figures.violations.push(
      ...problems.map((problem) => `SEED=${seed}, kill ${at}, then ${release}: ${problem}`),
    );
  }

  async #play(tag: string, draws: Draws, { callsOfAKind, paying }: Sizes): Promise<readonly string[]> {
    const calls = new CallsOfARound(this.#worker, this.#tenant, { tag, callers: this.#callers, draws: draws.fork() });
    const isOver = { now: false };
    const withdrawal = this.#withdraw();
    await calls.begin(callsOfAKind);
    // A withdrawal takes as long as leases and streams that may be away: it is cut off in two of three rounds.
    if (draws.chance(1 / 3)) await withdrawal;
    await pause(draws.below(800));
    const changes = [this.#writeOn(draws.fork(), isOver), withdrawal];
    const payments = calls.keepPaying(paying);
    await pause(300 + draws.below(1200));
    const killedAt = Date.now();
    await this.#worker.kill();
    isOver.now = true;
    calls.stop();
    await Promise.all(changes);
    // Payments are not waited for: a client whose answer was lost waits longer than others try again.
    const answeredAt = await this.#worker.start(otherOf(this.#worker.release));
    this.#figures.away.push(answeredAt - killedAt);
    const beat = await this.#write(BEAT);
    if (beat === undefined) return ["a write was refused after the restart"];
    const times = { answeredAt, writtenAfter: Date.now() - answeredAt };
    const goingOn = calls.goOn();
    return [
      ...(await this.#lostWrites()),
      ...(await this.#unheard(beat, times)),
      ...(await Promise.all([goingOn, payments]).then(() => calls.judge(this.#figures.calls))),
      ...this.#doubled(),
    ];
  }

  /** Writes the resource's next number; undefined: nobody knows whether it is written. */
  async #write(uri: string): Promise<number | undefined> {
    const number = (this.#sent.get(uri) ?? 0) + 1;
    this.#sent.set(uri, number);
    const path = `/tenants/${this.#tenant}/resources/content?${new URLSearchParams({ uri })}`;
    const { status } = await this.#worker.ask("PUT", path, { plain: String(number) });
    if (status < 200 || status >= 300) {
      this.#figures.cutOff += 1;
      return undefined;
    }
    this.#figures.acknowledged += 1;
    this.#acknowledged.set(uri, number);
    return number;
  }

  async #writeOn(draws: Draws, isOver: { readonly now: boolean }): Promise<void> {
    while (!isOver.now) {
      await this.#write(draws.pick(PAGES));
      await pause(draws.below(WRITE_EVERY_MS));
    }
  }

  /** Or gives back what is withdrawn. */
  async #withdraw(): Promise<void> {
    const path = `/tenants/${this.#tenant}/suspensions`;
    const { status } = (await this.#isWithdrawn())
      ? await this.#worker.ask("DELETE", `${path}/tool/${WITHDRAWN}`)
      : await this.#worker.ask("POST", path, { json: { kind: "tool", name: WITHDRAWN, note: "Under repair" } });
    if (status >= 200 && status < 300) this.#figures.withdrawals += 1;
  }

  async #isWithdrawn(): Promise<boolean> {
    const { items } = await this.#worker.json("GET", `/tenants/${this.#tenant}/suspensions`);
    return (items as readonly object[]).length > 0;
  }

  /** What is stored now is what the streams must know; it is never older than what was acknowledged. */
  async #lostWrites(): Promise<readonly string[]> {
    const lost: string[] = [];
    for (const uri of PAGES) {
      const path = `/tenants/${this.#tenant}/resources/content?${new URLSearchParams({ uri })}`;
      const stored = Number(await this.#worker.insist("GET", path));
      const acknowledged = this.#acknowledged.get(uri) ?? 0;
      if (stored < acknowledged) lost.push(`${uri} is ${stored}, and ${acknowledged} was acknowledged`);
      this.#acknowledged.set(uri, Math.max(stored, acknowledged));
    }
    return lost;
  }

  async #unheard(beat: number, { answeredAt, writtenAfter }: Answered): Promise<readonly string[]> {
    const isWithdrawn = await this.#isWithdrawn();
    const wrong = await Promise.all(
      this.#callers.map(async ({ watcher }) => {
        const { kind } = watcher.connected;
        const missing = () =>
          watcher.uris.filter((uri) => (watcher.known.get(uri) ?? 0) < (this.#acknowledged.get(uri) ?? 0));
        const isWrong = () => watcher.tools.has(WITHDRAWN) === isWithdrawn;
        if (!(await watcher.until(() => missing().length === 0 && !isWrong(), HEARD_WITHIN_MS)))
          return [`${kind}: never heard of ${[...missing(), ...(isWrong() ? [WITHDRAWN] : [])].join(", ")}`];
        const gap = (watcher.knewAt(BEAT, beat) ?? Date.now()) - answeredAt;
        const gaps = this.#figures.gaps.get(kind) ?? [];
        this.#figures.gaps.set(kind, [...gaps, gap]);
        return gap > GAP_MS ? [`${kind}: heard again after ${gap} ms of a write that took ${writtenAfter} ms`] : [];
      }),
    );
    return wrong.flat();
  }

  #doubled(): readonly string[] {
    return this.#callers.flatMap(({ watcher }) => {
      const doubled = watcher.doubled();
      const { kind, namesNoEvent = false } = watcher.connected;
      if (namesNoEvent) this.#figures.sentAgain += doubled.length;
      return namesNoEvent ? [] : doubled.map((id) => `${kind}: request ${id} was answered twice`);
    });
  }
}
