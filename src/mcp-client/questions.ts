// Owns what a 2025 server asks its client while it works: each question is handed over, and the answer is sent back.
// Questions that are open when the work ends are dropped. Refuses more questions at once than a person could answer.
// https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation

import { ERRORS } from "../protocol/errors.ts";
import { errorResponse, resultResponse, type JsonObject, type RequestId } from "../protocol/jsonrpc.ts";
import { paramsOf, type NotificationMessage, type RequestMessage } from "./message.ts";

export interface ServerQuestion {
  /** `elicitation/create`, `sampling/createMessage`, `roots/list`. */
  readonly method: string;
  readonly params: JsonObject;
  /** Aborts when the server no longer wants an answer. */
  readonly signal: AbortSignal;
}

/** Gives the result; undefined means that this client does not answer such questions. */
export type AnswerQuestion = (question: ServerQuestion) => Promise<JsonObject | undefined>;

/** How many questions may be open at once. */
export const MAX_QUESTIONS_AT_ONCE = 32;
/** How many questions one piece of work may ask in all, because each answer is a request that we send. */
const MAX_ANSWERS = 500;
const CANCELLED = "notifications/cancelled";

export class Questions {
  readonly #answer: AnswerQuestion;
  readonly #tell: (text: string) => Promise<void>;
  readonly #open = new Map<RequestId, AbortController>();
  #taken = 0;

  /** `tell` sends an answer to the server. */
  constructor(answer: AnswerQuestion, tell: (text: string) => Promise<void>) {
    this.#answer = answer;
    this.#tell = tell;
  }

  /** Returns before the question is answered, because other messages may come on the same stream meanwhile. */
  take(message: RequestMessage): void {
    this.#taken += 1;
    if (this.#taken > MAX_ANSWERS) return;
    void this.#work(message).catch(() => undefined);
  }

  /** True where the notification takes back a question that is open. */
  takeBack(message: NotificationMessage): boolean {
    if (message.method !== CANCELLED) return false;
    const { requestId } = paramsOf(message);
    const question = this.#open.get(requestId as RequestId);
    question?.abort();
    return question !== undefined;
  }

  /** The work has ended: no answer is wanted any more. */
  close(): void {
    for (const question of this.#open.values()) question.abort();
    this.#open.clear();
  }

  async #work(message: RequestMessage): Promise<void> {
    const { id, method } = message;
    if (method === "ping") return this.#tell(resultResponse(id, "{}"));
    if (this.#open.size >= MAX_QUESTIONS_AT_ONCE) {
      return this.#tell(errorResponse(id, ERRORS.busy.code, "Too many questions at once"));
    }
    const abort = new AbortController();
    this.#open.set(id, abort);
    const answer = await this.#answerTo(message, abort.signal);
    // Taken back or dropped meanwhile, or the server has asked something else under the same id.
    if (this.#open.get(id) !== abort || abort.signal.aborted) return;
    await this.#tell(answer).finally(() => this.#open.delete(id));
  }

  async #answerTo(message: RequestMessage, signal: AbortSignal): Promise<string> {
    const { id, method } = message;
    try {
      const result = await this.#answer({ method, params: paramsOf(message), signal });
      if (result !== undefined) return resultResponse(id, JSON.stringify(result));
      return errorResponse(id, ERRORS.methodNotFound.code, ERRORS.methodNotFound.message);
    } catch {
      // The reason stays here: it may say something about us that the server must not know.
      return errorResponse(id, ERRORS.internal.code, ERRORS.internal.message);
    }
  }
}
