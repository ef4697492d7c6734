// Owns telling sources what one stream listens for: when it begins, when it wants something else, when it is over, and when
// the sources themselves are others.

import type { CallHost } from "../../calls/call-host.ts";
import type { Interest, Source } from "../../protocol/source.ts";

export class Interests {
  #sources: readonly Source<CallHost>[] = [];
  #host: CallHost | undefined;
  #wanted: Interest | undefined;
  #ends: (() => void)[] = [];

  /** `host`: of whoever listens, as they were let in last. */
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

  /** What begins is told before what it takes the place of ends: a source that both concern goes on without a break. */
  #tell(): void {
    const before = this.#ends;
    const [wanted, host] = [this.#wanted, this.#host];
    this.#ends = wanted && host ? this.#sources.flatMap((source) => source.interest?.(wanted, host) ?? []) : [];
    for (const end of before) end();
  }
}
