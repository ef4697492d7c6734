// Runs one call of a handler from start to outcome: hooks, questions, time limit, and the client's response to each
// end. The caller converts what the handler returns.

import type { McpRequest } from "../protocol/mcp-request.ts";
import type { CallOutcome } from "../protocol/call-outcome.ts";
import { failure, type Failure } from "../protocol/errors.ts";
import type { JsonObject } from "../protocol/jsonrpc.ts";
import { isFailure } from "../protocol/methods/params.ts";
import { UserError } from "../protocol/user-error.ts";
import { authorityStore } from "../tenants/object/authority-store.ts";
import { createRpcClient } from "../tenants/object/store.ts";
import { withTimeout } from "../tenants/cache/with-timeout.ts";
import { CallContext } from "./call-context.ts";
import { eventOf, toErrorOutcome } from "./error-outcome.ts";
import type { CallEnd, RequestScope } from "./request-scope.ts";
import type { IdempotencyStore } from "./idempotency.ts";
import { ReplayElicitor, type Elicitor } from "./elicitor.ts";
import { callStorage } from "./unhandled-rejections.ts";
import { StreamElicitor } from "./stream-elicitor.ts";
import { runBounded, type HandlerEnd } from "./run-bounded.ts";
import { bindingOf, CALL_LIFETIME_MS, openReplayState, readResponses, sealReplayState } from "./request-state.ts";

/** Milliseconds: the default time limit of tools, and the limit of prompts and resources. */
export const DEFAULT_TIMEOUT_MS = 60_000;

/** `broken` says why the handler's value cannot be sent to a client. */
export type HandlerResult = { readonly result: JsonObject } | { readonly broken: string };

/** A handler with what a call of it needs. */
export interface RunnableHandler<T> {
  readonly name: string;
  readonly timeoutMs: number;
  readonly handler: (ctx: CallContext) => T | Promise<T>;
  /** Converts the handler's value into a result. */
  readonly toResult: (value: T) => HandlerResult | Promise<HandlerResult>;
  /** True when results must fit a schema. An error never fits it. */
  readonly hasOutput?: boolean;
}

/** The same limit as for an author's other functions that are not handlers. */
const HOOK_TIMEOUT_MS = 10_000;

/** Runs the author's `beforeCall`. Returns the text that rejects the call, or undefined if the call continues. */
export async function runBeforeCall(
  name: string,
  call: McpRequest,
  requestScope: RequestScope,
): Promise<string | undefined> {
  const refusal = requestScope.hooks.beforeCall?.(eventOf({ name, call, requestScope }));
  return refusal instanceof Promise ? withTimeout(refusal, HOOK_TIMEOUT_MS, "beforeCall") : refusal;
}

/** Creates the context of one run. Development replaces it to add warnings. */
export const contextFactory = {
  create: (...about: ConstructorParameters<typeof CallContext>): CallContext => new CallContext(...about),
};

export async function runHandlerCall<T>(
  runnable: RunnableHandler<T>,
  call: McpRequest,
  requestScope: RequestScope,
): Promise<CallOutcome> {
  const elicitor =
    call.revision.era === "2026"
      ? await createReplayElicitor(call, requestScope)
      : new StreamElicitor(call, createIdempotencyStore(requestScope));
  if (isFailure(elicitor)) return elicitor;
  const rejection = await requestScope.recheck(call);
  if (rejection) return rejection;
  let handlerResult: T | Promise<T> | undefined;
  const { name } = runnable;
  const ctx = contextFactory.create(call, requestScope, elicitor, name);
  const end = await runBounded(() => (handlerResult = startHandler(runnable, ctx, call, requestScope)), {
    timeoutMs: runnable.timeoutMs,
    elicitor,
    sink: call.sink,
  });
  if (ctx.pendingLogs) await ctx.pendingLogs;
  const outcome = await toOutcome(end, { runnable, call, requestScope, ctx, elicitor });
  // The call is over. Its handler, which sees `ctx.signal` abort, may still clean up.
  const close = () => {
    ctx.close();
  };
  if (end.kind === "cancelled" || end.kind === "timedOut") {
    requestScope.waitUntil(Promise.resolve(handlerResult).then(close, close));
  } else close();
  // A suspended run of era 2025 does not end its call: another run does.
  const isHandedOver = end.kind === "suspended" && outcome.kind !== "inputRequired";
  if (!isHandedOver) runAfterCall(name, call, requestScope, endOf(end, outcome));
  return outcome;
}

function startHandler<T>(
  { name, handler }: RunnableHandler<T>,
  ctx: CallContext,
  call: McpRequest,
  requestScope: RequestScope,
): T | Promise<T> {
  return callStorage.current ? callStorage.current.run({ name, call, requestScope }, () => handler(ctx)) : handler(ctx);
}

