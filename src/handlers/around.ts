// Runs the `around` functions of the Worker, the tenant and one definition. Each runs once for every call and gives its
// outcome. No `around` can answer a call that was rejected or whose rights have ended. Each has its own time limit,
// which excludes the time spent in `next`.

import type { McpRequest } from "../protocol/mcp-request.ts";
import type { Failure } from "../protocol/errors.ts";
import { isObject, type JsonObject } from "../protocol/jsonrpc.ts";
import type { CallOutcome, ToolOutcome } from "../protocol/call-outcome.ts";
import type { Around, AroundCall, HandlerCall } from "./request-scope.ts";
import { eventOf, toErrorOutcome } from "./error-outcome.ts";
import { runBounded } from "./run-bounded.ts";
import { Stopwatch } from "./stopwatch.ts";

/** Milliseconds that one `around` may take per run, without the time in `next`. */
const MIDDLEWARE_TIMEOUT_MS = 10_000;
/** Most calls of `next` by one `around` in one call. */
const MAX_RUNS = 10;

interface AroundTarget extends HandlerCall {
  readonly args?: JsonObject | undefined;
  /** The innermost `around`: the one of the definition itself. */
  readonly own?: Around | undefined;
  /** Whether the call may run twice. */
  readonly repeatable: boolean;
  /** True when the Worker's and the tenant's `around` functions already run outside. */
  readonly isInner?: boolean;
}

/** Returns `next()` itself when there is no `around`, so such a call pays nothing. */
export function applyAround<O extends ToolOutcome>(target: AroundTarget, next: () => Promise<O>): Promise<O> {
  const { requestScope, own, call, isInner } = target;
  if (call.lookup) call.lookup.isFound = true;
  const outer = isInner ? undefined : requestScope.around;
  if (!outer && !own) return next();
  // An author may return another kind of outcome; every method handles all of them.
  return runAround([...(outer ?? []), ...(own ? [own] : [])], target, next) as Promise<O>;
}

type Next = () => Promise<ToolOutcome>;

async function runAround(arounds: readonly Around[], target: AroundTarget, next: Next): Promise<ToolOutcome> {
  const { requestScope, call, repeatable, name } = target;
  let runs = 0;
  const innermost = async () => {
    runs += 1;
    if (runs > 1 && !repeatable) throw new Error(`${name} must not run twice, but next() was called again`);
    return next().catch((error: unknown) => toErrorOutcome(error, target));
  };
  const outcome = await composeAround(arounds, target, innermost)();
  // An `around` that answers from its own cache skips the check of rights, so check them here.
  return (runs === 0 ? await requestScope.recheck(call) : undefined) ?? outcome;
}

/** For a call that is rejected before its target is found: each `around` sees the rejection and cannot change it. */
export async function runAroundForRejection(target: RejectableTarget, outcome: CallOutcome): Promise<void> {
  const failure = outcome.kind === "failure" ? outcome : undefined;
  const rejected: RejectableTarget = { ...target, refused: failure, fixedOutcome: outcome };
  await composeAround(rejected.requestScope.around ?? [], rejected, () => Promise.resolve(outcome))();
}

interface RejectableTarget extends HandlerCall<Pick<McpRequest, "method" | "revision" | "sink">> {
  readonly args?: JsonObject | undefined;
  readonly refused?: Failure | undefined;
  /** Replaces whatever the `around` functions return or throw. */
  readonly fixedOutcome?: CallOutcome;
}

function composeAround(arounds: readonly Around[], target: RejectableTarget, innermost: Next): Next {
  const call = createAroundCall(target);
  const allowedKinds: unknown[] = ["complete", "failure"];
  // In era 2025 a question goes out while the call runs, so no call ends with one.
  if (target.call.revision.era === "2026") allowedKinds.push("inputRequired");
  if (call.method === "tools/call") allowedKinds.push("invalidArguments");
  const { fixedOutcome, name } = target;
  return arounds.reduceRight<Next>((next, current) => {
    let runs = 0;
    return async () => {
      const innerTime = new Stopwatch();
      let isTimedOut = false;
      const boundedNext = async () => {
        // The call was answered already; no client waits for this run.
        if (isTimedOut) throw new Error("next() was called too late: the call was answered");
        runs += 1;
        if (runs > MAX_RUNS) throw new Error(`${name}: next() was called more than ${MAX_RUNS} times`);
        return innerTime.run(next);
      };
      const end = await runBounded<unknown>(() => current(call, boundedNext), {
        timeoutMs: MIDDLEWARE_TIMEOUT_MS,
        elicitor: { waitedMs: () => innerTime.elapsed },
      });
      isTimedOut = end.kind === "timedOut";
      const outcome = end.kind === "returned" ? (fixedOutcome ?? end.value) : undefined;
      if (isObject(outcome) && allowedKinds.includes(outcome.kind)) return outcome as unknown as ToolOutcome;
      const reason = isTimedOut
        ? `took longer than ${MIDDLEWARE_TIMEOUT_MS} ms without the time in next()`
        : "must return the outcome of next()";
      const errorOutcome = toErrorOutcome(
        end.kind === "threw" ? end.error : new TypeError(`around ${name} ${reason}`),
        target,
      );
      return fixedOutcome ?? errorOutcome;
    };
  }, innermost);
}

function createAroundCall(target: RejectableTarget): AroundCall {
  const { args, call, refused } = target;
  let abort: AbortController | undefined;
  const createAbort = () => {
    const controller = new AbortController();
    const { cancelled } = call.sink;
    const onAbort = () => {
      controller.abort(new Error("the client cancelled the call"));
    };
    if (cancelled.aborted) onAbort();
    else cancelled.addEventListener("abort", onAbort);
    return controller;
  };
  return Object.defineProperties({ args, refused } as AroundCall, {
    ...Object.getOwnPropertyDescriptors(eventOf(target)),
    signal: { enumerable: true, get: () => (abort ??= createAbort()).signal },
  });
}
