// A signal for work that takes several requests. Its reader or the caller's signal can abort it. Leaves no listener on
// a signal that outlives the work.

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

  /** Ends the work because its reader stopped, or because it is done. */
  readonly end = (): void => {
    this.#caller?.removeEventListener("abort", this.#onAbort);
    this.#controller.abort();
  };

  /** The fault of work that this signal interrupted. */
  fault(): McpFault {
    const reason: unknown = this.#controller.signal.reason;
    return reason instanceof McpFault ? reason : new McpFault({ kind: "cancelled", sent: "yes" });
  }

  readonly #onAbort = (): void => {
    this.#controller.abort(this.#caller?.reason);
    this.end();
  };
}