/**
 * Runs `afterCall`; called directly for a call that was answered without a handler. The call is over, so a hook that
 * fails now must not cost the client its result.
 */
export function runAfterCall(
  name: string,
  call: McpRequest,
  requestScope: RequestScope,
  end: CallEnd = "complete",
): void {
  const { hooks } = requestScope;
  if (!hooks.afterCall) return;
  const event = eventOf({ name, call, requestScope });
  try {
    hooks.afterCall(event, end);
  } catch (error) {
    hooks.onError?.(error, event);
  }
}

function endOf(end: HandlerEnd<unknown>, outcome: CallOutcome): CallEnd {
  if (end.kind === "timedOut") return "timeout";
  if (end.kind === "cancelled") return "cancelled";
  if (outcome.kind === "inputRequired") return "input_required";
  const isError = outcome.kind === "complete" && "isError" in outcome.result && outcome.result.isError === true;
  return outcome.kind === "failure" || isError ? "error" : "complete";
}

async function createReplayElicitor(call: McpRequest, requestScope: RequestScope): Promise<Elicitor | Failure> {
  const parsed = readResponses(call.params);
  if (isFailure(parsed)) return parsed;
  const responses = parsed.value;
  const { capabilities } = call;
  if (call.params.requestState === undefined) {
    return new ReplayElicitor(capabilities, undefined, responses, createIdempotencyStore(requestScope));
  }
  const earlierState = await openReplayState(bindingOf(requestScope), call);
  return isFailure(earlierState)
    ? earlierState
    : new ReplayElicitor(capabilities, earlierState, responses, createIdempotencyStore(requestScope));
}

function createIdempotencyStore(requestScope: RequestScope): IdempotencyStore {
  return {
    claim: (nonce, name) =>
      createRpcClient(requestScope.stub(), authorityStore).claim(nonce, name, Date.now() + CALL_LIFETIME_MS),
    settle: (nonce, name, value) => createRpcClient(requestScope.stub(), authorityStore).settle(nonce, name, value),
  };
}

interface RunState<T> {
  readonly runnable: RunnableHandler<T>;
  readonly call: McpRequest;
  readonly requestScope: RequestScope;
  readonly ctx: CallContext;
  readonly elicitor: Elicitor;
}

async function toOutcome<T>(end: HandlerEnd<T>, state: RunState<T>): Promise<CallOutcome> {
  const { runnable, ctx } = state;
  switch (end.kind) {
    case "returned":
      return resultOutcome(await toHandlerResult(runnable, end.value), state);
    case "threw":
      return errorOutcome(end.error, state);
    case "suspended":
      ctx.abort(new Error("the call waits for an answer"));
      // In era 2025 this answer is not sent: another run of the call takes over and answers.
      return state.elicitor instanceof ReplayElicitor ? inputRequired(state, state.elicitor) : failure("cancelled");
    case "timedOut": {
      const { name, timeoutMs } = runnable;
      const { call, requestScope } = state;
      const timeoutError = new Error(`no result within ${timeoutMs} ms`);
      ctx.abort(timeoutError);
      requestScope.hooks.onError?.(timeoutError, eventOf({ name, call, requestScope }));
      call.clientRequester?.cancel("the call took too long");
      return failure("timeout", `Request timed out: ${name} took longer than ${timeoutMs} ms`, { timeoutMs });
    }
    case "cancelled":
      ctx.abort(new Error("the client cancelled the call"));
      state.call.clientRequester?.cancel("the call was cancelled");
      return failure("cancelled");
  }
}

/** A value that cannot be written as JSON, such as a circular one, is an error of the handler like any other. */
async function toHandlerResult<T>(runnable: RunnableHandler<T>, value: T): Promise<HandlerResult> {
  try {
    return await runnable.toResult(value);
  } catch (error) {
    return { broken: error instanceof Error ? error.message : String(error) };
  }
}

function resultOutcome<T>(result: HandlerResult, state: RunState<T>): CallOutcome {
  if ("result" in result) return { kind: "complete", result: result.result };
  return errorOutcome(new Error(`${state.runnable.name}: ${result.broken}`), state);
}

function errorOutcome<T>(
  error: unknown,
  { runnable: { name, hasOutput }, call, requestScope }: RunState<T>,
): CallOutcome {
  return toErrorOutcome(error, { name, hasOutput, call, requestScope });
}

async function inputRequired<T>(state: RunState<T>, elicitor: ReplayElicitor): Promise<CallOutcome> {
  const { call, requestScope } = state;
  const requestState = await sealReplayState(bindingOf(requestScope), call, elicitor.replayState);
  if (typeof requestState !== "string") return errorOutcome(new UserError(requestState.broken), state);
  const { inputRequests } = elicitor;
  return { kind: "inputRequired", requestState, ...(inputRequests === undefined ? {} : { inputRequests }) };
}
