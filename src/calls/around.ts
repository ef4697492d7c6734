// Owns what an author has run around calls, of one tool, of a tenant or of all: each is reached once for each call,
// whatever becomes of it, and gives its outcome. Refuses to answer a call that is refused, or whose rights have ended, and
// to wait for one that takes longer than its own time, which is what passes while nothing inside of it runs.

import type { Call } from "../protocol/call.ts";
import type { Failure } from "../protocol/errors.ts";
import { isObject, type JsonObject } from "../protocol/jsonrpc.ts";
import type { CallOutcome } from "../protocol/outcome.ts";
import type { Around, AroundCall, AroundOutcome } from "./call-host.ts";
import { eventOf, outcomeOf, type AuthoredCall } from "./fault.ts";
import { runHandler } from "./run-handler.ts";
import { Stopwatch } from "./stopwatch.ts";

/** Milliseconds of its own that it has each time it runs. */
const OWN_MS = 10_000;
/** How often each may run what is inside of it, in one call. */
const MOST_RUNS = 10;

export interface Surrounded extends Omit<AuthoredCall, "call"> {
  readonly call: Call;
  readonly args?: JsonObject | undefined;
  /** The innermost one: what its own author wrote around it. */
  readonly own?: Around | undefined;
  /** Whether it may run twice. */
  readonly repeatable: boolean;
  /** What the Worker and the tenant have runs already. */
  readonly isInner?: boolean;
}

/** `next` as it is where nothing is around it, which costs nothing. */
export function surrounded<O extends AroundOutcome>(about: Surrounded, next: () => Promise<O>): Promise<O> {
  const { host, own, call, isInner } = about;
  if (call.finding) call.finding.found = true;
  const outer = isInner ? undefined : host.around;
  if (!outer && !own) return next();
  // An author may give back another kind than came; each method knows all of them.
  return runAround([...(outer ?? []), ...(own ? [own] : [])], about, next) as Promise<O>;
}

type Next = () => Promise<AroundOutcome>;

async function runAround(arounds: readonly Around[], about: Surrounded, next: Next): Promise<AroundOutcome> {
  const { host, call, repeatable, name } = about;
  let runs = 0;
  const innermost = async () => {
    runs += 1;
    if (runs > 1 && !repeatable) throw new Error(`${name} may not run twice: next() was called again`);
    return next().catch((error: unknown) => outcomeOf(error, about));
  };
  const outcome = await nested(arounds, about, innermost)();
  // What was remembered is for who may still have it.
  return (runs === 0 ? await host.recheck(call) : undefined) ?? outcome;
}

/** For a call that is refused before it finds what it names: who is around it hears of that, and changes nothing. */
export async function runRefused(refusable: Refusable, refused: CallOutcome): Promise<void> {
  const why = refused.kind === "failure" ? refused : undefined;
  const about: Refusable = { ...refusable, refused: why, always: refused };
  await nested(about.host.around ?? [], about, () => Promise.resolve(refused))();
}

interface Refusable extends Omit<AuthoredCall, "call"> {
  readonly call: Pick<Call, "method" | "dialect" | "sink">;
  readonly args?: JsonObject | undefined;
  readonly refused?: Failure | undefined;
  /** In place of whatever is returned or thrown. */
  readonly always?: CallOutcome;
}

function nested(arounds: readonly Around[], about: Refusable, innermost: Next): Next {
  const call = aroundCallOf(about);
  const kinds: unknown[] = ["complete", "failure"];
  // In era 2025 a question goes out while the call runs: no call ends in one.
  if (about.call.dialect.era === "2026") kinds.push("inputRequired");
  if (call.method === "tools/call") kinds.push("invalidArguments");
  const { always, name } = about;
  return arounds.reduceRight<Next>((next, around) => {
    let runs = 0;
    return async () => {
      const inside = new Stopwatch();
      let isOver = false;
      const bounded = async () => {
        // Nobody waits any more for who asks.
        if (isOver) throw new Error("next() was called too late: the call was answered");
        runs += 1;
        if (runs > MOST_RUNS) throw new Error(`${name}: next() was called more than ${MOST_RUNS} times`);
        return inside.run(next);
      };
      const ended = await runHandler<unknown>(() => around(call, bounded), {
        timeoutMs: OWN_MS,
        interview: { waited: () => inside.elapsed },
      });
      isOver = ended.kind === "timedOut";
      const outcome = ended.kind === "returned" ? (always ?? ended.value) : undefined;
      if (isObject(outcome) && kinds.includes(outcome.kind)) return outcome as unknown as AroundOutcome;
      const why = isOver ? `took longer than ${OWN_MS} ms of its own` : "returned no outcome: return what next() gives";
      const fault = outcomeOf(ended.kind === "threw" ? ended.error : new TypeError(`around ${name} ${why}`), about);
      return always ?? fault;
    };
  }, innermost);
}

function aroundCallOf(about: Refusable): AroundCall {
  const { args, call, refused } = about;
  let abort: AbortController | undefined;
  const signal = () => {
    const made = new AbortController();
    const { cancelled } = call.sink;
    const end = () => {
      made.abort(new Error("the client cancelled the call"));
    };
    if (cancelled.aborted) end();
    else cancelled.addEventListener("abort", end);
    return made;
  };
  return Object.defineProperties({ args, refused } as AroundCall, {
    ...Object.getOwnPropertyDescriptors(eventOf(about)),
    signal: { enumerable: true, get: () => (abort ??= signal()).signal },
  });
}
