// Runs the author's `around` hooks for calls that are rejected before their target is found: unknown, hidden,
// suspended, over a limit. The hooks cannot change the rejection.

import { runAroundForRejection } from "../handlers/around.ts";
import type { McpRequest } from "../protocol/mcp-request.ts";
import { MAX_BATCH } from "../protocol/classify.ts";
import { encodeFailure } from "../protocol/dispatch.ts";
import { DEFAULT_REVISION, REVISION_2026 } from "../protocol/revisions.ts";
import type { Failure } from "../protocol/errors.ts";
import { isObject } from "../protocol/jsonrpc.ts";
import { isFailure } from "../protocol/methods/params.ts";
import type { CallOutcome } from "../protocol/call-outcome.ts";
import { NULL_SINK } from "./call-output.ts";
import type { AuthorizedRequest } from "./authorized-request.ts";

const HANDLER_METHODS: ReadonlySet<unknown> = new Set(["tools/call", "prompts/get", "resources/read"]);

/** Whether the method runs a handler that an author wrote. */
export function isHandlerMethod({ method }: Pick<McpRequest, "method">): boolean {
  return HANDLER_METHODS.has(method);
}

export function runAroundForRejected(
  authorized: AuthorizedRequest,
  call: Pick<McpRequest, "method" | "params" | "revision" | "sink">,
  rejection: CallOutcome,
): Promise<void> {
  const { params } = call;
  const args = isObject(params.arguments) ? params.arguments : undefined;
  return runAroundForRejection({ name: calledName(authorized, call), call, requestScope: authorized, args }, rejection);
}

/** Reports each message that is over a limit, to the `around` hooks and to the features that observe calls. */
export async function reportLimited(
  authorized: AuthorizedRequest,
  value: unknown,
  result: Failure | readonly (Failure | undefined)[],
): Promise<void> {
  const revision = authorized.context.era === "2026" ? REVISION_2026 : DEFAULT_REVISION;
  // As many as the limits count: a body with more is refused whole, and may have tens of thousands.
  const messages = Array.isArray(value) ? (value as unknown[]).slice(0, MAX_BATCH) : [value];
  // In parallel: each hook may take its time.
  await Promise.all(
    messages.map(async (message, at) => {
      const rejection = isFailure(result) ? result : result[at];
      if (!rejection || !isObject(message) || !HANDLER_METHODS.has(message.method) || !isObject(message.params)) return;
      const { method, params } = message;
      const call = { method: String(method), params, revision, sink: NULL_SINK };
      if (authorized.around) await runAroundForRejected(authorized, call, rejection);
      const response = encodeFailure(undefined, rejection, revision.era);
      await authorized.context.deployment.onCallCompleted?.({
        requestScope: authorized,
        call,
        response,
        outcome: rejection,
      });
    }),
  );
}

/** The name of the target if the view has it, else the client's text, made printable. */
function calledName({ view }: AuthorizedRequest, { method, params }: Pick<McpRequest, "method" | "params">): string {
  const { name = params.uri } = params;
  if (typeof name !== "string") return "";
  if (method === "resources/read") return toPrintableName(name);
  const item = method === "tools/call" ? view.tool(name, Date.now()) : view.prompt(name, Date.now());
  return item && !isFailure(item) ? item.target.name : toPrintableName(name);
}

/** Limit for a name of the client's choice. */
const MAX_CHARACTERS = 256;

/** The name goes to logs and terminals. */
function toPrintableName(name: string): string {
  return name.slice(0, MAX_CHARACTERS).replace(/[\p{C}\p{Zl}\p{Zp}]/gu, "\ufffd");
}
