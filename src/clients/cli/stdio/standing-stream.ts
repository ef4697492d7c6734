// Owns the stream of a 2025 session on which a server speaks unasked: opened once, opened again where it stopped.
// Refuses to insist where a server has no such stream.

import { Backoff, pause } from "../backoff.ts";
import { sendMcp, type McpAnswer, type Received } from "../mcp-http.ts";
import type { SseCursor } from "../sse.ts";
import { isBusy, reasonOf, refusalOf, type Wiring } from "./wiring.ts";

export interface StandingStream {
  readonly wiring: Wiring;
  /** Those of the session. */
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
  readonly take: (received: Received) => Promise<void>;
  /** The server knows the session no more. */
  readonly lost: () => void;
}

const NOT_FOUND = 404;

/** Never throws. */
export async function followStandingStream(stream: StandingStream): Promise<void> {
  const { wiring, signal } = stream;
  const cursor: SseCursor = {};
  const backoff = new Backoff();
  let hasBeenOpen = false;
  do {
    const answer = await open(stream, cursor);
    if (signal.aborted) return;
    if (answer?.kind === "stream") {
      hasBeenOpen = true;
      if (await read(stream, answer)) backoff.reset();
      Object.assign(cursor, answer.cursor);
    } else if (answer && !isBusy(answer)) {
      // A server without this stream says so at once; one that had it has lost the session.
      if (hasBeenOpen && answer.status === NOT_FOUND) stream.lost();
      else if (answer.status !== 405) wiring.log(`no notifications: ${refusalOf(wiring, answer)}`);
      return;
    }
  } while (await pause(backoff.nextMs(cursor.retryMs), signal));
}

async function open({ wiring, headers, signal }: StandingStream, cursor: SseCursor): Promise<McpAnswer | undefined> {
  const { lastEventId } = cursor;
  const all = {
    ...headers,
    accept: "text/event-stream",
    ...(lastEventId !== undefined && { "last-event-id": lastEventId }),
  };
  try {
    return await sendMcp(wiring.place, { method: "GET", headers: all, signal });
  } catch (error) {
    if (!signal.aborted) wiring.log(`no notifications for now: ${reasonOf(error)}`);
    return undefined;
  }
}

/** Whether it was good for something. */
async function read({ wiring, signal, take }: StandingStream, answer: McpAnswer): Promise<boolean> {
  let count = 0;
  try {
    for await (const received of answer.messages) {
      count += 1;
      await take(received);
    }
  } catch (error) {
    if (!signal.aborted) wiring.log(`the stream of notifications broke: ${reasonOf(error)}`);
  }
  return count > 0;
}
