// Owns one call of a handler from start to outcome: hooks, interview, time limit, and what the client is told of each
// end. Refuses to know what the handler makes: whoever calls it says how its result is written.

import type { Call } from "../protocol/call.ts";
import type { CallOutcome } from "../protocol/outcome.ts";
import { failure, type Failure } from "../protocol/errors.ts";
import type { JsonObject } from "../protocol/jsonrpc.ts";
import { isFailure } from "../protocol/methods/params.ts";
import { UserError } from "../protocol/user-error.ts";
import { authorityTables } from "../tenants/authority/authority-tables.ts";
import { remote } from "../tenants/authority/tables.ts";
import { inTime } from "../tenants/isolate/in-time.ts";
import { CallContext } from "./call-context.ts";
import type { UntypedContext } from "./context.ts";
import { eventOf, outcomeOf } from "./fault.ts";
import type { CallEnd, CallHost } from "./call-host.ts";
import type { ClaimBook } from "./claims.ts";
import { ReplayInterview, type Interview } from "./interview.ts";
import { owners } from "./lost-promises.ts";
import { StreamInterview } from "./stream-interview.ts";
import { runHandler, type HandlerEnd } from "./run-handler.ts";
import { bindingOf, CALL_LIFETIME_MS, openProgress, readResponses, sealProgress } from "./request-state.ts";

/** The time limit of tools that do not set one, and of prompts and resources; milliseconds. */
export const DEFAULT_TIMEOUT_MS = 60_000;

/** `broken` says why what the handler returned cannot be sent to a client. */
export type Finished = { readonly result: JsonObject } | { readonly broken: string };

export interface Handling<T> {
  readonly name: string;
  readonly timeoutMs: number;
  readonly work: (ctx: UntypedContext) => T | Promise<T>;
  /** Makes the result of what the handler returned. */
  readonly finish: (value: T) => Finished | Promise<Finished>;
  /** Its results fit a schema, which no error does. */
  readonly hasOutput?: boolean;
}

/** As long as for the author's other functions that are no handlers. */
const HOOK_MS = 10_000;

/** Runs the author's `beforeCall`; gives the text that refuses the call, undefined where the call goes on. */
export async function beforeCall(name: string, call: Call, host: CallHost): Promise<string | undefined> {
  const asked = host.hooks.beforeCall?.(eventOf({ name, call, host }));
  return asked instanceof Promise ? inTime(asked, HOOK_MS, "beforeCall") : asked;
}

/** `make`: for one run; where a Worker is developed, another. */
export const contexts = {
  make: (...about: ConstructorParameters<typeof CallContext>): CallContext => new CallContext(...about),
};

export async function handle<T>(handling: Handling<T>, call: Call, host: CallHost): Promise<CallOutcome> {
  const interview =
    call.dialect.era === "2026" ? await openInterview(call, host) : new StreamInterview(call, claimBook(call, host));
  if (isFailure(interview)) return interview;
  const withdrawn = await host.recheck(call);
  if (withdrawn) return withdrawn;
  let working: T | Promise<T> | undefined;
  const { name } = handling;
  const ctx = contexts.make(call, host, interview, name);
  const ended = await runHandler(() => (working = start(handling, ctx, call, host)), {
    timeoutMs: handling.timeoutMs,
    interview,
    sink: call.sink,
  });
  if (ctx.unsent) await ctx.unsent;
  const outcome = await conclude(ended, { handling, call, host, ctx, interview });
  // The call is over; its handler, told by `ctx.signal`, may still clear up.
  const close = () => {
    ctx.close();
  };
  if (ended.kind === "cancelled" || ended.kind === "timedOut") {
    host.waitUntil(Promise.resolve(working).then(close, close));
  } else close();
  // A run of era 2025 that was left is not the end of its call: another run brings that.
  const isLeft = ended.kind === "suspended" && outcome.kind !== "inputRequired";
  if (!isLeft) reportEnd(name, call, host, endOf(ended, outcome));
  return outcome;
}

function start<T>({ name, work }: Handling<T>, ctx: UntypedContext, call: Call, host: CallHost): T | Promise<T> {
  return owners.calls ? owners.calls.run({ name, call, host }, () => work(ctx)) : work(ctx);
}

/**
 * Runs `afterCall`; by itself for what was answered without a handler. The call is over, so a hook that fails now must not
 * cost the client its result.
 */
