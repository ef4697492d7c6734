// An error whose message is shown to the client. Throw it from a tool, prompt or resource. It is not logged, because
// there is nothing for an operator to fix.

export class UserError extends Error {
  override readonly name: string = "UserError";
  /** Any JSON for programs; also shown to the client. */
  readonly data: unknown;
  /** Whether the error is also logged, for operators who may have to fix something. */
  readonly isLogged: boolean = false;

  constructor(message: string, { data, cause }: { readonly data?: unknown; readonly cause?: unknown } = {}) {
    if (typeof message !== "string") throw new TypeError("UserError: message must be a string");
    super(message, cause === undefined ? undefined : { cause });
    this.data = data;
  }
}
