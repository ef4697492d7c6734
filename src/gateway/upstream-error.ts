// Maps an upstream's errors to what the client is told. The upstream's code passes if the client's era allows it, and
// the error always names the upstream.

import { describeFault, type Fault } from "../mcp-client/fault.ts";
import { rpcErrorOf, type RpcError } from "../mcp-client/message.ts";
import type { Era } from "../protocol/revisions.ts";
import { errorCode, ERRORS, failure, type Failure } from "../protocol/errors.ts";
import { isObject } from "../protocol/jsonrpc.ts";
import type { OutboundErrorCode } from "../outbound/outbound-error.ts";

export interface UpstreamErrorContext {
  readonly server: string;
  readonly timeoutMs: number;
  readonly era: Era;
  readonly upstreamEra: Era;
  /** The client's own capabilities were declared to the upstream, so a missing capability is the client's. */
  readonly ownCapabilities: boolean;
  readonly method: string;
  readonly retryAfter?: number | undefined;
}

export function faultToFailure(fault: Fault, context: UpstreamErrorContext): Failure {
  const { server, timeoutMs, retryAfter } = context;
  const { kind } = fault;
  if (kind === "refused")
    return rpcErrorToFailure(rpcErrorOf(fault.error) ?? { code: ERRORS.internal.code, message: "" }, context);
  if (kind === "timeout") return failure("timeout", undefined, { server, fault: kind, timeoutMs });
  if (kind === "cancelled") return failure("cancelled");
  const data = { server, fault: kind, ...(retryAfter === undefined ? {} : { retryAfter }) };
  if (isLocalLimit(fault)) return upstreamsBusyFailure(server);
  if (isDisconnected(fault)) return failure("unreachableServer", undefined, data);
  return failure("faultyServer", `${server}: ${describeFault(fault)}`, data);
}

const LOCAL_LIMITS: ReadonlySet<string> = new Set<OutboundErrorCode>(["connections", "over"]);

/** A limit of this isolate stopped the request before it was sent. */
export function isLocalLimit(fault: Fault): boolean {
  return fault.kind === "unreachable" && LOCAL_LIMITS.has(fault.code);
}

/** In seconds. By then most calls are over. */
const UPSTREAM_RETRY_AFTER_S = 2;

/** Too many upstream requests are open in this isolate: docs/limits.md. */
export function upstreamsBusyFailure(server?: string): Failure {
  const message = "Temporarily unavailable: too many requests to upstreams are under way, try again";
  const data = { ...(server !== undefined && { server }), retryAfter: UPSTREAM_RETRY_AFTER_S };
  return { ...failure("busy", message, data), retryAfter: UPSTREAM_RETRY_AFTER_S };
}

/** The connection failed or broke. A Worker cannot tell which. */
export function isDisconnected({ kind }: Fault): boolean {
  return kind === "unreachable" || kind === "lost";
}

const RESOURCE_NOT_FOUND_2025 = errorCode("resourceNotFound", "2025");
/** A server checks these after it found the session, and answers some of them with 404. */
const CALL_ERROR_CODES: ReadonlySet<number> = new Set([errorCode("invalidParams", "2025"), RESOURCE_NOT_FOUND_2025]);

/** A 404 for a session id means that the call has not run, unless its error is about the call. */
export function isSessionUnknown(fault: Fault): boolean {
  if (fault.kind !== "sessionGone") return false;
  const code = fault.error && rpcErrorOf(fault.error)?.code;
  return code === undefined || !CALL_ERROR_CODES.has(code);
}

const MISSING_CAPABILITY = errorCode("missingCapability", "2026");
/** Errors about how the gateway itself talked to the upstream. A client could do nothing about them. */
const GATEWAY_ERROR_CODES: ReadonlySet<number> = new Set([
  errorCode("headerMismatch", "2026"),
  errorCode("unsupportedVersion", "2026"),
]);

/** The upstream's JSON-RPC error. `data` keeps the members that the upstream put there. */
function rpcErrorToFailure(error: RpcError, context: UpstreamErrorContext): Failure {
  const { server, retryAfter } = context;
  const ownData = isObject(error.data) ? error.data : {};
  const data = { ...(retryAfter === undefined ? {} : { retryAfter }), ...ownData, server, originalError: error };
  const message = error.message === "" ? undefined : error.message;
  const { code } = error;
  if (isNotFound(error, context)) return failure("resourceNotFound", message, data);
  if (code === MISSING_CAPABILITY && context.ownCapabilities && context.era === "2026") {
    return failure("missingCapability", message, data);
  }
  const upstreamFailure = failure("foreign", message, data);
  return canPassThrough(code, context) ? { ...upstreamFailure, code } : upstreamFailure;
}

/**
 * "Resource not found" has two codes. In era 2026 its code is also that of invalid params, so the error must name the
 * URI.
 */
function isNotFound({ code, data }: RpcError, { upstreamEra, method }: UpstreamErrorContext): boolean {
  if (method !== "resources/read") return false;
  if (code === RESOURCE_NOT_FOUND_2025) return true;
  return upstreamEra === "2026" && code === errorCode("resourceNotFound", "2026") && isObject(data) && "uri" in data;
}

/**
 * Era 2026 reserves -32000 to -32099, and servers emit only those that it defines. Their meaning is handled before this
 * check. https://modelcontextprotocol.io/specification/2026-07-28/basic#error-codes
 */
function canPassThrough(code: number, { era }: UpstreamErrorContext): boolean {
  if (!Number.isInteger(code) || GATEWAY_ERROR_CODES.has(code) || code === MISSING_CAPABILITY) return false;
  return era === "2025" || code > -32000 || code < -32099;
}

/** Codes with which a server refuses a client of another era, with HTTP status 400. */
const OTHER_ERA_CODES: ReadonlySet<number> = new Set([
  ...GATEWAY_ERROR_CODES,
  -32000,
  errorCode("invalidRequest", "2025"),
]);

/** Whether the answer looks like an unknown session, as many stateful servers report it. A 404 says so for certain. */
export function isSessionRefused(fault: Fault): boolean {
  if (fault.kind === "status") return fault.http.status === 400;
  return fault.kind === "refused" && isOtherServerOrEra(fault);
}

/** Whether the upstream has lost the session, or speaks another transport than before. */
export function isOtherServerOrEra(fault: Fault): boolean {
  if (fault.kind !== "refused")
    return fault.kind === "notMcp" || fault.kind === "status" || fault.kind === "unanswered";
  return fault.http.status === 400 && OTHER_ERA_CODES.has(rpcErrorOf(fault.error)?.code ?? 0);
}
