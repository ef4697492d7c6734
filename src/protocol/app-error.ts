// The one error that I/O code throws. Its key in the error table determines code and status.

import { failure, type ErrorKey, type Failure, type ExceededLimit } from "./errors.ts";
import { omitUndefined } from "./members.ts";

export class AppError extends Error {
  override readonly name = "AppError";
  readonly key: ErrorKey;
  readonly retryAfter: number | undefined;
  readonly exceeded: ExceededLimit | undefined;
  /** `message` replaces the table's text for clients; `retryAfter` is in seconds; `cause` is for logs only. */
  constructor(
    key: ErrorKey,
    init: {
      readonly message?: string;
      readonly retryAfter?: number;
      readonly exceeded?: ExceededLimit;
      readonly cause?: unknown;
    } = {},
  ) {
    super(init.message ?? key, { cause: init.cause });
    this.key = key;
    this.retryAfter = init.retryAfter;
    this.exceeded = init.exceeded;
  }

  toFailure(): Failure {
    const text = this.message === this.key ? undefined : this.message;
    const { retryAfter, exceeded } = this;
    const data = exceeded && { limit: exceeded.name, most: exceeded.most, ...omitUndefined({ retryAfter }) };
    return { ...failure(this.key, text, data), ...omitUndefined({ retryAfter, exceeded }) };
  }
}
