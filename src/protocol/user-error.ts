// Owns the one error whose words are for whoever calls: a tool, prompt or resource throws it, and its message is shown.
// Refuses to be a fault: nobody has to mend anything, so it is not logged.

export class UserError extends Error {
  override readonly name: string = "UserError";
  /** Any JSON, for programs: shown as well. */
  readonly data: unknown;
  /** Whether operators are told too: of what they may have to mend. */
  readonly isLogged: boolean = false;

  constructor(message: string, { data, cause }: { readonly data?: unknown; readonly cause?: unknown } = {}) {
    if (typeof message !== "string") throw new TypeError("UserError: message is a string");
    super(message, cause === undefined ? undefined : { cause });
    this.data = data;
  }
}
