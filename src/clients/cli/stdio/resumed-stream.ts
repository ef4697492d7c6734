// Owns reading the answer to one 2025 request across broken connections: a stream with event ids goes on where it was.
// Refuses to wait for a server that does not come back.

import { Backoff, pause } from "../backoff.ts";
import type { McpAnswer, Received } from "../mcp-http.ts";
import { isBusy, reasonOf, refusalOf, type Wiring } from "./wiring.ts";

const MAX_FAILURES = 5;

export interface Resume {
  readonly wiring: Wiring;
  readonly signal: AbortSignal;
  /** What the stream was opened for has come. */
  readonly isDone: () => boolean;
  readonly reopen: (lastEventId: string) => Promise<McpAnswer>;
}

export async function* readResumed(first: McpAnswer, resume: Resume): AsyncGenerator<Received, void, void> {
  const { cursor } = first;
  const backoff = new Backoff();
  let answer: McpAnswer | undefined = first;
  let reason = refusalOf(resume.wiring, first);
  for (let failures = 0; failures < MAX_FAILURES; failures += 1) {
    try {
      if (answer) yield* answer.messages;
    } catch (error) {
      reason = reasonOf(error);
    }
    Object.assign(cursor, answer?.cursor);
    if (resume.isDone()) return;
    if (cursor.lastEventId === undefined) break;
    if (!(await pause(backoff.nextMs(cursor.retryMs), resume.signal))) return;
    const next = await reopen(cursor.lastEventId, resume);
    answer = typeof next === "string" ? undefined : next;
    if (typeof next === "string") reason = next;
    if (answer === undefined) continue;
    // A server may let its client come back as often as it likes.
    failures = 0;
    backoff.reset();
  }
  throw new Error(reason);
}

/** Why not yet, in words; throws where it never will. */
async function reopen(lastEventId: string, { wiring, reopen: open }: Resume): Promise<McpAnswer | string> {
  let answer: McpAnswer;
  try {
    answer = await open(lastEventId);
  } catch (error) {
    return reasonOf(error);
  }
  if (answer.kind === "stream") return answer;
  if (isBusy(answer)) return refusalOf(wiring, answer);
  throw new Error(`the stream broke and cannot be resumed: ${refusalOf(wiring, answer)}`);
}
