// Owns the bridge: each line of a local client goes to the era it belongs to, in the order it came, until there are no more.
// Refuses garbage, which ends nothing, and more messages than it can hold.

import { deferred } from "./deferred.ts";
import { Calls, type Call } from "./calls.ts";
import type { Line } from "./lines.ts";
import { Session2025 } from "./session-2025.ts";
import { Stateless2026 } from "./stateless-2026.ts";
import { errorText, readMessage, unreadable, type Garbage, type Sent } from "./wire.ts";
import { reasonOf, type Wiring } from "./wiring.ts";

const LAST_ANSWERS_MS = 3000;
const MAX_TOLD = 1000;

export class Bridge {
  readonly #wiring: Wiring;
  readonly #calls: Calls;
  readonly #session: Session2025;
  readonly #stateless: Stateless2026;
  /** What the next message waits for. */
  #gate: Promise<void> = Promise.resolve();
  /** Notifications and responses that are not through yet. */
  #told = 0;
  #speaks2026 = false;

  constructor(wiring: Wiring) {
    this.#wiring = wiring;
    this.#calls = new Calls({ write: wiring.write, signal: wiring.signal });
    this.#session = new Session2025(wiring);
    this.#stateless = new Stateless2026(wiring);
  }

  /** Settles when the client has closed its end, and what was under way has come to one. */
  async run(lines: AsyncIterable<Line>): Promise<void> {
    for await (const line of lines) await this.#take("text" in line ? readMessage(line.text) : unreadable(line.broken));
    await this.#lastAnswers();
    await this.#session.goodbye();
  }

  async #lastAnswers(): Promise<void> {
    const { promise: enough, resolve } = deferred();
    const timer = setTimeout(resolve, LAST_ANSWERS_MS);
    this.#wiring.signal.addEventListener("abort", () => resolve(), { once: true });
    if (this.#wiring.signal.aborted) resolve();
    await Promise.race([Promise.all([this.#calls.drained(), this.#gate]), enough]);
    clearTimeout(timer);
  }

  /** Settles when the next line may be read, not when this one is done. */
  async #take(sent: Sent | Garbage): Promise<void> {
    if (sent.kind === "garbage") return this.#refuse(sent);
    if (sent.revision !== undefined) this.#speaks2026 = true;
    if (sent.kind === "request") return this.#takeRequest(sent);
    if (sent.method === "notifications/cancelled" && (await this.#cancel2026(sent))) return;
    if (this.#told >= MAX_TOLD) return this.#wiring.log(`${sent.method || "a response"} is dropped: too many wait`);
    this.#told += 1;
    const work = this.#inTurn(async () => this.#tell(sent)).finally(() => {
      this.#told -= 1;
    });
    if (sent.method === "notifications/initialized") this.#gate = work;
  }

  async #takeRequest(sent: Sent): Promise<void> {
    const call = this.#calls.begin(sent);
    if (!call) {
      this.#wiring.log(`${sent.method} is refused: too many requests wait for an answer`);
      const why = "too many requests wait for an answer";
      return this.#wiring.write(errorText(sent.message.id as string | number, why));
    }
    const era = sent.revision === undefined ? this.#session : this.#stateless;
    const work = this.#inTurn(async () => (call.isOpen ? era.request(call) : undefined));
    if (sent.method === "initialize") this.#gate = work;
  }

  /** Never rejects. */
  async #inTurn(work: () => Promise<void>): Promise<void> {
    try {
      await this.#gate;
      await work();
    } catch (error) {
      if (!this.#wiring.signal.aborted) this.#wiring.log(reasonOf(error));
    }
  }

  async #tell(sent: Sent): Promise<void> {
    if (sent.revision !== undefined) return this.#stateless.tell(sent);
    if (!this.#session.isOpen && this.#speaks2026) return this.#wiring.log(`${sent.method || "a response"} is ignored`);
    try {
      await this.#session.tell(sent);
    } finally {
      // A server that was told to stop does not answer any more; where it does, nobody wants it.
      if (sent.method === "notifications/cancelled") await this.#calls.find(sent.params.requestId)?.cancel();
    }
  }

  /** On HTTP, a 2026 request is cancelled by closing it. */
  async #cancel2026({ params }: Sent): Promise<boolean> {
    const call: Call | undefined = this.#calls.find(params.requestId);
    if (call?.sent.revision === undefined) return false;
    await call.cancel();
    return true;
  }

  async #refuse({ code, why, id }: Garbage): Promise<void> {
    this.#wiring.log(why);
    // 2026 has no response without an id.
    if (id !== null || !this.#speaks2026) await this.#wiring.write(errorText(id, why, code));
  }
}
