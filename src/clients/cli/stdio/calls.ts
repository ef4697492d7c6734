// Owns the requests of the local client that are not answered yet: each is answered once, or never after it was
// cancelled. Refuses more of them than this process can hold.

import { deferred } from "./deferred.ts";
import type { ResponseMessage } from "../../../mcp-client/message.ts";
import type { RequestId } from "../../../protocol/jsonrpc.ts";
import { oneLine } from "../terminal/printable.ts";
import { errorText, responseText, type LocalRequest } from "./local-message.ts";

const MAX_CALLS = 1000;
const MAX_CHARACTERS = 64 * 1024 * 1024;

type Over = (text?: string) => Promise<void>;

export class LocalCall {
  readonly id: RequestId;
  readonly sent: LocalRequest;
  readonly #calls: OpenCalls;
  readonly #abort = new AbortController();
  readonly signal: AbortSignal;
  /** Where its answer goes; told also of an end without one. */
  readonly over: Over;

  constructor(calls: OpenCalls, sent: LocalRequest, stop: AbortSignal, over: Over) {
    this.id = sent.id;
    this.sent = sent;
    this.over = over;
    this.#calls = calls;
    this.signal = AbortSignal.any([this.#abort.signal, stop]);
  }

  get isOpen(): boolean {
    return this.#calls.has(this);
  }

  async answer(response: ResponseMessage): Promise<void> {
    await this.#calls.end(this, responseText(this.id, response));
  }

  async fail(why: string): Promise<void> {
    await this.#calls.end(this, errorText(this.id, oneLine(why)));
  }

  /** A cancelled request gets no answer, not even an error. */
  async cancel(): Promise<void> {
    await this.#calls.end(this);
    this.#abort.abort();
  }

  /** Ends its HTTP exchange; whether it has been answered stays as it is. */
  close(): void {
    this.#abort.abort();
  }
}

export class OpenCalls {
  readonly #open = new Set<LocalCall>();
  readonly #stop: AbortSignal;
  #characters = 0;
  #idle = deferred();

  constructor(stop: AbortSignal) {
    this.#stop = stop;
  }

  /** Undefined where too many are open already. */
  begin(sent: LocalRequest, over: Over): LocalCall | undefined {
    if (this.#open.size >= MAX_CALLS || this.#characters + sent.text.length > MAX_CHARACTERS) return undefined;
    const call = new LocalCall(this, sent, this.#stop, over);
    this.#open.add(call);
    this.#characters += sent.text.length;
    return call;
  }

  find(id: unknown): LocalCall | undefined {
    return [...this.#open].find((call) => call.id === id);
  }

  has(call: LocalCall): boolean {
    return this.#open.has(call);
  }

  async end(call: LocalCall, text?: string): Promise<void> {
    if (!this.#open.delete(call)) return;
    this.#characters -= call.sent.text.length;
    await call.over(text);
    this.#idle.resolve();
    this.#idle = deferred();
  }

  /** Settles when all are answered except subscriptions, which stay open for as long as the client lives. */
  async drained(): Promise<void> {
    while ([...this.#open].some(({ sent }) => sent.method !== "subscriptions/listen")) await this.#idle.promise;
  }
}
