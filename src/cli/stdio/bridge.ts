// The bridge between a local client and its endpoint: dispatches each line to its era, in order. Invalid lines and
// too many messages at once get an error, and do not end the bridge.

import { ERRORS } from "../../protocol/errors.ts";
import { BatchResponse } from "./batch-response.ts";
import { deferred } from "./deferred.ts";
import { mcpErrorMessage } from "../terminal/mcp-error.ts";
import { Bridge2025 } from "./bridge-2025.ts";
import { Bridge2026 } from "./bridge-2026.ts";
import { OpenRequests, type OpenRequest } from "./open-requests.ts";
import type { Line } from "./read-lines.ts";
import {
  errorText,
  parseLocalLine,
  invalidLine,
  type InvalidMessage,
  type LocalBatch,
  type LocalMessage,
  type LocalNotification,
  type LocalRequest,
  type LocalResponse,
} from "./local-message.ts";
import type { BridgeOptions } from "./bridge-options.ts";

const DRAIN_TIMEOUT_MS = 3000;
const MAX_FORWARDING = 1000;

export class Bridge {
  readonly #options: BridgeOptions;
  readonly #openRequests: OpenRequests;
  readonly #era2025: Bridge2025;
  readonly #era2026: Bridge2026;
  /** A pending `initialize` or `notifications/initialized`: all later messages must wait. */
  #handshake: Promise<void> = Promise.resolve();
  /** Batches that wait for the handshake or are being dispatched: their calls are not in `#openRequests` yet. */
  #batches: Promise<unknown> = Promise.resolve();
  /** The number of notifications and responses on their way to the server. */
  #forwarding = 0;
  #speaks2026 = false;

  constructor(options: BridgeOptions) {
    this.#options = options;
    this.#openRequests = new OpenRequests(options.signal);
    this.#era2025 = new Bridge2025(options);
    this.#era2026 = new Bridge2026(options);
  }

  /** Writes an answer outside of a batch on a line of its own. */
  readonly #writeLine = async (text?: string): Promise<void> => {
    if (text !== undefined) await this.#options.write(text);
  };

  /** Settles when the client has closed stdin and open requests are answered or have timed out. */
  async run(lines: AsyncIterable<Line>): Promise<void> {
    for await (const line of lines)
      await this.#handle("text" in line ? parseLocalLine(line.text) : invalidLine(line.broken));
    await this.#drain();
    await this.#era2025.endSession();
  }

  async #drain(): Promise<void> {
    const { promise: timeout, resolve } = deferred();
    const timer = setTimeout(resolve, DRAIN_TIMEOUT_MS);
    this.#options.signal.addEventListener("abort", () => resolve(), { once: true });
    if (this.#options.signal.aborted) resolve();
    const drained = this.#handshake.then(() => this.#batches).then(() => this.#openRequests.drained());
    await Promise.race([drained, timeout]);
    clearTimeout(timer);
  }

  /** Settles when the next line may be read, which is long before the answer. */
  async #handle(message: LocalMessage | LocalBatch | InvalidMessage, batch?: BatchResponse): Promise<void> {
    if (message.kind === "garbage") return this.#reject(message, batch?.expect());
    // The revision, and so whether batches are allowed, is known only after the handshake.
    if (message.kind === "batch") {
      this.#batches = Promise.all([this.#batches, this.#afterHandshake(async () => this.#handleBatch(message))]);
      return;
    }
    if (message.revision !== undefined) this.#speaks2026 = true;
    if (message.kind === "request") return this.#handleRequest(message, batch?.expect());
    if (message.method === "notifications/cancelled" && (await this.#cancel2026(message))) return;
    if (this.#forwarding >= MAX_FORWARDING)
      return this.#options.log(`${message.method || "a response"} is dropped: too many messages wait`);
    this.#forwarding += 1;
    const work = this.#afterHandshake(async () => this.#forward(message)).finally(() => {
      this.#forwarding -= 1;
    });
    if (message.method === "notifications/initialized") this.#handshake = work;
  }

  /** Sends each message separately, so that progress notifications arrive meanwhile. */
  async #handleBatch({ messages }: LocalBatch): Promise<void> {
    const { batches, version: revision } = this.#era2025.revision;
    const hasInitialize = messages.some((one) => one.kind === "request" && one.method === "initialize");
    const why = hasInitialize ? "initialize must not be part of a batch" : `revision ${revision} has no batches`;
    if (!batches || hasInitialize)
      return this.#reject({ kind: "garbage", code: ERRORS.invalidRequest.code, why, id: null });
    const batch = new BatchResponse(this.#options.write);
    for (const message of messages) await this.#handle(message, batch);
    await batch.close();
  }

  async #handleRequest(request: LocalRequest, respond = this.#writeLine): Promise<void> {
    const call = this.#openRequests.begin(request, respond);
    if (!call) {
      this.#options.log(`${request.method} is refused: too many requests wait for an answer`);
      const why = "too many requests wait for an answer";
      return respond(errorText(request.id, why));
    }
    const era = request.revision === undefined ? this.#era2025 : this.#era2026;
    const work = this.#afterHandshake(async () => (call.isOpen ? era.request(call) : undefined));
    if (request.method === "initialize") this.#handshake = work;
  }

  /** Runs the work after a pending handshake. Never rejects. */
  async #afterHandshake(work: () => Promise<void>): Promise<void> {
    try {
      await this.#handshake;
      await work();
    } catch (error) {
      if (!this.#options.signal.aborted) this.#options.log(mcpErrorMessage(error, this.#options.endpoint));
    }
  }

  async #forward(message: LocalNotification | LocalResponse): Promise<void> {
    if (message.revision !== undefined) return this.#era2026.forward(message);
    if (!this.#era2025.isOpen && this.#speaks2026)
      return this.#options.log(`${message.method || "a response"} is ignored, because no session is open`);
    try {
      await this.#era2025.forward(message);
    } finally {
      // Tell the server first. From then on the client wants no answer, even if the server sends one.
      if (message.method === "notifications/cancelled")
        await this.#openRequests.find(message.params.requestId)?.cancel();
    }
  }

  /** In era 2026 closing a request cancels it, so no notification is sent. */
  async #cancel2026({ params }: LocalNotification | LocalResponse): Promise<boolean> {
    const call: OpenRequest | undefined = this.#openRequests.find(params.requestId);
    if (call?.request.revision === undefined) return false;
    await call.cancel();
    return true;
  }

  async #reject({ code, why, id }: InvalidMessage, respond = this.#writeLine): Promise<void> {
    this.#options.log(why);
    // Era 2026 has no responses without an id, so only the log reports this.
    await respond(id !== null || !this.#speaks2026 ? errorText(id, why, code) : undefined);
  }
}
