// Owns running what is no call: a completer, an author's function that proposes values while somebody types one, and what
// else is asked beside calls. Refuses it questions.

import type { Call } from "../protocol/call.ts";
import { failure } from "../protocol/errors.ts";
import type { CallOutcome } from "../protocol/outcome.ts";
import type { AskedValue } from "../protocol/source.ts";
import type { CallHost } from "./call-host.ts";
import { CallContext } from "./call-context.ts";
import { eventOf, outcomeOf } from "./fault.ts";
import { runHandler, type HandlerEnd } from "./run-handler.ts";
import { StreamInterview } from "./stream-interview.ts";
import type { Context } from "./typed-context.ts";

/** What a completer is told beside what was typed. `Name`: of all that may have been chosen before. */
export interface CompletionContext<Name extends string = string, Ctx = Context> {
  readonly arguments: Readonly<Partial<Record<Name, string>>>;
  readonly ctx: Ctx;
}

/** A method's type, so that an author may say more of `ctx`: `({ ctx }: CompletionContext<string, Context<Env, Settings>>)`. */
export type Completer<Name extends string = string> = {
  of(value: string, about: CompletionContext<Name>): readonly string[] | Promise<readonly string[]>;
}["of"];

const TIMEOUT_MS = 10_000;

export async function runCompleter(
  completer: Completer,
  { name, value, known }: AskedValue,
  call: Call,
  host: CallHost,
): Promise<readonly string[] | CallOutcome> {
  const work = (ctx: CallContext) => completer(value, { arguments: known, ctx: ctx as never });
  const ended = await runAside(work, { name, timeoutMs: TIMEOUT_MS, call, host });
  if (ended.kind === "returned") return ended.value;
  if (ended.kind === "threw") return outcomeOf(ended.error, { name, call, host });
  if (ended.kind === "timedOut")
    host.hooks.onError?.(new Error(`${name}: no values in time`), eventOf({ name, call, host }));
  return failure(ended.kind === "timedOut" ? "timeout" : "cancelled");
}

interface Aside {
  readonly name: string;
  readonly timeoutMs: number;
  readonly call: Call;
  readonly host: CallHost;
}

/** Runs an author's function that asks nobody anything. */
export async function runAside<T>(
  work: (ctx: CallContext) => T | Promise<T>,
  { name, timeoutMs, call, host }: Aside,
): Promise<HandlerEnd<T>> {
  const interview = new StreamInterview({ dialect: call.dialect, capabilities: {} }, undefined);
  const ctx = new CallContext(call, host, interview, name);
  const ended = await runHandler(async () => work(ctx), { timeoutMs, interview, sink: call.sink });
  if (ended.kind !== "returned") ctx.abort(new Error("nobody waits for it any more"));
  ctx.close();
  return ended;
}
