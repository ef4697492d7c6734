// The world that tenants live in while it is bad weather: two Workers over one storage, every call to an object delayed
// as distance does, objects reset, connections to them lost, sockets cut and stalled, both Workers killed and started
// again.

import { setTimeout as pause } from "node:timers/promises";
import { ADMIN_TOKEN, type WorkerPair, type WatchedWorker } from "../../support/worker-pair.ts";
import { createDraws, type Draws } from "./draws.ts";

/** `status` 0: no answer came, so nobody knows what came of it. */
export interface Answer {
  readonly status: number;
  readonly text: string;
  readonly etag: string | null;
}

export interface RequestOptions {
  readonly body?: unknown;
  /** A text that is sent as it stands. */
  readonly plain?: string;
  readonly ifMatch?: string;
  /** Its connection is neither cut nor stalled. */
  readonly isCalm?: boolean;
}

interface Sent {
  readonly method: string;
  readonly headers: Record<string, string>;
  readonly body?: string;
}

/** How bad it is. Without kills: those take seconds. */
export interface Weather {
  /** Every call to an object takes up to so many milliseconds more. */
  readonly jitterMs: number;
  readonly resets?: boolean;
  readonly sockets?: boolean;
  readonly kills?: boolean;
}

export type Fault = "reset" | "away" | "answer lost" | "cut" | "stall" | "kill";

export const VARS = { SECRETS_KEY: "c2VjcmV0LWtleS1vZi10aGUtaml0dGVyLTAxMjM0NTY", TENANT_HOST: "mcp.test" };
/** Of which an answer may be lost: each is done, and whoever asked does not learn it. */
const METHODS = [
  "policy.write",
  "policy.create",
  "policy.close",
  "content.put",
  "bases.resolveAndUse",
  "bases.setUses",
  "rollouts.reportOutcomes",
];
const PATIENCE_MS = 30_000;
/**
 * Then a storm only delays. What takes longer than objects live never comes to its end, and cannot: that all ends well is
 * claimed of a time in which nothing fails, that nothing goes wrong of every time.
 */
const FAULTS_OF_A_STORM = 40;

/** Starts both over the storage that they had. */
type Start = () => Promise<WorkerPair>;

export class UnreliableWorkers {
  readonly #start: Start;
  #workers: WorkerPair | undefined;
  #weather: Weather = { jitterMs: 0 };
  #draws = createDraws(0);
  readonly faults = new Map<Fault, number>();
  readonly #unanswered: string[] = [];
  /** Of the clock that all clients share. */
  #tick = 0;

  private constructor(start: Start) {
    this.#start = start;
  }

  static async begin(start: Start): Promise<UnreliableWorkers> {
    const workers = new UnreliableWorkers(start);
    workers.#workers = await start();
    return workers;
  }

  async end(): Promise<void> {
    await this.#workers?.stop();
  }

  /** As when whoever had begun something so long ago was cut off. */
  async age(milliseconds: number): Promise<void> {
    await this.#workers?.age(milliseconds);
  }

  /** What came without an answer, or with an error of ours, while nothing failed: since it was asked last. */
  unanswered(): readonly string[] {
    return this.#unanswered.splice(0);
  }

  tick(): number {
    return (this.#tick += 1);
  }

  #count(fault: Fault): void {
    this.faults.set(fault, (this.faults.get(fault) ?? 0) + 1);
  }

  worker(at: number): WatchedWorker {
    const worker = this.#workers?.both[at % 2];
    if (!worker) throw new Error("they do not run");
    return worker;
  }

  origin(at: number): string {
    return this.worker(at).origin;
  }

