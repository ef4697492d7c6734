// Owns running a completer, an author's function that proposes values while somebody types one. Refuses it questions.

import type { Call } from "../protocol/call.ts";
import { failure, type Failure } from "../protocol/errors.ts";
import type { AskedValue } from "../protocol/source.ts";
import type { CallHost } from "./call-host.ts";
import { Context } from "./context.ts";
import { runHandler } from "./run-handler.ts";
import { StreamInterview } from "./stream-interview.ts";

export type Completer = (
  value: string,
  about: { readonly arguments: Readonly<Record<string, string>>; readonly ctx: Context },
) => readonly string[] | Promise<readonly string[]>;

const TIMEOUT_MS = 10_000;

export async function runCompleter(
  completer: Completer,
  { name, value, known }: AskedValue,
  call: Call,
  host: CallHost,
): Promise<readonly string[] | Failure> {
  const interview = new StreamInterview({}, undefined, undefined);
  const ctx = new Context(call, host, interview, name);
  const ended = await runHandler(async () => completer(value, { arguments: known, ctx }), {
    timeoutMs: TIMEOUT_MS,
    interview,
    sink: call.sink,
  });
  if (ended.kind === "returned") return ended.value;
  ctx.abort(new Error("the completion is over"));
  if (ended.kind === "threw") host.hooks.onError?.(ended.error, undefined);
  return ended.kind === "timedOut" ? failure("timeout") : failure("internal", "Internal error: the completion failed");
}
