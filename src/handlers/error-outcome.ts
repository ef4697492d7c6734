// Turns an error thrown in an author's code into the client's outcome, and decides whether operators are told. Only a
// UserError is shown to the client; any other error is shown as an id, under which the logs have it.

import { AppError } from "../protocol/app-error.ts";
import type { McpRequest } from "../protocol/mcp-request.ts";
import { failure } from "../protocol/errors.ts";
import type { JsonObject } from "../protocol/jsonrpc.ts";
import { omitUndefined } from "../protocol/members.ts";
import { requiredCapabilities } from "../protocol/meta.ts";
import { invalid } from "../protocol/methods/params.ts";
import { invalidArguments, toolError } from "../protocol/methods/tools.ts";
import type { CallOutcome } from "../protocol/call-outcome.ts";
import { UserError } from "../protocol/user-error.ts";
import type { CallEvent, HandlerCall } from "./request-scope.ts";
import { MissingCapabilityError } from "./elicitor.ts";
import { InvalidCursorError } from "./resource-store.ts";

type FailedCall = HandlerCall<Pick<McpRequest, "method" | "revision">>;

/** `requestId` is a getter, because most calls need no id. */
export function eventOf({ name, call, requestScope }: HandlerCall<Pick<McpRequest, "method">>): CallEvent {
  const { tenant, profile, principal } = requestScope;
  return {
    tenant,
    profile,
    principal,
    method: call.method as CallEvent["method"],
    name,
    get requestId() {
      return requestScope.requestId;
    },
  };
}

/** The outcome for the client. Operators get the errors that the client must not see. */
export function toErrorOutcome(error: unknown, failedCall: FailedCall): CallOutcome {
  const { name, call, requestScope } = failedCall;
  const isTool = call.method === "tools/call";
  if (error instanceof MissingCapabilityError) {
    return failure("missingCapability", `${name}: ${error.message}`, {
      requiredCapabilities: requiredCapabilities(error.capability),
    });
  }
  if (error instanceof InvalidCursorError) {
    return isTool
      ? invalidArguments({ violations: [CURSOR_VIOLATION] }, call.revision)
      : invalid("cursor", "is not one of this list");
  }
  const userOutcome = error instanceof UserError ? userErrorOutcome(error, failedCall) : undefined;
  if (!userOutcome || (error as UserError).isLogged) requestScope.hooks.onError?.(error, eventOf(failedCall));
  return (
    userOutcome ??
    (error instanceof AppError ? error.toFailure() : internalErrorOutcome(requestScope.requestId, isTool))
  );
}

/** The handler passed the client's cursor to `ctx.resources.list`. */
const CURSOR_VIOLATION = {
  path: "cursor",
  expected: "one of this list",
  received: "another",
  message: "cursor: is not one of this list",
};

/** Returns undefined when `data` cannot be written as JSON. That is a bug in the handler. */
function userErrorOutcome(
  { message, data }: UserError,
  { call, hasOutput = false }: FailedCall,
): CallOutcome | undefined {
  let json: string | undefined;
  try {
    json = JSON.stringify(data);
  } catch {
    return undefined;
  }
  if (call.method !== "tools/call") return failure("told", message, data);
  const content = [message, json].flatMap((text) => (text === undefined ? [] : { type: "text", text }));
  const structuredContent = json === undefined || hasOutput ? undefined : { message, data };
  const result: JsonObject = omitUndefined({ content, structuredContent, isError: true });
  return { kind: "complete", result };
}

declare const process: { readonly env: { readonly NODE_ENV?: string } };

/** The client can only report the id to an operator, so the text holds nothing else. */
function internalErrorOutcome(requestId: string, isTool: boolean): CallOutcome {
  const text = `Internal error: ${logName()} says why, under request ${requestId}`;
  return isTool ? toolError(text) : failure("internal", text, { requestId });
}

function logName(): string {
  try {
    // wrangler replaces this with the mode. Elsewhere `process` may be absent.
    if (process.env.NODE_ENV === "development") return "the terminal of wrangler";
  } catch {
    // There is no `process`.
  }
  return "the server's log";
}
