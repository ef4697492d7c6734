// Owns the requests of the local client that are not answered yet: each is answered once, or never after it was cancelled.
// Refuses more of them than this process can hold.

import { deferred } from "./deferred.ts";
import { oneLine } from "../terminal/terminal.ts";
import type { Received } from "../mcp-http.ts";
import { errorText, responseText, type RequestId, type Sent } from "./wire.ts";

const MAX_CALLS = 1000;
const MAX_CHARACTERS = 64 * 1024 * 1024;

export interface CallsOptions {
  readonly write: (text: string) => Promise<void>;
  readonly signal: AbortSignal;
}

export class Call {
  readonly id: RequestId;
  readonly sent: Sent;
  readonly #calls: Calls;
  readonly #abort = new AbortController();
  readonly signal: AbortSignal;

  constructor(calls: Calls, sent: Sent, stop: AbortSignal) {
    this.id = sent.message.id as RequestId;
    this.sent = sent;
    this.#calls = calls;
    this.signal = AbortSignal.any([this.#abort.signal, stop]);
  }

  get isOpen(): boolean {
    return this.#calls.has(this);
  }

  async answer(received: Received): Promise<void> {
    await this.#calls.end(this, responseText(this.id, received));
  }

  async fail(why: string): Promise<void> {
    await this.#calls.end(this, errorText(this.id, oneLine(why)));
  }

  /** Without another word to the client. */
  async cancel(): Promise<void> {
    await this.#calls.end(this);
    this.#abort.abort();
  }

  /** Its HTTP exchange has no more to say. */
  close(): void {
    this.#abort.abort();
  }
}

export class Calls {
  readonly #open = new Set<Call>();
  readonly #options: CallsOptions;
  #characters = 0;
  #idle = deferred();

  constructor(options: CallsOptions) {
    this.#options = options;
  }

  /** Undefined: there are too many already. */
  begin(sent: Sent): Call | undefined {
    if (this.#open.size >= MAX_CALLS || this.#characters + sent.text.length > MAX_CHARACTERS) return undefined;
    const call = new Call(this, sent, this.#options.signal);
    this.#open.add(call);
    this.#characters += sent.text.length;
    return call;
  }

  find(id: unknown): Call | undefined {
    return [...this.#open].find((call) => call.id === id);
  }

  has(call: Call): boolean {
    return this.#open.has(call);
  }

  async end(call: Call, text?: string): Promise<void> {
    if (!this.#open.delete(call)) return;
    this.#characters -= call.sent.text.length;
    if (text !== undefined) await this.#options.write(text);
    this.#idle.resolve();
    this.#idle = deferred();
  }

  /** Until all are answered but those that wait for the future. */
  async drained(): Promise<void> {
    while ([...this.#open].some(({ sent }) => sent.method !== "subscriptions/listen")) await this.#idle.promise;
  }
}
