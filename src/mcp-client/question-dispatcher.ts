// Handles questions of a 2025 server during a request: passes each to the handler and sends the answer back. Questions
// still open when the request ends are dropped. The number of open questions is limited.
// https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation

import { ERRORS } from "../protocol/errors.ts";
import { errorResponse, resultResponse, type JsonObject, type MessageId } from "../protocol/jsonrpc.ts";
import type { Clock } from "./clock.ts";
import { paramsOf, type NotificationMessage, type RequestMessage } from "./message.ts";
import { ServerOutbox, type SendToServer } from "./server-outbox.ts";

export interface ServerQuestion {
  /** `elicitation/create`, `sampling/createMessage` or `roots/list`. */
  readonly method: string;
  readonly params: JsonObject;
  /** Aborts when the server no longer wants an answer. */
  readonly signal: AbortSignal;
}

/**
 * Returns the result. undefined means that this client does not support such questions; a string says why this one
 * cannot be asked.
 */
export type HandleQuestion = (question: ServerQuestion) => Promise<JsonObject | string | undefined>;

export const MAX_QUESTIONS_AT_ONCE = 32;
const CANCELLED = "notifications/cancelled";

export class QuestionDispatcher {
  readonly #handleQuestion: HandleQuestion;
  readonly #outbox: ServerOutbox;
  /** Questions still wanted by the server, by id. */
  readonly #openQuestions = new Map<MessageId, AbortController>();
  /**
   * All questions being handled, including cancelled ones: the server may reuse an id before the handler has finished.
   */
  readonly #running = new Set<AbortController>();
  #isClosed = false;

  constructor(handleQuestion: HandleQuestion, sendToServer: SendToServer, clock: Clock) {
    this.#handleQuestion = handleQuestion;
    this.#outbox = new ServerOutbox(sendToServer, clock);
  }

  /** Returns before the question is answered, because other messages may follow on the same stream. */
  dispatch(message: RequestMessage): void {
    // The server has its answer, or it has gone and asks again.
    if (!this.#isClosed) void this.#run(message).catch(() => undefined);
  }

  /** Returns true if the notification cancels an open question. */
  withdraw(message: NotificationMessage): boolean {
    if (message.method !== CANCELLED) return false;
    const messageId = paramsOf(message).requestId as MessageId;
    const question = this.#openQuestions.get(messageId);
    question?.abort();
    return this.#openQuestions.delete(messageId);
  }

  /** The request has ended, so no answer is wanted any more. */
  close(): void {
    this.#isClosed = true;
    for (const question of this.#running) question.abort();
    this.#openQuestions.clear();
  }

  async #run(message: RequestMessage): Promise<void> {
    const { id, method } = message;
    if (method === "ping") return this.#outbox.sendOptional(resultResponse(id, "{}"));
    // One id gets one answer. A server may repeat a question on a resumed stream, and the person must not be asked
    // twice.
    if (this.#openQuestions.has(id)) return;
    if (this.#running.size >= MAX_QUESTIONS_AT_ONCE) {
      return this.#outbox.sendOptional(errorResponse(id, ERRORS.busy.code, "Too many questions at once"));
    }
    if (!this.#outbox.reserve()) return;
    const controller = new AbortController();
    this.#openQuestions.set(id, controller);
    this.#running.add(controller);
    try {
      const answer = await this.#createAnswer(message, controller.signal);
      await this.#outbox.sendAnswer(answer, () => !controller.signal.aborted);
    } finally {
      this.#running.delete(controller);
      // After a cancellation, another question may have taken the id.
      if (this.#openQuestions.get(id) === controller) this.#openQuestions.delete(id);
    }
  }

  async #createAnswer(message: RequestMessage, signal: AbortSignal): Promise<string> {
    const { id, method } = message;
    try {
      const result = await this.#handleQuestion({ method, params: paramsOf(message), signal });
      if (typeof result === "string") return errorResponse(id, ERRORS.invalidParams.code, result);
      if (result !== undefined) return resultResponse(id, JSON.stringify(result));
      return errorResponse(id, ERRORS.methodNotFound.code, `This client does not support ${method.slice(0, 100)}`);
    } catch {
      // The reason is not sent, because it may reveal something about this client.
      return errorResponse(id, ERRORS.internal.code, ERRORS.internal.message);
    }
  }
}
