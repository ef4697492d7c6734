// Owns telling sources what one stream listens for: when it begins, when it wants something else, when it is over, and
// when the sources themselves are others. Refuses to know what they do about it.

import type { CallHost } from "../../calls/call-host.ts";
import type { Interest, Source } from "../../protocol/source.ts";

export class Interests {
  #sources: readonly Source<CallHost>[] = [];
  #host: CallHost | undefined;
  #wanted: Interest | undefined;
  #ends: (() => void)[] = [];

  /** The sources from now on. `host`: whoever listens, as they were let in last. */
  at(sources: readonly Source<CallHost>[], host: CallHost): void {
    if (sources === this.#sources) return;
    this.#sources = sources;
    this.#host = host;
    this.#tell();
  }

  want(wanted: Interest): void {
    this.#wanted = wanted;
    this.#tell();
  }

  end(): void {
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
