// Owns what an author has run around calls, of one tool, of a tenant or of all: each is reached once for each call,
// whatever becomes of it, and gives its outcome. Refuses to answer a call that is refused, or whose rights have ended.

import type { Call } from "../protocol/call.ts";
import type { Failure } from "../protocol/errors.ts";
import { isObject, type JsonObject } from "../protocol/jsonrpc.ts";
import type { CallOutcome } from "../protocol/outcome.ts";
import type { Around, AroundCall, AroundOutcome } from "./call-host.ts";
import { eventOf, outcomeOf, type AuthoredCall } from "./fault.ts";

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

async function runAround(
  arounds: readonly Around[],
  about: Surrounded,
  next: () => Promise<AroundOutcome>,
): Promise<AroundOutcome> {
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
export async function runRefused(about: Refusable, refused: CallOutcome): Promise<void> {
  const deaf = (about.host.around ?? []).map((around): Around => async (call, next) => {
    await around(call, next);
    return refused;
  });
  const why = refused.kind === "failure" ? refused : undefined;
  await nested(deaf, { ...about, refused: why }, () => Promise.resolve(refused))();
}

interface Refusable extends Omit<AuthoredCall, "call"> {
  readonly call: Pick<Call, "method" | "dialect" | "sink">;
  readonly args?: JsonObject | undefined;
  readonly refused?: Failure | undefined;
}

function nested(
  arounds: readonly Around[],
  about: Refusable,
  innermost: () => Promise<AroundOutcome>,
): () => Promise<AroundOutcome> {
  const call = aroundCallOf(about);
  const kinds: unknown[] = ["complete", "failure"];
  // In era 2025 a question goes out while the call runs: no call ends in one.
  if (about.call.dialect.era === "2026") kinds.push("inputRequired");
  if (call.method === "tools/call") kinds.push("invalidArguments");
  return arounds.reduceRight<() => Promise<AroundOutcome>>(
    (next, around) => async () => {
      try {
        const outcome: unknown = await around(call, next);
        if (isObject(outcome) && kinds.includes(outcome.kind)) return outcome as unknown as AroundOutcome;
        throw new TypeError(`around ${about.name} returned no outcome: return what next() gives`);
      } catch (error) {
        return outcomeOf(error, about);
      }
    },
    innermost,
  );
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
