// Owns what becomes of what was thrown in the author's code, in tools, prompts and resources alike: what its client is
// told, and whether operators are. Only a UserError says for itself what is shown; any other has an id in the logs.

import { AppError } from "../protocol/app-error.ts";
import type { Call } from "../protocol/call.ts";
import { failure } from "../protocol/errors.ts";
import type { JsonObject } from "../protocol/jsonrpc.ts";
import { given } from "../protocol/members.ts";
import { requiredCapabilities } from "../protocol/meta.ts";
import { invalid } from "../protocol/methods/params.ts";
import { invalidArguments, toolError } from "../protocol/methods/tools.ts";
import type { CallOutcome } from "../protocol/outcome.ts";
import { UserError } from "../protocol/user-error.ts";
import type { CallEvent, CallHost } from "./call-host.ts";
import { MissingCapability } from "./interview.ts";
import { ForeignCursor } from "./resource-store.ts";

/** A call of something that an author wrote. */
export interface AuthoredCall {
  /** As its source calls it. */
  readonly name: string;
  readonly call: Pick<Call, "method" | "dialect">;
  readonly host: CallHost;
  /** Its results fit a schema, which no error does. */
  readonly hasOutput?: boolean | undefined;
}

/** `requestId` is made when it is read: most calls need none. */
export function eventOf({
  name,
  call,
  host,
}: Pick<AuthoredCall, "name" | "host"> & { readonly call: Pick<Call, "method"> }): CallEvent {
  const { tenant, profile, principal } = host;
  return {
    tenant,
    profile,
    principal,
    method: call.method as CallEvent["method"],
    name,
    get requestId() {
      return host.requestId;
    },
  };
}

/** What the client is told of it; operators are told of what is not the client's to know. */
export function outcomeOf(error: unknown, authored: AuthoredCall): CallOutcome {
  const { name, call, host } = authored;
  const isTool = call.method === "tools/call";
  if (error instanceof MissingCapability) {
    return failure("missingCapability", `${name}: ${error.message}`, {
      requiredCapabilities: requiredCapabilities(error.capability),
    });
  }
  if (error instanceof ForeignCursor) {
    return isTool
      ? invalidArguments({ violations: [CURSOR] }, call.dialect)
      : invalid("cursor", "is not one of this list");
  }
  const told = error instanceof UserError ? tell(error, authored) : undefined;
  if (!told || (error as UserError).isLogged) host.hooks.onError?.(error, eventOf(authored));
  return told ?? (error instanceof AppError ? error.toFailure() : masked(host.requestId, isTool));
}

/** `ctx.resources.list` was given what the client sent. */
const CURSOR = {
  path: "cursor",
  expected: "one of this list",
  received: "another",
  message: "cursor: is not one of this list",
};

/** undefined: its data cannot be written as JSON, which is a fault. */
function tell({ message, data }: UserError, { call, hasOutput = false }: AuthoredCall): CallOutcome | undefined {
  let json: string | undefined;
  try {
    json = JSON.stringify(data);
  } catch {
    return undefined;
  }
  if (call.method !== "tools/call") return failure("told", message, data);
  const content = [message, json].flatMap((text) => (text === undefined ? [] : { type: "text", text }));
  const structuredContent = json === undefined || hasOutput ? undefined : { message, data };
  const result: JsonObject = given({ content, structuredContent, isError: true });
  return { kind: "complete", result };
}

declare const process: { readonly env: { readonly NODE_ENV?: string } };

/** Whoever calls can do nothing about it but tell an operator the id. */
function masked(requestId: string, isTool: boolean): CallOutcome {
  const text = `Internal error: ${logName()} says why, under request ${requestId}`;
  return isTool ? toolError(text) : failure("internal", text, { requestId });
}

function logName(): string {
  try {
    // wrangler writes the mode in its place. Elsewhere `process` may be absent.
    if (process.env.NODE_ENV === "development") return "the terminal of wrangler";
  } catch {
    // There is no `process`.
  }
  return "the server's log";
}
