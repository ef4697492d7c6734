// Runs completers: an author's functions that propose values while a person types. Also runs other functions that are
// not calls. They cannot ask the client questions.

import type { McpRequest } from "../protocol/mcp-request.ts";
import { failure } from "../protocol/errors.ts";
import type { CallOutcome } from "../protocol/call-outcome.ts";
import type { CompletionQuery } from "../protocol/source.ts";
import type { HandlerCall, RequestScope } from "./request-scope.ts";
import { CallContext } from "./call-context.ts";
import { eventOf, toErrorOutcome } from "./error-outcome.ts";
import { runBounded, type HandlerEnd } from "./run-bounded.ts";
import { StreamElicitor } from "./stream-elicitor.ts";
import type { Context } from "./context.ts";

/**
 * Passed to a completer beside the typed text. `arguments` holds the values already chosen; `Name` is the union of
 * their names.
 */
export interface CompletionContext<Name extends string = string, Ctx = Context> {
  readonly arguments: Readonly<Partial<Record<Name, string>>>;
  readonly ctx: Ctx;
}

/**
 * Proposes values for the text typed so far. This is a method's type, so that you can narrow `ctx`: `(value, { ctx }:
 * CompletionContext<string, Context<Env, Settings>>)`.
 */
export type Completer<Name extends string = string> = {
  of(value: string, about: CompletionContext<Name>): readonly string[] | Promise<readonly string[]>;
}["of"];

const TIMEOUT_MS = 10_000;

export async function runCompleter(
  completer: Completer,
  { name, value, known }: CompletionQuery,
  call: McpRequest,
  requestScope: RequestScope,
): Promise<readonly string[] | CallOutcome> {
  const run = (ctx: CallContext) => completer(value, { arguments: known, ctx: ctx as never });
  const end = await runNonInteractive(run, { name, timeoutMs: TIMEOUT_MS, call, requestScope });
  if (end.kind === "returned") return end.value;
  if (end.kind === "threw") return toErrorOutcome(end.error, { name, call, requestScope });
  if (end.kind === "timedOut")
    requestScope.hooks.onError?.(
      new Error(`${name}: complete returned no values within ${TIMEOUT_MS} ms`),
      eventOf({ name, call, requestScope }),
    );
  return failure(end.kind === "timedOut" ? "timeout" : "cancelled");
}

interface NonInteractiveRun extends HandlerCall {
  readonly timeoutMs: number;
}

/** Runs an author's function that cannot ask the client. */
export async function runNonInteractive<T>(
  work: (ctx: CallContext) => T | Promise<T>,
  { name, timeoutMs, call, requestScope }: NonInteractiveRun,
): Promise<HandlerEnd<T>> {
  const elicitor = new StreamElicitor({ revision: call.revision, capabilities: {} }, undefined);
  const ctx = new CallContext(call, requestScope, elicitor, name);
  const end = await runBounded(async () => work(ctx), { timeoutMs, elicitor, sink: call.sink });
  if (end.kind !== "returned") ctx.abort(new Error("the result is no longer needed"));
  ctx.close();
  return end;
}
