// The 2025 session behind the local client: its requests and streams, and its renewal when the server has lost it. A
// call that may have run is never repeated, only one that the server did not accept.
// https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#streamable-http

import { sendOneWayWithRetry } from "../../mcp-client/channel-2025.ts";
import { McpFault } from "../../mcp-client/fault.ts";
import { resultOf, type Message, type ResponseMessage } from "../../mcp-client/message.ts";
import type { McpReply } from "../../mcp-client/mcp-reply.ts";
import { createSession2025, type Session2025 } from "../../mcp-client/session-2025.ts";
import { followGetStream, type GetStreamEvent } from "../../mcp-client/get-stream-2025.ts";
import { end2025, send2025, sendOneWay2025 } from "../../mcp-client/streamable-2025.ts";
import { dropReason, mcpErrorMessage } from "../terminal/mcp-error.ts";
import { reconnect } from "./reconnect.ts";
import { DEFAULT_REVISION, findRevision2025, type RevisionFeatures } from "../../protocol/revisions.ts";
import type { OpenRequest } from "./open-requests.ts";
import type { LocalNotification, LocalResponse } from "./local-message.ts";
import { SessionState } from "./session-state.ts";
import { ensureResponse, logRejection, type BridgeOptions } from "./bridge-options.ts";

const END_TIMEOUT_MS = 2000;
/**
 * Most servers end the stream right after the answer. Waiting for that keeps the connection usable for the next
 * request.
 */
const LINGER_MS = 1000;

/** A session, until the client ends it or the server has lost it. */
interface ActiveSession {
  readonly session: Session2025;
  readonly end: AbortController;
}

export class Bridge2025 {
  readonly #options: BridgeOptions;
  readonly #state = new SessionState();
  #active: ActiveSession | undefined;
  #renewal: Promise<void> | undefined;

  constructor(options: BridgeOptions) {
    this.#options = options;
  }

  get isOpen(): boolean {
    return this.#active !== undefined;
  }

  /** The features of the session's revision, or of the default one. */
  get revision(): RevisionFeatures {
    return findRevision2025(this.#active?.session.revision ?? "") ?? DEFAULT_REVISION;
  }

  async request(call: OpenRequest): Promise<void> {
    await ensureResponse(this.#options, call, async () => {
      if (call.request.method === "initialize") {
        await this.endSession();
        this.#state.reset();
      }
      const { endpoint } = this.#options;
      const options = { signal: call.signal, limits: { lingerMs: LINGER_MS } };
      const reply = await this.#withSession(async (session) => send2025(endpoint, session, call.request, options));
      await this.#relay(call, reply);
    });
    call.close();
  }

  /** Forwards a notification or a response, which get no answer. */
  async forward(message: LocalNotification | LocalResponse): Promise<void> {
    if (message.kind === "response" && !this.#state.takeQuestion(message.id)) {
      return this.#options.log(
        `ignored a response to ${JSON.stringify(message.id)}, because no request with this id is open`,
      );
    }
    try {
      if (message.kind === "response") await this.#answer(message.text);
      else await this.#notify(message);
    } catch (error) {
      if (this.#options.signal.aborted) return;
      this.#options.log(`${message.method || "response"}: ${mcpErrorMessage(error, this.#options.endpoint)}`);
    }
    if (message.method === "notifications/initialized" && this.#active) void this.#listen(this.#active);
  }

  /** Ends the session at the server. Failures are ignored, because servers drop idle sessions. */
  async endSession(): Promise<void> {
    const active = this.#active;
    this.#active = undefined;
    active?.end.abort();
    if (!active) return;
    const limits = { totalMs: END_TIMEOUT_MS };
    await end2025(this.#options.endpoint, active.session, { limits }).catch(() => undefined);
  }

  /**
   * Sends a response until the server accepts it, because the server waits for it. Not into a new session, which did
   * not ask.
   */
  async #answer(text: string): Promise<void> {
    const { endpoint, signal } = this.#options;
    await this.#renewal;
    const active = this.#active;
    const channel = { sendOneWay: async () => sendOneWay2025(endpoint, active?.session, text, { signal }) };
    await this.#renewIfGone(active, async () => sendOneWayWithRetry(channel, text, { clock: endpoint.clock, signal }));
  }

  async #notify({ method, text }: LocalNotification): Promise<void> {
    const { endpoint, signal } = this.#options;
    const send = async (session: Session2025 | undefined) => sendOneWay2025(endpoint, session, text, { signal });
    if (method !== "notifications/cancelled") return this.#withSession(send);
    // If the session is gone, so is the request to cancel: there is nothing to repeat in the new session.
    await this.#renewal;
    const active = this.#active;
    await this.#renewIfGone(active, async () => send(active?.session));
  }

