// Owns a signal that no platform made: for code of ours that tells code of ours that something has ended. A platform's
// own, and each of its listeners, is some steps out of JavaScript, and a call has several.

import type { AbortSignalLike } from "./call.ts";

/** What ends work before it is done; `AbortSignal` is one. */
export interface StopSignal extends AbortSignalLike {
  readonly reason: unknown;
  removeEventListener(type: "abort", listener: () => void): void;
}

export class PlainSignal implements StopSignal {
  readonly #listeners = new Set<() => void>();
  #aborted = false;
  #reason: unknown;

  get aborted(): boolean {
    return this.#aborted;
  }

  get reason(): unknown {
    return this.#reason;
  }

  addEventListener(_type: "abort", listener: () => void): void {
    this.#listeners.add(listener);
  }

  removeEventListener(_type: "abort", listener: () => void): void {
    this.#listeners.delete(listener);
  }

  /** Once: what comes later changes nothing. */
  abort(reason?: unknown): void {
    if (this.#aborted) return;
    this.#aborted = true;
    this.#reason = reason;
    for (const listener of this.#listeners) listener();
    this.#listeners.clear();
  }
}
