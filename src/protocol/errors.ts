// The one table of errors: key, JSON-RPC code and HTTP status in each era, and default text. An error outside this
// table cannot be sent.

import type { Era } from "./revisions.ts";

interface ErrorRow {
  readonly code: number | Readonly<Record<Era, number>>;
  readonly status: number | Readonly<Record<Era, number>>;
  readonly message: string;
}

/**
 * Codes: https://modelcontextprotocol.io/specification/2026-07-28/basic#error-codes
 * Errors of a method itself have HTTP status 200 in both eras, except `missingCapability`. Rejections before a method
 * runs have a status of their own.
 */
export const ERRORS = {
  parseError: { code: -32700, status: 400, message: "Parse error" },
  invalidRequest: { code: -32600, status: 400, message: "Invalid Request" },
  methodNotFound: { code: -32601, status: { "2025": 200, "2026": 404 }, message: "Method not found" },
  invalidParams: { code: -32602, status: 200, message: "Invalid params" },
  invalidMetadata: { code: -32602, status: 400, message: "Invalid params" },
  internal: { code: -32603, status: 200, message: "Internal error" },
  headerMismatch: { code: -32020, status: 400, message: "Header mismatch" },
  missingCapability: { code: { "2025": -32600, "2026": -32021 }, status: 400, message: "Missing client capability" },
  unsupportedVersion: {
    code: { "2025": -32600, "2026": -32022 },
    status: 400,
    message: "Unsupported protocol version",
  },
  resourceNotFound: { code: { "2025": -32002, "2026": -32602 }, status: 200, message: "Resource not found" },
  timeout: { code: { "2025": -32001, "2026": -32603 }, status: 200, message: "Request timed out" },
  refused: { code: -32600, status: 200, message: "Refused" },
  /**
   * An author's `UserError`: explains to the caller what was wrong with the request, so that the caller can change it.
   */
  told: { code: -32602, status: 200, message: "Refused" },
  cancelled: { code: -32603, status: 200, message: "Request cancelled" },
  busy: { code: -32603, status: 200, message: "Temporarily unavailable, try again" },
  sessionRequired: { code: -32600, status: 400, message: "This needs a session: send initialize first" },
  sessionNotFound: { code: -32600, status: 404, message: "Session not found" },
  suspended: { code: { "2025": -32003, "2026": -32600 }, status: 403, message: "Suspended" },
  unauthorized: { code: { "2025": -32003, "2026": -32600 }, status: 401, message: "Authorization required" },
  forbidden: { code: { "2025": -32003, "2026": -32600 }, status: 403, message: "Permission denied" },
  unknownTenant: { code: -32600, status: 404, message: "Not found: MCP endpoints are at /mcp/{tenant}" },
  forbiddenOrigin: {
    code: -32600,
    status: 403,
    message: "Origin not allowed: neither ALLOWED_ORIGINS nor the tenant lists it",
  },
  forbiddenHost: { code: -32600, status: 403, message: "Host not allowed: HOSTS does not list it" },
  methodNotAllowed: { code: -32600, status: 405, message: "Method not allowed" },
  notAcceptable: { code: -32600, status: 406, message: "Accept must allow application/json or text/event-stream" },
  tooLarge: { code: -32600, status: 413, message: "Request body too large" },
  tooSlow: { code: -32600, status: 408, message: "Request body came too slowly" },
  unsupportedMediaType: { code: -32600, status: 415, message: "Content-Type must be application/json" },
  limited: { code: { "2025": -32005, "2026": -32603 }, status: 429, message: "Too many requests" },
  unavailable: { code: -32603, status: 503, message: "Service unavailable" },
  unreachableServer: { code: { "2025": -32000, "2026": -32603 }, status: 200, message: "Failed to connect to server" },
  faultyServer: { code: { "2025": -32000, "2026": -32603 }, status: 200, message: "The server failed" },
  /** Another server's error, in its own words; its code is in the failure. */
  foreign: { code: -32603, status: 200, message: "The server refused" },
} as const satisfies Record<string, ErrorRow>;

export type ErrorKey = keyof typeof ERRORS;

/** `data` of every `suspended` error, whose JSON-RPC code other errors share. */
export const SUSPENDED_DATA = { code: "suspended" } as const;

/** Returned by pure code instead of throwing. `retryAfter` is in seconds. */
export interface Failure {
  readonly kind: "failure";
  readonly error: ErrorKey;
  readonly message?: string;
  readonly data?: unknown;
  readonly retryAfter?: number;
  /** Replaces the table's code with another server's, if the client's era allows it. */
  readonly code?: number;
  /**
   * The credential that is required, for the response's headers.
   * https://datatracker.ietf.org/doc/html/rfc6750#section-3
   */
  readonly challenge?: string;
  /** The exceeded limit, for the response's headers. */
  readonly exceeded?: ExceededLimit;
}

/** An exceeded limit. `seconds`: the window of the limit; absent for a limit on concurrent use. */
export interface ExceededLimit {
  readonly name: string;
  readonly most: number;
  readonly seconds?: number;
}

export function failure(error: ErrorKey, message?: string, data?: unknown): Failure {
  return { kind: "failure", error, ...(message !== undefined && { message }), ...(data !== undefined && { data }) };
}

const pickByEra = (value: number | Readonly<Record<Era, number>>, era: Era): number =>
  typeof value === "number" ? value : value[era];

export function errorCode(key: ErrorKey, era: Era): number {
  return pickByEra(ERRORS[key].code, era);
}

export function errorStatus(key: ErrorKey, era: Era): number {
  return pickByEra(ERRORS[key].status, era);
}
