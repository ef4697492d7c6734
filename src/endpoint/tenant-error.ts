// Owns why code outside of a call was refused something of a tenant: by the same table as callers are. Refuses to know what.

import { ERRORS, type ErrorKey, type Failure } from "../protocol/errors.ts";

/** A key of the table of errors, such as `unknownTenant`, `suspended`, `limited` or `unavailable`. */
export type TenantErrorCode = ErrorKey;

interface TenantErrorInit extends Pick<Failure, "error" | "message" | "data"> {
  readonly retryAfter?: number | undefined;
}

/** What everything rejects with that `tenant(env, id)` offers, where a request would be answered with an error. */
export class TenantError extends Error {
  override readonly name = "TenantError";
  readonly code: TenantErrorCode;
  readonly data: unknown;
  /** Seconds after which it may go better. */
  readonly retryAfter: number | undefined;

  constructor({ error, message = ERRORS[error].message, data, retryAfter }: TenantErrorInit) {
    super(message);
    this.code = error;
    this.data = data;
    this.retryAfter = retryAfter;
  }
}
