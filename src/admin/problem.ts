// All errors of the admin API: a table of problems, one error class, and the one place that turns a thrown error into
// an answer. https://www.rfc-editor.org/rfc/rfc9457

import { requestIdOf } from "../telemetry/request-id.ts";
import type { ErrorContext } from "../telemetry/error-line.ts";
import { AppError } from "../protocol/app-error.ts";
import { omitUndefined } from "../protocol/members.ts";
import { isUnknownTenant, UNRELEASED } from "../tenants/object/tenant-uid.ts";
import type { BodyState } from "../streams/request-body.ts";
import { MEMORY_RETRY_AFTER_S } from "../tenants/cache/memory-budget.ts";
import { isUnreleased, isTransientError } from "../tenants/cache/retry-if-idempotent.ts";
import { MAX_FIELD_RULES, type FieldRule } from "../tenants/document/tenant-document.ts";

const PROBLEMS = {
  "bad-request": { status: 400, title: "The request is malformed" },
  unauthorized: { status: 401, title: "A valid token is needed" },
  forbidden: { status: 403, title: "Your role does not allow this" },
  "forbidden-origin": { status: 403, title: "Origin not allowed" },
  "plain-http": { status: 403, title: "Use https: http sends the token unencrypted" },
  "not-found": { status: 404, title: "Not found" },
  "method-not-allowed": { status: 405, title: "Method not allowed" },
  "too-slow": { status: 408, title: "The body arrived too slowly" },
  conflict: { status: 409, title: "Conflict with the current state" },
  "precondition-failed": { status: 412, title: "The stored version has changed" },
  "too-large": { status: 413, title: "The body is too large" },
  "unsupported-media-type": { status: 415, title: "Unsupported media type" },
  "invalid-input": { status: 422, title: "Invalid input" },
  limited: { status: 429, title: "Too many attempts" },
  internal: { status: 500, title: "Internal error" },
  busy: { status: 503, title: "Too busy, try again" },
} as const satisfies Record<string, { status: number; title: string }>;

export type ProblemKey = keyof typeof PROBLEMS;
export const PROBLEM_KEYS = Object.keys(PROBLEMS) as ProblemKey[];

export interface ProblemDetails {
  readonly detail?: string;
  readonly errors?: readonly FieldRule[];
  readonly headers?: Readonly<Record<string, string>>;
}

export class ProblemError extends Error {
  override readonly name = "ProblemError";
  readonly key: ProblemKey;
  readonly about: ProblemDetails;

  constructor(key: ProblemKey, about: ProblemDetails = {}) {
    super(about.detail ?? PROBLEMS[key].title);
    this.key = key;
    this.about = about;
  }
}

export function invalidFields(...errors: readonly (readonly [field: string, rule: string])[]): ProblemError {
  return new ProblemError("invalid-input", { errors: errors.map(([field, rule]) => ({ field, rule })) });
}

/** `suggestion`: an existing name that is close to the one in the request. */
export function notFound(what: string, suggestion?: string): ProblemError {
  return new ProblemError("not-found", {
    detail: `There is no ${what}${suggestion ? `: did you mean ${suggestion}?` : ""}`,
  });
}

export function missingFeature(needed: string): ProblemError {
  return new ProblemError("conflict", { detail: `${needed}, which this Worker does not have` });
}

export function unreadBodyProblem(state: Exclude<BodyState, "whole">, tooLarge: ProblemError): ProblemError {
  if (state === "more") return tooLarge;
  if (state === "tooSlow") return new ProblemError("too-slow");
  return new ProblemError("busy", {
    detail: "Too many uploads at once",
    headers: { "retry-after": String(MEMORY_RETRY_AFTER_S) },
  });
}

/** The body is rejected because its sender lost access, or access could not be checked. `cause` says which. */
export class BodyRejected extends Error {
  constructor(cause: unknown) {
    super("the body is not taken", { cause });
  }
}

/** The client disconnected in the middle, or announced a longer body. Neither is an error of the server. */
export function throwBodyError(error: unknown): never {
  if (error instanceof BodyRejected) throw error.cause;
  throw new ProblemError("bad-request", { detail: "The body is incomplete" });
}

export function problemStatus(key: ProblemKey): number {
  return PROBLEMS[key].status;
}

/** `onError` receives errors that are not problems. The caller learns only the request id. */
export function respondProblem(
  error: unknown,
  request: Request,
  onError: (error: unknown, place: ErrorContext) => void,
): Response {
  const { key, about } = problemOf(error);
  const requestId = requestIdOf(request);
  if (key === "internal") onError(error, { method: `${request.method} /admin`, requestId });
  const { status, title } = PROBLEMS[key];
  const { errors, headers } = about;
  const detail = [about.detail, truncationNote(errors)].filter(Boolean).join(". ") || undefined;
  const body = {
    type: `urn:tenantry:problem:${key}`,
    title,
    status,
    detail,
    errors: errors?.slice(0, MAX_FIELD_RULES),
    requestId,
  };
  return Response.json(body, { status, headers: { "content-type": "application/problem+json", ...headers } });
}

/**
 * Truncates long lists: a caller who fixes a hundred errors sends the request again, and an answer must not be much
 * larger than its request.
 */
function truncationNote(errors: readonly FieldRule[] = []): string | undefined {
  return errors.length > MAX_FIELD_RULES ? `These are the first ${MAX_FIELD_RULES} errors, there are more` : undefined;
}

/** The platform's wording of KV errors, also as a Durable Object passes it on. */
function isKvError(error: unknown): boolean {
  return error instanceof Error && /^KV [A-Z]+ failed: /.test(error.message);
}

function problemOf(error: unknown): Pick<ProblemError, "key" | "about"> {
  if (error instanceof ProblemError) return error;
  // Another tenant may have the name by now, so the tenant of this request is gone.
  if (isUnknownTenant(error)) return notFound("such tenant any more");
  const busy = isTransientError(error) || isKvError(error) || (error instanceof AppError && error.key === "busy");
  if (!busy) return { key: "internal", about: {} };
  const seconds = error instanceof AppError ? (error.retryAfter ?? 1) : 1;
  const message = error instanceof AppError ? error.toFailure().message : undefined;
  const detail = isUnreleased(error) ? UNRELEASED : message;
  return { key: "busy", about: { headers: { "retry-after": String(seconds) }, ...omitUndefined({ detail }) } };
}
