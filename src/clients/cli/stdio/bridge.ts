// Owns the bridge between a local client and its endpoint: each line goes to the era it belongs to, in the order it
// came. Refuses lines that are no messages, and more messages at once than it can hold; neither ends the bridge.

import { ERRORS } from "../../../protocol/errors.ts";
import { BatchAnswer } from "./batch-answer.ts";
import { deferred } from "./deferred.ts";
import { mcpReason } from "../terminal/mcp-problem.ts";
import { Bridge2025 } from "./bridge-2025.ts";
import { Bridge2026 } from "./bridge-2026.ts";
import { OpenCalls, type LocalCall } from "./calls.ts";
import type { Line } from "./lines.ts";
import {
  errorText,
  readLocalLine,
  unreadable,
  type Garbage,
  type LocalBatch,
  type LocalMessage,
  type LocalNotification,
  type LocalRequest,
  type LocalResponse,
} from "./local-message.ts";
import type { Wiring } from "./wiring.ts";

const LAST_ANSWERS_MS = 3000;
const MAX_TOLD = 1000;

export class Bridge {
  readonly #wiring: Wiring;
  readonly #calls: OpenCalls;
  readonly #era2025: Bridge2025;
  readonly #era2026: Bridge2026;
  /** `initialize` or `notifications/initialized` while it is on its way: everything after it must wait. */
  #gate: Promise<void> = Promise.resolve();
  /** Batches that wait for the handshake, or are being taken: nobody counts their calls yet. */
  #batches: Promise<unknown> = Promise.resolve();
  /** How many notifications and responses are on their way to the server. */
  #told = 0;
  #speaks2026 = false;

  constructor(wiring: Wiring) {
    this.#wiring = wiring;
    this.#calls = new OpenCalls(wiring.signal);
    this.#era2025 = new Bridge2025(wiring);
    this.#era2026 = new Bridge2026(wiring);
  }

  /** What is no part of a batch is a line of its own. */
  readonly #alone = async (text?: string): Promise<void> => {
    if (text !== undefined) await this.#wiring.write(text);
  };

  /** Settles when the client has closed its end and open requests are answered, or have had a moment to be. */
  async run(lines: AsyncIterable<Line>): Promise<void> {
    for await (const line of lines)
      await this.#take("text" in line ? readLocalLine(line.text) : unreadable(line.broken));
    await this.#lastAnswers();
    await this.#era2025.goodbye();
  }

  async #lastAnswers(): Promise<void> {
    const { promise: enough, resolve } = deferred();
    const timer = setTimeout(resolve, LAST_ANSWERS_MS);
    this.#wiring.signal.addEventListener("abort", () => resolve(), { once: true });
    if (this.#wiring.signal.aborted) resolve();
    const answered = this.#gate.then(() => this.#batches).then(() => this.#calls.drained());
    await Promise.race([answered, enough]);
    clearTimeout(timer);
  }

  /** Settles when the next line may be read, which is long before the answer. */
  async #take(sent: LocalMessage | LocalBatch | Garbage, batch?: BatchAnswer): Promise<void> {
    if (sent.kind === "garbage") return this.#refuse(sent, batch?.expect());
    // Which revision it is in, and so whether that has batches, is known after the handshake.
    if (sent.kind === "batch") {
      this.#batches = Promise.all([this.#batches, this.#inTurn(async () => this.#takeBatch(sent))]);
      return;
    }
    if (sent.revision !== undefined) this.#speaks2026 = true;
    if (sent.kind === "request") return this.#takeRequest(sent, batch?.expect());
    if (sent.method === "notifications/cancelled" && (await this.#cancel2026(sent))) return;
    if (this.#told >= MAX_TOLD) return this.#wiring.log(`${sent.method || "a response"} is dropped: too many wait`);
    this.#told += 1;
    const work = this.#inTurn(async () => this.#tell(sent)).finally(() => {
      this.#told -= 1;
    });
    if (sent.method === "notifications/initialized") this.#gate = work;
  }

  /** Each of its messages goes to the server by itself, so that progress comes back meanwhile. */
  async #takeBatch({ messages }: LocalBatch): Promise<void> {
    const { batches, revision } = this.#era2025.dialect;
    const isHello = messages.some((one) => one.kind === "request" && one.method === "initialize");
    const why = isHello ? "initialize must not be part of a batch" : `revision ${revision} has no batches`;
    if (!batches || isHello) return this.#refuse({ kind: "garbage", code: ERRORS.invalidRequest.code, why, id: null });
    const batch = new BatchAnswer(this.#wiring.write);
    for (const message of messages) await this.#take(message, batch);
    await batch.seal();
  }

  async #takeRequest(sent: LocalRequest, over = this.#alone): Promise<void> {
    const call = this.#calls.begin(sent, over);
    if (!call) {
      this.#wiring.log(`${sent.method} is refused: too many requests wait for an answer`);
      const why = "too many requests wait for an answer";
      return over(errorText(sent.id, why));
    }
    const era = sent.revision === undefined ? this.#era2025 : this.#era2026;
    const work = this.#inTurn(async () => (call.isOpen ? era.request(call) : undefined));
    if (sent.method === "initialize") this.#gate = work;
  }

  /** Does the work after the handshake that may be on its way. Never rejects. */
  async #inTurn(work: () => Promise<void>): Promise<void> {
    try {
      await this.#gate;
      await work();
    } catch (error) {
      if (!this.#wiring.signal.aborted) this.#wiring.log(mcpReason(error, this.#wiring.endpoint));
    }
  }

  async #tell(sent: LocalNotification | LocalResponse): Promise<void> {
    if (sent.revision !== undefined) return this.#era2026.tell(sent);
    if (!this.#era2025.isOpen && this.#speaks2026) return this.#wiring.log(`${sent.method || "a response"} is ignored`);
    try {
      await this.#era2025.tell(sent);
    } finally {
      // The server is told first. After that nobody wants an answer, whether the server gives one or not.
      if (sent.method === "notifications/cancelled") await this.#calls.find(sent.params.requestId)?.cancel();
    }
  }

  /** In era 2026 closing a request cancels it, so the server is told nothing. */
  async #cancel2026({ params }: LocalNotification | LocalResponse): Promise<boolean> {
    const call: LocalCall | undefined = this.#calls.find(params.requestId);
    if (call?.sent.revision === undefined) return false;
    await call.cancel();
    return true;
  }

  async #refuse({ code, why, id }: Garbage, over = this.#alone): Promise<void> {
    this.#wiring.log(why);
    // Era 2026 has no responses without an id, so there the log must do.
    await over(id !== null || !this.#speaks2026 ? errorText(id, why, code) : undefined);
  }
}