  /** What `work` gives, in this weather; it is calm again when that settles. */
  async during<T>(weather: Weather, draws: Draws, work: () => Promise<T>): Promise<T> {
    this.#weather = weather;
    this.#draws = draws.fork();
    await this.#delay(weather.jitterMs);
    let isOver = false;
    const storm = this.#storm(weather, draws.fork(), () => isOver);
    try {
      return await work();
    } finally {
      isOver = true;
      await storm;
      this.#weather = { jitterMs: 0 };
      await this.#delay(0);
      // What nobody asked in this storm would be lost in the next one, in which nothing may fail.
      await Promise.all((this.#workers?.both ?? []).map((worker) => worker.keepAnswers()));
    }
  }

  async #delay(jitterMs: number): Promise<void> {
    const both = this.#workers?.both ?? [];
    await Promise.all(both.map((worker) => worker.delay(jitterMs, this.#draws.below(2 ** 31))));
  }

  async #storm({ resets, kills }: Weather, draws: Draws, isOver: () => boolean): Promise<void> {
    let killAfter = kills ? 2 + draws.below(4) : Infinity;
    for (let faults = 0; faults < FAULTS_OF_A_STORM && !isOver(); faults += 1) {
      await pause(60 + draws.below(240));
      if (isOver()) return;
      killAfter -= 1;
      if (killAfter === 0) await this.#kill();
      else if (resets) await this.#disturb(draws);
    }
  }

  async #disturb(draws: Draws): Promise<void> {
    const fault = draws.pick<Fault>(["reset", "away", "answer lost"]);
    const worker = this.worker(draws.below(2));
    this.#count(fault);
    if (fault === "reset") await this.#workers?.crash();
    else if (fault === "answer lost") await worker.loseAnswer(draws.pick(METHODS));
    else {
      await worker.cutOff();
      await pause(30 + draws.below(200));
      await worker.reconnect();
    }
  }

  /** In the middle of whatever they do; what they acknowledged is stored. */
  async #kill(): Promise<void> {
    this.#count("kill");
    await this.#workers?.stop();
    this.#workers = await this.#start();
    await this.#delay(this.#weather.jitterMs);
  }

  /** Asks the admin API of one of the two, as root. Never rejects. */
  async ask(at: number, method: string, path: string, request: RequestOptions = {}): Promise<Answer> {
    const { body, plain, ifMatch, isCalm = false } = request;
    const text = plain ?? (body === undefined ? undefined : JSON.stringify(body));
    const headers: Record<string, string> = { authorization: `Bearer ${ADMIN_TOKEN}` };
    if (text !== undefined) headers["content-type"] = plain === undefined ? "application/json" : "text/plain";
    if (ifMatch !== undefined) headers["if-match"] = ifMatch;
    return this.send(
      at,
      `/admin/v1${path}`,
      { method, headers, ...(text === undefined ? {} : { body: text }) },
      isCalm,
    );
  }

  /** Sends it, and may leave before the answer is there, or stop for a while in the middle of the body. Never rejects. */
  async send(at: number, path: string, sent: Sent, isCalm = false): Promise<Answer> {
    const { jitterMs, ...faults } = this.#weather;
    const answer = await this.#sendNow(at, path, sent, isCalm);
    // In what is calm again, something may still come of what failed before.
    if (isUnknown(answer) && jitterMs > 0 && Object.keys(faults).length === 0)
      this.#unanswered.push(`${sent.method} ${path} was answered ${answer.status} ${answer.text.slice(0, 300)}`);
    return answer;
  }

  async #sendNow(at: number, path: string, { method, headers, body }: Sent, isCalm: boolean): Promise<Answer> {
    const draws = this.#draws;
    const isRough = this.#weather.sockets === true && !isCalm;
    const isCut = isRough && draws.chance(0.08);
    const isStalled = isRough && body !== undefined && draws.chance(0.15);
    if (isCut) this.#count("cut");
    if (isStalled) this.#count("stall");
    const signal = AbortSignal.timeout(isCut ? 5 + draws.below(150) : PATIENCE_MS);
    const sent = isStalled
      ? { body: stalled(body, 50 + draws.below(400)), duplex: "half" }
      : body === undefined
        ? {}
        : { body };
    try {
      const response = await fetch(`${this.origin(at)}${path}`, { method, headers, signal, ...sent });
      return { status: response.status, etag: response.headers.get("etag"), text: await response.text() };
    } catch (error) {
      return { status: 0, etag: null, text: String(error) };
    }
  }

  /** The same until there is an answer that is neither busy nor lost: only for what may happen twice. */
  async insist(method: string, path: string, request: RequestOptions = {}): Promise<Answer> {
    let last: Answer | undefined;
    for (let tries = 0; tries < 60; tries += 1) {
      last = await this.ask(tries, method, path, { ...request, isCalm: true });
      if (last.status !== 0 && last.status < 500) return last;
      await pause(100);
    }
    throw new Error(`${method} ${path} is not answered: ${last?.status} ${last?.text}`);
  }

  /** The names of what KV has under a prefix. */
  async keys(prefix: string): Promise<readonly string[]> {
    return this.worker(0).keys(prefix);
  }
}

function stalled(text: string, milliseconds: number): ReadableStream<Uint8Array> {
  const bytes = new TextEncoder().encode(text);
  const half = Math.floor(bytes.byteLength / 2);
  return new ReadableStream({
    start: async (controller) => {
      controller.enqueue(bytes.subarray(0, half));
      await pause(milliseconds);
      try {
        controller.enqueue(bytes.subarray(half));
        controller.close();
      } catch {
        // Whoever reads it has left.
      }
    },
  });
}

/** Whether nobody knows what came of it. */
export function isUnknown({ status }: Answer): boolean {
  return status === 0 || status >= 500;
}
