// Owns ending work that takes several requests: its reader may end it, and so may the caller's signal.
// Refuses to leave a listener on a signal that outlives the work.

import { McpFault } from "./fault.ts";

export class CancelSignal {
  readonly #caller: AbortSignal | undefined;
  readonly #controller = new AbortController();

  constructor(caller: AbortSignal | undefined) {
    this.#caller = caller;
    caller?.addEventListener("abort", this.#onAbort);
    if (caller?.aborted === true) this.#onAbort();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Ends the work because its reader stops, or because it is done. */
  readonly end = (): void => {
    this.#caller?.removeEventListener("abort", this.#onAbort);
    this.#controller.abort();
  };

  /** The fault for work that this has interrupted. */
  fault(): McpFault {
    const reason: unknown = this.#controller.signal.reason;
    return reason instanceof McpFault ? reason : new McpFault({ kind: "cancelled", sent: "yes" });
  }

  readonly #onAbort = (): void => {
    this.#controller.abort(this.#caller?.reason);
    this.end();
  };
}
