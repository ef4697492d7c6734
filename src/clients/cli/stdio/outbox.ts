// Owns stdout: one message a line, whole and in order, no faster than the client reads.

import { deferred } from "./deferred.ts";
import type { Output } from "../terminal/terminal.ts";

export class Outbox {
  readonly #output: Output;
  readonly #signal: AbortSignal;
  #tail: Promise<void> = Promise.resolve();

  constructor(output: Output, signal: AbortSignal) {
    this.#output = output;
    this.#signal = signal;
  }

  /** The text of one JSON value. Settles when there is room for the next. */
  async write(text: string): Promise<void> {
    // JSON has no line breaks but between its tokens.
    const line = `${text.replaceAll(/[\r\n]+/g, " ")}\n`;
    this.#tail = this.#tail.then(() => this.#put(line));
    return this.#tail;
  }

  async #put(line: string): Promise<void> {
    if (this.#signal.aborted || this.#output.write(line) !== false || !this.#output.once) return;
    const { promise, resolve } = deferred();
    const abort = () => resolve();
    this.#output.once("drain", abort);
    this.#signal.addEventListener("abort", abort, { once: true });
    await promise;
    this.#signal.removeEventListener("abort", abort);
  }
}
