// Owns what an author has run around calls, of one tool, of a tenant or of all: each is reached once for each call,
// whatever becomes of it, and gives its outcome. Refuses to answer a call that is refused, or whose rights have ended, and
// to wait for one that takes longer than its own time, which is what passes while nothing inside of it runs.

import type { McpRequest } from "../protocol/mcp-request.ts";
import type { Failure } from "../protocol/errors.ts";
import { isObject, type JsonObject } from "../protocol/jsonrpc.ts";
import type { CallOutcome } from "../protocol/call-outcome.ts";
import type { Around, AroundCall, AroundOutcome } from "./request-scope.ts";
import { eventOf, toErrorOutcome, type HandlerCall } from "./error-outcome.ts";
import { runHandler } from "./run-handler.ts";
import { Stopwatch } from "./stopwatch.ts";

/** Milliseconds of its own that it has each time it runs. */
const MIDDLEWARE_TIMEOUT_MS = 10_000;
/** How often each may run what is inside of it, in one call. */
const MAX_RUNS = 10;

export interface AroundTarget extends Omit<HandlerCall, "call"> {
  readonly call: McpRequest;
  readonly args?: JsonObject | undefined;
  /** The innermost one: what its own author wrote around it. */
  readonly own?: Around | undefined;
  /** Whether it may run twice. */
  readonly repeatable: boolean;
  /** What the Worker and the tenant have runs already. */
  readonly isInner?: boolean;
}

/** `next` as it is where nothing is around it, which costs nothing. */
export function applyAround<O extends AroundOutcome>(target: AroundTarget, next: () => Promise<O>): Promise<O> {
  const { requestScope, own, call, isInner } = target;
  if (call.lookup) call.lookup.isFound = true;
  const outer = isInner ? undefined : requestScope.around;
  if (!outer && !own) return next();
  // An author may give back another kind than came; each method knows all of them.
  return runAround([...(outer ?? []), ...(own ? [own] : [])], target, next) as Promise<O>;
}

type Next = () => Promise<AroundOutcome>;

async function runAround(arounds: readonly Around[], target: AroundTarget, next: Next): Promise<AroundOutcome> {
  const { requestScope, call, repeatable, name } = target;
  let runs = 0;
  const innermost = async () => {
    runs += 1;
    if (runs > 1 && !repeatable) throw new Error(`${name} may not run twice: next() was called again`);
    return next().catch((error: unknown) => toErrorOutcome(error, target));
  };
  const outcome = await composeAround(arounds, target, innermost)();
  // What was remembered is for who may still have it.
  return (runs === 0 ? await requestScope.recheck(call) : undefined) ?? outcome;
}

/** For a call that is refused before it finds what it names: who is around it hears of that, and changes nothing. */
export async function runAroundForRejection(target: RejectableTarget, outcome: CallOutcome): Promise<void> {
  const failure = outcome.kind === "failure" ? outcome : undefined;
  const rejected: RejectableTarget = { ...target, refused: failure, fixedOutcome: outcome };
  await composeAround(rejected.requestScope.around ?? [], rejected, () => Promise.resolve(outcome))();
}

interface RejectableTarget extends Omit<HandlerCall, "call"> {
  readonly call: Pick<McpRequest, "method" | "revision" | "sink">;
  readonly args?: JsonObject | undefined;
  readonly refused?: Failure | undefined;
  /** In place of whatever is returned or thrown. */
  readonly fixedOutcome?: CallOutcome;
}

function composeAround(arounds: readonly Around[], target: RejectableTarget, innermost: Next): Next {
  const call = createAroundCall(target);
  const allowedKinds: unknown[] = ["complete", "failure"];
  // In era 2025 a question goes out while the call runs: no call ends in one.
  if (target.call.revision.era === "2026") allowedKinds.push("inputRequired");
  if (call.method === "tools/call") allowedKinds.push("invalidArguments");
  const { fixedOutcome, name } = target;
  return arounds.reduceRight<Next>((next, current) => {
    let runs = 0;
    return async () => {
      const innerTime = new Stopwatch();
      let isTimedOut = false;
      const boundedNext = async () => {
        // Nobody waits any more for who asks.
        if (isTimedOut) throw new Error("next() was called too late: the call was answered");
        runs += 1;
        if (runs > MAX_RUNS) throw new Error(`${name}: next() was called more than ${MAX_RUNS} times`);
        return innerTime.run(next);
      };
      const end = await runHandler<unknown>(() => current(call, boundedNext), {
        timeoutMs: MIDDLEWARE_TIMEOUT_MS,
        elicitor: { waitedMs: () => innerTime.elapsed },
      });
      isTimedOut = end.kind === "timedOut";
      const outcome = end.kind === "returned" ? (fixedOutcome ?? end.value) : undefined;
      if (isObject(outcome) && allowedKinds.includes(outcome.kind)) return outcome as unknown as AroundOutcome;
      const reason = isTimedOut
        ? `took longer than ${MIDDLEWARE_TIMEOUT_MS} ms of its own`
        : "returned no outcome: return what next() gives";
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
    createAbort: { enumerable: true, get: () => (abort ??= createAbort()).signal },
  });
}
