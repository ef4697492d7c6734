// Owns what a 2025 server asks its client while it works: each question is handed over, and the answer is sent back.
// Questions that are open when the work ends are dropped. Refuses more questions at once than a person could answer.
// https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation

import { ERRORS } from "../protocol/errors.ts";
import { errorResponse, resultResponse, type JsonObject, type RequestId } from "../protocol/jsonrpc.ts";
import type { Clock } from "./clock.ts";
import { paramsOf, type NotificationMessage, type RequestMessage } from "./message.ts";
import { ServerMail, type TellServer } from "./server-mail.ts";

export interface ServerQuestion {
  /** `elicitation/create`, `sampling/createMessage`, `roots/list`. */
  readonly method: string;
  readonly params: JsonObject;
  /** Aborts when the server no longer wants an answer. */
  readonly signal: AbortSignal;
}

/** Gives the result; undefined means that this client does not answer such questions, a text why it cannot be asked this one. */
export type AnswerQuestion = (question: ServerQuestion) => Promise<JsonObject | string | undefined>;

/** How many questions may be open at once. */
export const MAX_QUESTIONS_AT_ONCE = 32;
const CANCELLED = "notifications/cancelled";

export class Questions {
  readonly #answer: AnswerQuestion;
  readonly #mail: ServerMail;
  /** By their ids, those that are still wanted. */
  readonly #open = new Map<RequestId, AbortController>();
  /** All that somebody works on, those too that the server has taken back: an id may be used again before that. */
  readonly #working = new Set<AbortController>();
  #isClosed = false;

  /** `tell` sends a text to the server. */
  constructor(answer: AnswerQuestion, tell: TellServer, clock: Clock) {
    this.#answer = answer;
    this.#mail = new ServerMail(tell, clock);
  }

  /** Returns before the question is answered, because other messages may come on the same stream meanwhile. */
  take(message: RequestMessage): void {
    // The server has its answer or has gone, and asks again.
    if (!this.#isClosed) void this.#work(message).catch(() => undefined);
  }

  /** True where the notification takes back a question that is open. */
  takeBack(message: NotificationMessage): boolean {
    if (message.method !== CANCELLED) return false;
    const requestId = paramsOf(message).requestId as RequestId;
    const question = this.#open.get(requestId);
    question?.abort();
    return this.#open.delete(requestId);
  }

  /** The work has ended: no answer is wanted any more. */
  close(): void {
    this.#isClosed = true;
    for (const question of this.#working) question.abort();
    this.#open.clear();
  }

  async #work(message: RequestMessage): Promise<void> {
    const { id, method } = message;
    if (method === "ping") return this.#mail.mention(resultResponse(id, "{}"));
    // One id has one answer. A server may say a question again where a stream is continued: nobody is asked twice.
    if (this.#open.has(id)) return;
    if (this.#working.size >= MAX_QUESTIONS_AT_ONCE) {
      return this.#mail.mention(errorResponse(id, ERRORS.busy.code, "Too many questions at once"));
    }
    if (!this.#mail.reserve()) return;
    const abort = new AbortController();
    this.#open.set(id, abort);
    this.#working.add(abort);
    try {
      const answer = await this.#answerTo(message, abort.signal);
      await this.#mail.answer(answer, () => !abort.signal.aborted);
    } finally {
      this.#working.delete(abort);
      // Where it was taken back, the id may be that of another question by now.
      if (this.#open.get(id) === abort) this.#open.delete(id);
    }
  }

  async #answerTo(message: RequestMessage, signal: AbortSignal): Promise<string> {
    const { id, method } = message;
    try {
      const result = await this.#answer({ method, params: paramsOf(message), signal });
      if (typeof result === "string") return errorResponse(id, ERRORS.invalidParams.code, result);
      if (result !== undefined) return resultResponse(id, JSON.stringify(result));
      return errorResponse(id, ERRORS.methodNotFound.code, `This client does not support ${method.slice(0, 100)}`);
    } catch {
      // The reason stays here: it may say something about us that the server must not know.
      return errorResponse(id, ERRORS.internal.code, ERRORS.internal.message);
    }
  }
}
