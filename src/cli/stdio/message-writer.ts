// Writes messages to stdout: one for each line, in order, no faster than the client reads. Characters that are unsafe
// on a terminal become JSON escapes, which leaves the message the same.

import { deferred } from "./deferred.ts";
import type { Output } from "../terminal/output.ts";
import { escapedJson } from "../terminal/printable.ts";

export class MessageWriter {
  readonly #output: Pick<Output, "write" | "drained">;
  readonly #signal: AbortSignal;
  #tail: Promise<void> = Promise.resolve();

  constructor(output: Pick<Output, "write" | "drained">, signal: AbortSignal) {
    this.#output = output;
    this.#signal = signal;
  }

  /** Writes the text of one JSON value as a line. Settles when the client has room for the next one. */
  async write(text: string): Promise<void> {
    // In JSON a line break can only stand between tokens, so a space means the same.
    const line = `${escapedJson(text.replaceAll(/[\r\n]+/g, " "))}\n`;
    this.#tail = this.#tail.then(() => this.#writeLine(line));
    return this.#tail;
  }

  async #writeLine(line: string): Promise<void> {
    if (this.#signal.aborted || this.#output.write(line)) return;
    const { promise, resolve } = deferred();
    const abort = () => resolve();
    this.#output.drained(abort);
    this.#signal.addEventListener("abort", abort, { once: true });
    await promise;
    this.#signal.removeEventListener("abort", abort);
  }
}
