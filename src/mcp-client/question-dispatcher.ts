// Owns what a 2025 server asks its client while it works: each question is handed over, and the answer is sent back.
// Questions that are open when the work ends are dropped. Refuses more questions at once than a person could answer.
// https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation

import { ERRORS } from "../protocol/errors.ts";
import { errorResponse, resultResponse, type JsonObject, type RequestId } from "../protocol/jsonrpc.ts";
import type { Clock } from "./clock.ts";
import { paramsOf, type NotificationMessage, type RequestMessage } from "./message.ts";
import { ServerOutbox, type SendToServer } from "./server-outbox.ts";

export interface ServerQuestion {
  /** `elicitation/create`, `sampling/createMessage`, `roots/list`. */
  readonly method: string;
  readonly params: JsonObject;
  /** Aborts when the server no longer wants an answer. */
  readonly signal: AbortSignal;
}

/** Gives the result; undefined means that this client does not answer such questions, a text why it cannot be asked this one. */
export type HandleQuestion = (question: ServerQuestion) => Promise<JsonObject | string | undefined>;

/** How many questions may be open at once. */
export const MAX_QUESTIONS_AT_ONCE = 32;
const CANCELLED = "notifications/cancelled";

export class QuestionDispatcher {
  readonly #handleQuestion: HandleQuestion;
  readonly #outbox: ServerOutbox;
  /** By their ids, those that are still wanted. */
  readonly #openQuestions = new Map<RequestId, AbortController>();
  /** All that somebody works on, those too that the server has taken back: an id may be used again before that. */
  readonly #running = new Set<AbortController>();
  #isClosed = false;

  /** `tell` sends a text to the server. */
  constructor(handleQuestion: HandleQuestion, sendToServer: SendToServer, clock: Clock) {
    this.#handleQuestion = handleQuestion;
    this.#outbox = new ServerOutbox(sendToServer, clock);
  }

  /** Returns before the question is answered, because other messages may come on the same stream meanwhile. */
  dispatch(message: RequestMessage): void {
    // The server has its answer or has gone, and asks again.
    if (!this.#isClosed) void this.#run(message).catch(() => undefined);
  }

  /** True where the notification takes back a question that is open. */
  withdraw(message: NotificationMessage): boolean {
    if (message.method !== CANCELLED) return false;
    const requestId = paramsOf(message).requestId as RequestId;
    const question = this.#openQuestions.get(requestId);
    question?.abort();
    return this.#openQuestions.delete(requestId);
  }

  /** The work has ended: no answer is wanted any more. */
  close(): void {
    this.#isClosed = true;
    for (const question of this.#running) question.abort();
    this.#openQuestions.clear();
  }

  async #run(message: RequestMessage): Promise<void> {
    const { id, method } = message;
    if (method === "ping") return this.#outbox.sendOptional(resultResponse(id, "{}"));
    // One id has one answer. A server may say a question again where a stream is continued: nobody is asked twice.
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
      // Where it was taken back, the id may be that of another question by now.
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
      // The reason stays here: it may say something about us that the server must not know.
      return errorResponse(id, ERRORS.internal.code, ERRORS.internal.message);
    }
  }
}
