// Owns telling sources what one stream listens for: when it begins, when it wants something else, when it is over, and
// when the sources themselves are others. Refuses to know what they do about it.

import type { CallHost } from "../../calls/call-host.ts";
import type { Interest, Source } from "../../protocol/source.ts";

export class Interests {
  #sources: readonly Source<CallHost>[] = [];
  #host: CallHost | undefined;
  #wanted: Interest | undefined;
  #ends: (() => void)[] = [];
  #isOver = false;

  /** The sources from now on. `host`: whoever listens, as they were let in last. */
  at(sources: readonly Source<CallHost>[], host: CallHost): void {
    if (this.#isOver || sources === this.#sources) return;
    this.#sources = sources;
    this.#host = host;
    this.#tell();
  }

  want(wanted: Interest): void {
    if (this.#isOver) return;
    this.#wanted = wanted;
    this.#tell();
  }

  /** For good: a stream that learns late what it wanted must not begin again after it was left. */
  end(): void {
    this.#isOver = true;
    this.#wanted = undefined;
    this.#tell();
  }

  /** Begins the new interests before it ends the old ones, so that a source with both goes on without a break. */
  #tell(): void {
    const before = this.#ends;
    const [wanted, host] = [this.#wanted, this.#host];
    this.#ends = wanted && host ? this.#sources.flatMap((source) => source.interest?.(wanted, host) ?? []) : [];
    for (const end of before) end();
  }
}
