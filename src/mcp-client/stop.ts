// Owns ending work that takes several requests: its reader may end it, and so may the caller's signal.
// Refuses to leave a listener on a signal that outlives the work.

import { McpFault } from "./fault.ts";

export class Stop {
  readonly #caller: AbortSignal | undefined;
  readonly #own = new AbortController();

  constructor(caller: AbortSignal | undefined) {
    this.#caller = caller;
    caller?.addEventListener("abort", this.#follow);
    if (caller?.aborted === true) this.#follow();
  }

  get signal(): AbortSignal {
    return this.#own.signal;
  }

  /** Ends the work because its reader stops, or because it is done. */
  readonly end = (): void => {
    this.#caller?.removeEventListener("abort", this.#follow);
    this.#own.abort();
  };

  /** The fault for work that this has interrupted. */
  fault(): McpFault {
    const reason: unknown = this.#own.signal.reason;
    return reason instanceof McpFault ? reason : new McpFault({ kind: "cancelled", sent: "yes" });
  }

  readonly #follow = (): void => {
    this.#own.abort(this.#caller?.reason);
    this.end();
  };
}