  /**
   * Runs the work in the session. If the server has lost the session, nothing ran, so the work runs again in a new
   * one.
   */
  async #withSession<T>(work: (session: Session2025 | undefined) => Promise<T>): Promise<T> {
    await this.#renewal;
    const active = this.#active;
    try {
      return await work(active?.session);
    } catch (error) {
      if (active === undefined || !isSessionGone(error)) throw error;
      await this.#renew(active);
    }
    return work(this.#active?.session);
  }

  async #renewIfGone(active: ActiveSession | undefined, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (active && isSessionGone(error)) await this.#renew(active);
      throw error;
    }
  }

  async #relay(call: OpenRequest, reply: McpReply): Promise<void> {
    for await (const message of reply.messages) {
      if (message.kind === "response") await this.#deliverResponse(call, message, reply);
      else await this.#writeMessage(message);
    }
  }

  async #deliverResponse(call: OpenRequest, response: ResponseMessage, { headers, http }: McpReply): Promise<void> {
    if (!call.isOpen) return;
    logRejection(this.#options, call.request.method, response, http);
    const result = resultOf(response);
    if (result) {
      this.#state.recordRequest(call.request);
      if (call.request.method === "initialize") {
        this.#active = { session: createSession2025(call.request.params, result, headers), end: new AbortController() };
      }
    }
    await call.answer(response);
  }

  /** Passes on a notification or a request of the server. */
  async #writeMessage(message: Exclude<Message, ResponseMessage>): Promise<void> {
    if (message.kind === "request") this.#state.addQuestion(message.id);
    await this.#options.write(message.text);
  }

  /** Follows the stream for the server's own messages. Never rejects. */
  async #listen(active: ActiveSession): Promise<void> {
    const { endpoint, signal, log } = this.#options;
    const options = { signal: AbortSignal.any([active.end.signal, signal]), limits: endpoint.limits };
    try {
      for await (const event of followGetStream(endpoint, active.session, options))
        await this.#handleStreamEvent(event);
    } catch (error) {
      if (options.signal.aborted) return;
      if (!isSessionGone(error)) return log(`no notifications: ${mcpErrorMessage(error, endpoint)}`);
      await this.#renew(active).catch((failed: unknown) => log(mcpErrorMessage(failed, endpoint)));
    }
  }

  async #handleStreamEvent(event: GetStreamEvent): Promise<void> {
    const { log } = this.#options;
    if (event.kind === "message") return this.#writeMessage(event.message);
    if (event.kind !== "dropped" || event.fault.kind === "unanswered") return;
    log(`no notifications for now: ${dropReason(event.fault)}`);
  }

  /** Many requests may find the session lost at once: the first starts the renewal, and the others wait for it. */
  async #renew(lostSession: ActiveSession): Promise<void> {
    if (this.#active !== lostSession) return this.#renewal;
    this.#renewal ??= this.#replaceSession(lostSession).finally(() => {
      this.#renewal = undefined;
    });
    await this.#renewal;
  }

  async #replaceSession(lostSession: ActiveSession): Promise<void> {
    this.#options.log(`${this.#options.endpoint.url} has ended the session; a new one begins`);
    lostSession.end.abort();
    this.#state.dropQuestions();
    const session = await reconnect(lostSession.session, this.#state, this.#options);
    this.#active = { session, end: new AbortController() };
    void this.#listen(this.#active);
  }
}

function isSessionGone(error: unknown): boolean {
  return error instanceof McpFault && error.fault.kind === "sessionGone";
}
