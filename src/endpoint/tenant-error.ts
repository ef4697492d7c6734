import { ERRORS, type ErrorKey, type Failure } from "../protocol/errors.ts";

/** An error code, such as `unknownTenant`, `suspended`, `limited` or `unavailable`. See `node_modules/tenantry/docs/errors.md`. */
export type TenantErrorCode = ErrorKey;

interface TenantErrorInit extends Pick<Failure, "error" | "message" | "data"> {
  readonly retryAfter?: number | undefined;
}

/** Thrown by everything that `tenant(env, id)` offers, in the cases where a request would get an error response. */
export class TenantError extends Error {
  override readonly name = "TenantError";
  readonly code: TenantErrorCode;
  /** `data` of the error that a request would get; undefined if there is none. */
  readonly data: unknown;
  /** Seconds after which a retry may succeed; undefined if a retry is no use. */
  readonly retryAfter: number | undefined;

  constructor({ error, message = ERRORS[error].message, data, retryAfter }: TenantErrorInit) {
    super(message);
    this.code = error;
    this.data = data;
    this.retryAfter = retryAfter;
  }
}
