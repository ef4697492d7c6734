// Owns the 2025 session behind the local client: its requests, its streams, and that it begins anew when it was lost.
// Refuses to repeat a call that may have run: only what the server never took is sent a second time.
// https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#streamable-http

import { pause } from "../backoff.ts";
import { isObject, sendMcp, type McpAnswer, type Received } from "../mcp-http.ts";
import type { Call } from "./calls.ts";
import { Remembered } from "./remembered.ts";
import { readResumed } from "./resumed-stream.ts";
import { beginAgain, headersOf, lifeOf, postIn, type Life } from "./session-life.ts";
import { followStandingStream } from "./standing-stream.ts";
import { isAnswerTo, isResponse, type Sent } from "./wire.ts";
import { answering, reasonOf, refusalOf, type Wiring } from "./wiring.ts";

const AFTER_ANSWER_MS = 1000;
const GOODBYE_MS = 2000;
const RETRY_MS = [100, 500, 2000] as const;

export class Session2025 {
  readonly #wiring: Wiring;
  readonly #remembered = new Remembered();
  #life: Life | undefined;
  #renewal: Promise<void> | undefined;

  constructor(wiring: Wiring) {
    this.#wiring = wiring;
  }

  get isOpen(): boolean {
    return this.#life !== undefined;
  }

  async request(call: Call): Promise<void> {
    await answering(this.#wiring, call, async () => {
      if (call.sent.method === "initialize") {
        await this.goodbye();
        this.#remembered.forget();
      }
      await this.#relay(call, await this.#post(call.sent, call.signal));
    });
    // A server that leaves the stream open has nothing more to say on it.
    call.close();
  }

  /** A notification or a response: nobody waits for an answer. */
  async tell(sent: Sent): Promise<void> {
    if (sent.kind === "response" && !this.#remembered.takeQuestion(sent.message.id)) {
      return this.#wiring.log(`a response to ${JSON.stringify(sent.message.id)}, which nobody asks any more`);
    }
    const answer = sent.kind === "response" ? await this.#insist(sent) : await this.#post(sent, this.#wiring.signal);
    if (answer.status >= 400) this.#wiring.log(`${sent.method || "response"}: ${refusalOf(this.#wiring, answer)}`);
    for await (const received of answer.messages) await this.#pass(received);
    if (sent.method === "notifications/initialized" && this.#life) this.#listen(this.#life);
  }

  /** Somebody waits for it, and a server takes it twice: sent again when it may not have arrived. */
  async #insist(sent: Sent): Promise<McpAnswer> {
    const { signal } = this.#wiring;
    for (const wait of RETRY_MS) {
      try {
        return await this.#post(sent, signal);
      } catch (error) {
        if (!(await pause(wait, signal))) throw error;
      }
    }
    return this.#post(sent, signal);
  }

  /** Best effort: a server forgets sessions by itself too. */
  async goodbye(): Promise<void> {
    const life = this.#life;
    this.#life = undefined;
    life?.end.abort();
    if (life?.id === undefined) return;
    const signal = AbortSignal.timeout(GOODBYE_MS);
    await sendMcp(this.#wiring.place, { method: "DELETE", headers: headersOf(life), signal }).catch(() => undefined);
  }

  /** In the session, and once more if that turns out to be gone. */
  async #post(sent: Sent, signal: AbortSignal): Promise<McpAnswer> {
    await this.#renewal;
    const life = this.#life;
    const { place } = this.#wiring;
    const answer = await postIn(life, sent.text, { place, signal });
    if (answer.status !== 404 || life?.id === undefined) return answer;
    await this.#renew(life);
    // What it answers or cancels ended with the session.
    if (sent.kind === "response" || sent.method === "notifications/cancelled") return answer;
    return postIn(this.#life, sent.text, { place, signal });
  }

  async #relay(call: Call, answer: McpAnswer): Promise<void> {
    const life = this.#life;
    const stream = readResumed(answer, {
      wiring: this.#wiring,
      signal: call.signal,
      isDone: () => !call.isOpen,
      reopen: async (lastEventId) => {
        const headers = { ...headersOf(life), accept: "text/event-stream", "last-event-id": lastEventId };
        return sendMcp(this.#wiring.place, { method: "GET", headers, signal: call.signal });
      },
    });
    for await (const received of stream) {
      if (!isResponse(received.message)) await this.#pass(received);
      else if (isAnswerTo(call.id, received.message)) await this.#settle(call, received, answer);
    }
  }

  async #settle(call: Call, received: Received, answer: McpAnswer): Promise<void> {
    if (!call.isOpen) return;
    const { result } = received.message;
    if (isObject(result)) {
      this.#remembered.learn(call.sent);
      if (call.sent.method === "initialize") this.#life = lifeOf(call.sent.params, result, answer);
    }
    await call.answer(received);
    setTimeout(() => call.close(), AFTER_ANSWER_MS).unref();
  }

  /** What a server says or asks while it works. */
  async #pass({ message, text }: Received): Promise<void> {
    if (isResponse(message)) return;
    if (message.id !== undefined) this.#remembered.addQuestion(message.id);
    await this.#wiring.write(text);
  }

  #listen(life: Life): void {
    void followStandingStream({
      wiring: this.#wiring,
      headers: headersOf(life),
      signal: AbortSignal.any([life.end.signal, this.#wiring.signal]),
      take: async (received) => this.#pass(received),
      lost: () => void this.#renew(life).catch((error: unknown) => this.#wiring.log(reasonOf(error))),
    });
  }

  /** Whoever finds the session gone waits for the one renewal. */
  async #renew(lost: Life): Promise<void> {
    if (this.#life !== lost) return this.#renewal;
    this.#renewal ??= this.#begin(lost).finally(() => {
      this.#renewal = undefined;
    });
    await this.#renewal;
  }

  async #begin(lost: Life): Promise<void> {
    this.#wiring.log(`${this.#wiring.place.url} knows the session no more; a new one begins`);
    lost.end.abort();
    this.#remembered.dropQuestions();
    this.#life = await beginAgain(lost, this.#remembered, this.#wiring);
    this.#listen(this.#life);
  }
}
