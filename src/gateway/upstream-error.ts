// Owns what a client is told when an upstream refused, or could not answer: the upstream's own words where the client's
// era allows its code, and always which upstream it was. Pure.

import { describeFault, type Fault } from "../mcp-client/fault.ts";
import { rpcErrorOf, type RpcError } from "../mcp-client/message.ts";
import type { Era } from "../protocol/revisions.ts";
import { errorCode, ERRORS, failure, type Failure } from "../protocol/errors.ts";
import { isObject } from "../protocol/jsonrpc.ts";
import type { OutboundErrorCode } from "../outbound/outbound-error.ts";
import { MEMORY_RETRY_AFTER_S } from "../tenants/cache/memory-budget.ts";

export interface UpstreamErrorContext {
  /** The upstream's id. */
  readonly server: string;
  readonly timeoutMs: number;
  /** Which the client speaks. */
  readonly era: Era;
  readonly upstreamEra: Era;
  /** The upstream was told the client's own capabilities, so what it says that it lacks is what the client lacks. */
  readonly ownCapabilities: boolean;
  readonly method: string;
  /** In how many seconds the upstream may be asked again. */
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
  if (isLocalLimit(fault)) return busyFailure(server);
  if (isDisconnected(fault)) return failure("unreachableServer", undefined, data);
  return failure("faultyServer", `${server}: ${describeFault(fault)}`, data);
}

const LOCAL_LIMITS: ReadonlySet<string> = new Set<OutboundErrorCode>(["connections", "over"]);

/** It was not even asked, because too much is under way here. */
export function isLocalLimit(fault: Fault): boolean {
  return fault.kind === "unreachable" && LOCAL_LIMITS.has(fault.code);
}

/** Too many requests to upstreams are under way in this isolate: docs/limits.md. */
export function busyFailure(server?: string): Failure {
  const message = "Temporarily unavailable: too many requests to upstreams are under way, try again";
  const data = { ...(server !== undefined && { server }), retryAfter: MEMORY_RETRY_AFTER_S };
  return { ...failure("busy", message, data), retryAfter: MEMORY_RETRY_AFTER_S };
}

/** There was no connection, or it broke: a Worker is not told which. */
export function isDisconnected({ kind }: Fault): boolean {
  return kind === "unreachable" || kind === "lost";
}

const RESOURCE_NOT_FOUND_2025 = errorCode("resourceNotFound", "2025");
/** A server looks at them when it has found the session, and answers some of them with 404. */
const CALL_ERROR_CODES: ReadonlySet<number> = new Set([errorCode("invalidParams", "2025"), RESOURCE_NOT_FOUND_2025]);

/** A 404 for a session id says that the call has not run, unless the error in it is about the call. */
export function isSessionUnknown(fault: Fault): boolean {
  if (fault.kind !== "sessionGone") return false;
  const code = fault.error && rpcErrorOf(fault.error)?.code;
  return code === undefined || !CALL_ERROR_CODES.has(code);
}

const MISSING_CAPABILITY = errorCode("missingCapability", "2026");
/** Errors about how the gateway itself spoke to the upstream: a client could do nothing about them. */
const GATEWAY_ERROR_CODES: ReadonlySet<number> = new Set([
  errorCode("headerMismatch", "2026"),
  errorCode("unsupportedVersion", "2026"),
]);

/** An error of the upstream; `data` keeps what the upstream put there. */
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

/** One error with two codes; era 2026 shares its with bad params and names the URI. */
function isNotFound({ code, data }: RpcError, { upstreamEra, method }: UpstreamErrorContext): boolean {
  if (method !== "resources/read") return false;
  if (code === RESOURCE_NOT_FOUND_2025) return true;
  return upstreamEra === "2026" && code === errorCode("resourceNotFound", "2026") && isObject(data) && "uri" in data;
}

/**
 * Era 2026 reserves -32000 to -32099, of which servers emit those that it defines; what they mean is looked at before this.
 * https://modelcontextprotocol.io/specification/2026-07-28/basic#error-codes
 */
function canPassThrough(code: number, { era }: UpstreamErrorContext): boolean {
  if (!Number.isInteger(code) || GATEWAY_ERROR_CODES.has(code) || code === MISSING_CAPABILITY) return false;
  return era === "2025" || code > -32000 || code < -32099;
}

/** Codes with which a server, by HTTP status 400, refuses a client of another era than its own. */
const OTHER_ERA_CODES: ReadonlySet<number> = new Set([
  ...GATEWAY_ERROR_CODES,
  -32000,
  errorCode("invalidRequest", "2025"),
]);

/** Whether it says, in the words of many servers that keep sessions, that it has none of this id; 404 says it for certain. */
export function isSessionRefused(fault: Fault): boolean {
  if (fault.kind === "status") return fault.http.status === 400;
  return fault.kind === "refused" && isOtherServerOrEra(fault);
}

/** Whether an upstream that answers so has lost the session, or speaks in another way than it did. */
export function isOtherServerOrEra(fault: Fault): boolean {
  if (fault.kind !== "refused")
    return fault.kind === "notMcp" || fault.kind === "status" || fault.kind === "unanswered";
  return fault.http.status === 400 && OTHER_ERA_CODES.has(rpcErrorOf(fault.error)?.code ?? 0);
}
