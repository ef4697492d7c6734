// Owns the one error that I/O code throws. It carries a key of the error table, which gives its code and status.

import { failure, type ErrorKey, type Failure, type MetLimit } from "./errors.ts";
import { given } from "./members.ts";

export class AppError extends Error {
  override readonly name = "AppError";
  readonly key: ErrorKey;
  readonly retryAfter: number | undefined;
  readonly met: MetLimit | undefined;
  /** `message` is shown in place of the table's text; `retryAfter` is in seconds; `cause` is for logs only. */
  constructor(
    key: ErrorKey,
    about: {
      readonly message?: string;
      readonly retryAfter?: number;
      readonly met?: MetLimit;
      readonly cause?: unknown;
    } = {},
  ) {
    super(about.message ?? key, { cause: about.cause });
    this.key = key;
    this.retryAfter = about.retryAfter;
    this.met = about.met;
  }

  toFailure(): Failure {
    const shown = this.message === this.key ? undefined : this.message;
    const { retryAfter, met } = this;
    const data = met && { limit: met.name, most: met.most, ...given({ retryAfter }) };
    return { ...failure(this.key, shown, data), ...given({ retryAfter, met }) };
  }
}
