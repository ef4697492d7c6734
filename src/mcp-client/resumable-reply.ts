// Reads the answer to one 2025 request across broken connections. A stream with event ids is resumed where it broke, as
// often as the server closes it. The request itself is never sent again.
// https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#resumability-and-redelivery

import type { MessageId } from "../protocol/jsonrpc.ts";
import { Backoff } from "./backoff.ts";
import { pause, type Clock } from "./clock.ts";
import { closeAnswer, type HttpAnswer, type OpenStream } from "./http-answer.ts";
import { isTransientFault, McpFault, retryAfterMs, type Fault } from "./fault.ts";
import type { Message } from "./message.ts";
import { readAnswerMessages, ResponseMatcher, withCloseOnReturn, toMcpReply, type McpReply } from "./mcp-reply.ts";
import { CancelSignal } from "./cancel-signal.ts";

const MAX_FAILURES = 5;

export interface ResumeOptions {
  readonly id: MessageId;
  readonly clock: Clock;
  readonly signal: AbortSignal | undefined;
  /** Limit over all connections, counted from `startedAt`. */
  readonly totalMs: number;
  readonly startedAt: number;
  readonly reopen: (lastEventId: string, options: ReopenOptions) => Promise<OpenStream>;
}

export interface ReopenOptions {
  readonly signal: AbortSignal;
  readonly totalMs: number;
}

export function toResumableReply(first: HttpAnswer, options: ResumeOptions): McpReply {
  if (first.kind !== "stream") return toMcpReply(first, options.id);
  const reading = new ResumingReader(first, options);
  return {
    http: first.http,
    headers: first.headers,
    messages: withCloseOnReturn(reading.messages(), () => reading.close()),
  };
}

class ResumingReader {
  readonly #options: ResumeOptions;
  readonly #matcher: ResponseMatcher;
  readonly #backoff: Backoff;
  readonly #cancelSignal: CancelSignal;
  #stream: OpenStream;
  #retryMs: number | undefined;

  constructor(first: OpenStream, options: ResumeOptions) {
    this.#options = options;
    this.#matcher = new ResponseMatcher(options.id);
    this.#backoff = new Backoff(options.clock);
    this.#cancelSignal = new CancelSignal(options.signal);
    this.#stream = first;
  }

  async *messages(): AsyncGenerator<Message, void, void> {
    try {
      let openedAt = this.#options.startedAt;
      for (let broken = yield* this.#read(); broken; broken = yield* this.#read()) {
        this.#backoff.recordConnection(this.#options.clock.now() - openedAt, this.#stream.events.hasEvents);
        this.#stream = await this.#reconnect(broken);
        openedAt = this.#options.clock.now();
      }
    } catch (error) {
      throw error instanceof McpFault ? this.#toOverallFault(error) : error;
    } finally {
      this.close();
    }
  }

  close(): void {
    this.#cancelSignal.end();
    closeAnswer(this.#stream);
  }

  /** One connection. Returns the fault if it broke and can be resumed, or undefined after the response. */
  async *#read(): AsyncGenerator<Message, McpFault | undefined, void> {
    try {
      yield* readAnswerMessages(this.#stream, this.#matcher);
      return undefined;
    } catch (error) {
      const { lastEventId } = this.#stream.events.position;
      if (!(error instanceof McpFault) || !isDisconnect(error.fault) || lastEventId === undefined) throw error;
      return error;
    }
  }

  async #reconnect(broken: McpFault): Promise<OpenStream> {
    const { lastEventId = "", retryMs } = this.#stream.events.position;
    this.#retryMs = retryMs ?? this.#retryMs;
    let lastFault = broken;
    for (let failures = 0; failures < MAX_FAILURES; failures += 1) {
      await this.#wait(lastFault.fault);
      try {
        return await this.#options.reopen(lastEventId, {
          signal: this.#cancelSignal.signal,
          totalMs: this.#remainingMs(),
        });
      } catch (error) {
        if (!(error instanceof McpFault)) throw error;
        lastFault = error;
      }
      if (isFinal(lastFault.fault)) throw lastFault;
      if (!isTransientFault(lastFault.fault)) break;
    }
    throw new McpFault({ kind: "unresumable", lastFault: lastFault.fault, sent: "yes" }, lastFault);
  }

  async #wait(why: Fault): Promise<void> {
    const { clock, totalMs } = this.#options;
    const delays = [this.#retryMs, retryAfterMs(why, clock.now())].filter((ms) => ms !== undefined);
    const waitMs = this.#backoff.nextDelayMs(delays.length === 0 ? undefined : Math.max(...delays));
    if (waitMs >= this.#remainingMs()) {
      throw new McpFault({ kind: "timeout", stage: "total", afterMs: totalMs, sent: "yes" });
    }
    if (!(await pause(clock, waitMs, this.#cancelSignal.signal))) throw this.#cancelSignal.fault();
  }

  /** Adapts a fault of one attempt to the whole: the request was sent, and the time limit is for all attempts. */
  #toOverallFault({ fault, cause }: McpFault): McpFault {
    const isOverTime = fault.kind === "timeout" && fault.stage === "total";
    const time = isOverTime ? { afterMs: this.#options.totalMs } : {};
    return new McpFault({ ...fault, ...time, sent: "yes" }, cause);
  }

  #remainingMs(): number {
    const { clock, totalMs, startedAt } = this.#options;
    return totalMs - (clock.now() - startedAt);
  }
}

/** The connection is gone, but the answer may still come on another one. */
function isDisconnect(fault: Fault): boolean {
  return (
    fault.kind === "lost" || fault.kind === "unanswered" || (fault.kind === "timeout" && fault.stage === "silence")
  );
}

function isFinal(fault: Fault): boolean {
  return fault.kind === "cancelled" || (fault.kind === "timeout" && fault.stage === "total");
}
