// Owns the 2025 session behind the local client: its requests, its streams, and that it begins anew when it was lost.
// Refuses to repeat a call that may have run: only what the server never took is sent a second time.
// https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#streamable-http

import { tellUntilTaken } from "../../../mcp-client/channel-2025.ts";
import { McpFault } from "../../../mcp-client/fault.ts";
import { resultOf, type Message, type ResponseMessage } from "../../../mcp-client/message.ts";
import type { McpReply } from "../../../mcp-client/mcp-reply.ts";
import { beginSession, type Session2025 } from "../../../mcp-client/session-2025.ts";
import { followStanding, type StandingEvent } from "../../../mcp-client/standing-2025.ts";
import { end2025, send2025, tell2025 } from "../../../mcp-client/streamable-2025.ts";
import { dropReason, mcpReason } from "../terminal/mcp-problem.ts";
import { beginAgain } from "./begin-again.ts";
import { DEFAULT_DIALECT, dialect2025, type Dialect } from "../../../protocol/era.ts";
import type { LocalCall } from "./calls.ts";
import type { LocalNotification, LocalResponse } from "./local-message.ts";
import { Remembered } from "./remembered.ts";
import { answering, logRefusal, type Wiring } from "./wiring.ts";

const GOODBYE_MS = 2000;
/** Most servers end the stream right after the answer; waiting for that keeps the connection for the next request. */
const LINGER_MS = 1000;

/** One session, until the client ends it or the server has lost it. */
interface Life {
  readonly session: Session2025;
  readonly end: AbortController;
}

export class Bridge2025 {
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

  /** Of the session, or what one has that says nothing. */
  get dialect(): Dialect {
    return dialect2025(this.#life?.session.revision ?? "") ?? DEFAULT_DIALECT;
  }

  async request(call: LocalCall): Promise<void> {
    await answering(this.#wiring, call, async () => {
      if (call.sent.method === "initialize") {
        await this.goodbye();
        this.#remembered.forget();
      }
      const { endpoint } = this.#wiring;
      const options = { signal: call.signal, limits: { lingerMs: LINGER_MS } };
      const reply = await this.#inSession(async (session) => send2025(endpoint, session, call.sent, options));
      await this.#relay(call, reply);
    });
    call.close();
  }

  /** A notification or a response: nobody waits for an answer. */
  async tell(sent: LocalNotification | LocalResponse): Promise<void> {
    if (sent.kind === "response" && !this.#remembered.takeQuestion(sent.id)) {
      return this.#wiring.log(`a response to ${JSON.stringify(sent.id)}, which nobody asks any more`);
    }
    try {
      if (sent.kind === "response") await this.#answer(sent.text);
      else await this.#notify(sent);
    } catch (error) {
      if (this.#wiring.signal.aborted) return;
      this.#wiring.log(`${sent.method || "response"}: ${mcpReason(error, this.#wiring.endpoint)}`);
    }
    if (sent.method === "notifications/initialized" && this.#life) void this.#listen(this.#life);
  }

  /** Ends the session at the server. Failures are ignored: servers forget sessions by themselves too. */
  async goodbye(): Promise<void> {
    const life = this.#life;
    this.#life = undefined;
    life?.end.abort();
    if (!life) return;
    const limits = { totalMs: GOODBYE_MS };
    await end2025(this.#wiring.endpoint, life.session, { limits }).catch(() => undefined);
  }

  /** Sends an answer until it is taken, because the server waits. Not into a new session, which asked nothing. */
  async #answer(text: string): Promise<void> {
    const { endpoint, signal } = this.#wiring;
    await this.#renewal;
    const life = this.#life;
    const channel = { tell: async () => tell2025(endpoint, life?.session, text, { signal }) };
    await this.#noticing(life, async () => tellUntilTaken(channel, text, { clock: endpoint.clock, signal }));
  }

  async #notify({ method, text }: LocalNotification): Promise<void> {
    const { endpoint, signal } = this.#wiring;
    const tell = async (session: Session2025 | undefined) => tell2025(endpoint, session, text, { signal });
    if (method !== "notifications/cancelled") return this.#inSession(tell);
    // If the session is gone, the request that this cancels is gone with it: nothing to repeat in the new one.
    await this.#renewal;
    const life = this.#life;
    await this.#noticing(life, async () => tell(life?.session));
  }

  /** Does the work in the session. If the server has lost that, nothing ran, so the work is done again in a new one. */
  async #inSession<T>(work: (session: Session2025 | undefined) => Promise<T>): Promise<T> {
    await this.#renewal;
    const life = this.#life;
    try {
      return await work(life?.session);
    } catch (error) {
      if (life === undefined || !isSessionGone(error)) throw error;
      await this.#renew(life);
    }
    return work(this.#life?.session);
  }

  /** Renews a session that turns out to be gone, and does not repeat the work. */
  async #noticing(life: Life | undefined, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (life && isSessionGone(error)) await this.#renew(life);
      throw error;
    }
  }

  async #relay(call: LocalCall, reply: McpReply): Promise<void> {
    for await (const message of reply.messages) {
      if (message.kind === "response") await this.#settle(call, message, reply);
      else await this.#pass(message);
    }
  }

  async #settle(call: LocalCall, response: ResponseMessage, { headers, http }: McpReply): Promise<void> {
    if (!call.isOpen) return;
    logRefusal(this.#wiring, call.sent.method, response, http);
    const result = resultOf(response);
    if (result) {
      this.#remembered.learn(call.sent);
      if (call.sent.method === "initialize") {
        this.#life = { session: beginSession(call.sent.params, result, headers), end: new AbortController() };
      }
    }
    await call.answer(response);
  }

  /** What a server says or asks while it works. */
  async #pass(message: Exclude<Message, ResponseMessage>): Promise<void> {
    if (message.kind === "request") this.#remembered.addQuestion(message.id);
    await this.#wiring.write(message.text);
  }

  /** Follows the stream on which the server speaks unasked. Never rejects. */
  async #listen(life: Life): Promise<void> {
    const { endpoint, signal, log } = this.#wiring;
    const options = { signal: AbortSignal.any([life.end.signal, signal]), limits: endpoint.limits };
    try {
      for await (const event of followStanding(endpoint, life.session, options)) await this.#hear(event);
    } catch (error) {
      if (options.signal.aborted) return;
      if (!isSessionGone(error)) return log(`no notifications: ${mcpReason(error, endpoint)}`);
      await this.#renew(life).catch((failed: unknown) => log(mcpReason(failed, endpoint)));
    }
  }

  async #hear(event: StandingEvent): Promise<void> {
    const { log } = this.#wiring;
    if (event.kind === "message") return this.#pass(event.message);
    if (event.kind !== "dropped" || event.fault.kind === "unanswered") return;
    log(`no notifications for now: ${dropReason(event.fault)}`);
  }

  /** Many requests may find the session gone at once: the first begins the renewal, the others wait for it. */
  async #renew(lost: Life): Promise<void> {
    if (this.#life !== lost) return this.#renewal;
    this.#renewal ??= this.#begin(lost).finally(() => {
      this.#renewal = undefined;
    });
    await this.#renewal;
  }

  async #begin(lost: Life): Promise<void> {
    this.#wiring.log(`${this.#wiring.endpoint.url} knows the session no more; a new one begins`);
    lost.end.abort();
    this.#remembered.dropQuestions();
    const session = await beginAgain(lost.session, this.#remembered, this.#wiring);
    this.#life = { session, end: new AbortController() };
    void this.#listen(this.#life);
  }
}

function isSessionGone(error: unknown): boolean {
  return error instanceof McpFault && error.fault.kind === "sessionGone";
}
