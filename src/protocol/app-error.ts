// Owns the one error that I/O code throws. It carries a key of the error table, which gives its code and status.

import { failure, type ErrorKey, type Failure, type ExceededLimit } from "./errors.ts";
import { omitUndefined } from "./members.ts";

export class AppError extends Error {
  override readonly name = "AppError";
  readonly key: ErrorKey;
  readonly retryAfter: number | undefined;
  readonly met: ExceededLimit | undefined;
  /** `message` is shown in place of the table's text; `retryAfter` is in seconds; `cause` is for logs only. */
  constructor(
    key: ErrorKey,
    init: {
      readonly message?: string;
      readonly retryAfter?: number;
      readonly met?: ExceededLimit;
      readonly cause?: unknown;
    } = {},
  ) {
    super(init.message ?? key, { cause: init.cause });
    this.key = key;
    this.retryAfter = init.retryAfter;
    this.met = init.met;
  }

  toFailure(): Failure {
    const text = this.message === this.key ? undefined : this.message;
    const { retryAfter, met: exceeded } = this;
    const data = exceeded && { limit: exceeded.name, most: exceeded.most, ...omitUndefined({ retryAfter }) };
    return { ...failure(this.key, text, data), ...omitUndefined({ retryAfter, exceeded }) };
  }
}
