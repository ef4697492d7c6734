// Owns reading the answer to one 2025 request across broken connections: a stream with event ids is continued where it
// broke, as often as the server closes it. Refuses to send the request again, and to wait for a server that does not
// come back.
// https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#resumability-and-redelivery

import type { RequestId } from "../protocol/jsonrpc.ts";
import { Backoff } from "./backoff.ts";
import { pause, type Clock } from "./clock.ts";
import { closeAnswer, type HttpAnswer, type OpenStream } from "./http-answer.ts";
import { isPassing, McpFault, retryAfterMs, type Fault } from "./fault.ts";
import type { Message } from "./message.ts";
import { answersIn, Answers, owned, replyOf, type McpReply } from "./mcp-reply.ts";
import { Stop } from "./stop.ts";

const MAX_FAILURES = 5;

export interface Resuming {
  readonly id: RequestId;
  readonly clock: Clock;
  readonly signal: AbortSignal | undefined;
  /** The limit for all connections together, counted from `began`. */
  readonly totalMs: number;
  readonly began: number;
  readonly reopen: (lastEventId: string, options: ReopenOptions) => Promise<OpenStream>;
}

export interface ReopenOptions {
  readonly signal: AbortSignal;
  readonly totalMs: number;
}

export function resumableReply(first: HttpAnswer, resuming: Resuming): McpReply {
  if (first.kind !== "stream") return replyOf(first, resuming.id);
  const reading = new ResumedReading(first, resuming);
  return { http: first.http, headers: first.headers, messages: owned(reading.messages(), () => reading.close()) };
}

class ResumedReading {
  readonly #resuming: Resuming;
  readonly #answers: Answers;
  readonly #backoff: Backoff;
  readonly #stop: Stop;
  #current: OpenStream;
  #retryMs: number | undefined;

  constructor(first: OpenStream, resuming: Resuming) {
    this.#resuming = resuming;
    this.#answers = new Answers(resuming.id);
    this.#backoff = new Backoff(resuming.clock);
    this.#stop = new Stop(resuming.signal);
    this.#current = first;
  }

  async *messages(): AsyncGenerator<Message, void, void> {
    try {
      let openedAt = this.#resuming.began;
      for (let broken = yield* this.#read(); broken; broken = yield* this.#read()) {
        this.#backoff.ended(this.#resuming.clock.now() - openedAt, this.#current.events.hasSpoken);
        this.#current = await this.#comeBack(broken);
        openedAt = this.#resuming.clock.now();
      }
    } catch (error) {
      throw error instanceof McpFault ? this.#ofTheWhole(error) : error;
    } finally {
      this.close();
    }
  }

  close(): void {
    this.#stop.end();
    closeAnswer(this.#current);
  }

  /** One connection. Returns the fault where it broke and can be continued, undefined after the response. */
  async *#read(): AsyncGenerator<Message, McpFault | undefined, void> {
    try {
      yield* answersIn(this.#current, this.#answers);
      return undefined;
    } catch (error) {
      const { lastEventId } = this.#current.events.position;
      if (!(error instanceof McpFault) || !isBreak(error.fault) || lastEventId === undefined) throw error;
      return error;
    }
  }

  async #comeBack(broken: McpFault): Promise<OpenStream> {
    const { lastEventId = "", retryMs } = this.#current.events.position;
    this.#retryMs = retryMs ?? this.#retryMs;
    let why = broken;
    for (let failures = 0; failures < MAX_FAILURES; failures += 1) {
      await this.#wait(why.fault);
      try {
        return await this.#resuming.reopen(lastEventId, { signal: this.#stop.signal, totalMs: this.#leftMs() });
      } catch (error) {
        if (!(error instanceof McpFault)) throw error;
        why = error;
      }
      if (isFinal(why.fault)) throw why;
      if (!isPassing(why.fault)) break;
    }
    throw new McpFault({ kind: "unresumable", why: why.fault, sent: "yes" }, why);
  }

  async #wait(why: Fault): Promise<void> {
    const { clock, totalMs } = this.#resuming;
    const asked = [this.#retryMs, retryAfterMs(why, clock.now())].filter((ms) => ms !== undefined);
    const waitMs = this.#backoff.nextMs(asked.length === 0 ? undefined : Math.max(...asked));
    if (waitMs >= this.#leftMs()) {
      throw new McpFault({ kind: "timeout", stage: "total", afterMs: totalMs, sent: "yes" });
    }
    if (!(await pause(clock, waitMs, this.#stop.signal))) throw this.#stop.fault();
  }

  /** A fault of one attempt as one of the whole: the request was sent before, and the limit is for all attempts. */
  #ofTheWhole({ fault, cause }: McpFault): McpFault {
    const isOverTime = fault.kind === "timeout" && fault.stage === "total";
    const time = isOverTime ? { afterMs: this.#resuming.totalMs } : {};
    return new McpFault({ ...fault, ...time, sent: "yes" }, cause);
  }

  #leftMs(): number {
    const { clock, totalMs, began } = this.#resuming;
    return totalMs - (clock.now() - began);
  }
}

/** The connection is gone, and the answer may still come on another one. */
function isBreak(fault: Fault): boolean {
  return (
    fault.kind === "lost" || fault.kind === "unanswered" || (fault.kind === "timeout" && fault.stage === "silence")
  );
}

function isFinal(fault: Fault): boolean {
  return fault.kind === "cancelled" || (fault.kind === "timeout" && fault.stage === "total");
}