export function reportEnd(name: string, call: Call, host: CallHost, end: CallEnd = "complete"): void {
  const { hooks } = host;
  if (!hooks.afterCall) return;
  const event = eventOf({ name, call, host });
  try {
    hooks.afterCall(event, end);
  } catch (error) {
    hooks.onError?.(error, event);
  }
}

function endOf(ended: HandlerEnd<unknown>, outcome: CallOutcome): CallEnd {
  if (ended.kind === "timedOut") return "timeout";
  if (ended.kind === "cancelled") return "cancelled";
  if (outcome.kind === "inputRequired") return "input_required";
  const isError = outcome.kind === "complete" && "isError" in outcome.result && outcome.result.isError === true;
  return outcome.kind === "failure" || isError ? "error" : "complete";
}

/** How this call of era 2026 asks its client. */
async function openInterview(call: Call, host: CallHost): Promise<Interview | Failure> {
  const read = readResponses(call.params);
  if (isFailure(read)) return read;
  const responses = read.value;
  const { capabilities } = call;
  if (call.params.requestState === undefined) {
    return new ReplayInterview(capabilities, undefined, responses, claimBook(call, host));
  }
  const before = await openProgress(bindingOf(host), call);
  return isFailure(before) ? before : new ReplayInterview(capabilities, before, responses, claimBook(call, host));
}

function claimBook(call: Call, host: CallHost): ClaimBook {
  return {
    claim: (nonce, name) => remote(host.stub(), authorityTables).claim(nonce, name, call.now() + CALL_LIFETIME_MS),
    settle: (nonce, name, value) => remote(host.stub(), authorityTables).settle(nonce, name, value),
  };
}

interface Running<T> {
  readonly handling: Handling<T>;
  readonly call: Call;
  readonly host: CallHost;
  readonly ctx: CallContext;
  readonly interview: Interview;
}

async function conclude<T>(ended: HandlerEnd<T>, running: Running<T>): Promise<CallOutcome> {
  const { handling, ctx } = running;
  switch (ended.kind) {
    case "returned":
      return conclusion(await finish(handling, ended.value), running);
    case "threw":
      return fault(ended.error, running);
    case "suspended":
      ctx.abort(new Error("the call waits for an answer"));
      // In era 2025 this answer goes to nobody: another run of the call takes over and answers.
      return running.interview instanceof ReplayInterview
        ? inputRequired(running, running.interview)
        : failure("cancelled");
    case "timedOut": {
      const { name, timeoutMs } = handling;
      const { call, host } = running;
      const late = new Error(`no result within ${timeoutMs} ms`);
      ctx.abort(late);
      host.hooks.onError?.(late, eventOf({ name, call, host }));
      call.questions?.withdraw("the call took too long");
      return failure("timeout", `Request timed out: ${name} took longer than ${timeoutMs} ms`, { timeoutMs });
    }
    case "cancelled":
      ctx.abort(new Error("the client cancelled the call"));
      running.call.questions?.withdraw("the call was cancelled");
      return failure("cancelled");
  }
}

/**
 * A value that cannot be written as JSON, such as one that contains itself, is a fault of the handler like any other.
 */
async function finish<T>(handling: Handling<T>, value: T): Promise<Finished> {
  try {
    return await handling.finish(value);
  } catch (error) {
    return { broken: error instanceof Error ? error.message : String(error) };
  }
}

function conclusion<T>(finished: Finished, running: Running<T>): CallOutcome {
  if ("result" in finished) return { kind: "complete", result: finished.result };
  return fault(new Error(`${running.handling.name}: ${finished.broken}`), running);
}

function fault<T>(error: unknown, { handling: { name, hasOutput }, call, host }: Running<T>): CallOutcome {
  return outcomeOf(error, { name, hasOutput, call, host });
}

async function inputRequired<T>(running: Running<T>, interview: ReplayInterview): Promise<CallOutcome> {
  const { call, host } = running;
  const requestState = await sealProgress(bindingOf(host), call, interview.progress);
  if (typeof requestState !== "string") return fault(new UserError(requestState.broken), running);
  const { inputRequests } = interview;
  return { kind: "inputRequired", requestState, ...(inputRequests === undefined ? {} : { inputRequests }) };
}
