// Owns what a 2025 session was told and a new one must be told again, and which of the server's questions are open.

import type { JsonObject, RequestId } from "../../protocol/jsonrpc.ts";
import type { LocalRequest } from "./local-message.ts";

const MAX_SUBSCRIPTIONS = 10_000;
const MAX_QUESTIONS = 1000;

export type ReplayableRequest = Pick<LocalRequest, "method" | "params">;

export class SessionState {
  #level: JsonObject | undefined;
  readonly #subscriptions = new Map<unknown, JsonObject>();
  readonly #questions = new Set<RequestId>();

  /** To be told of each request that succeeded. */
  recordRequest({ method, params }: ReplayableRequest): void {
    if (method === "logging/setLevel") this.#level = params;
    if (method === "resources/unsubscribe") this.#subscriptions.delete(params.uri);
    if (method === "resources/subscribe" && this.#subscriptions.size < MAX_SUBSCRIPTIONS) {
      this.#subscriptions.set(params.uri, params);
    }
  }

  /** What to ask of a new session, so that it does what the lost one did. */
  requestsToReplay(): ReplayableRequest[] {
    const level = this.#level === undefined ? [] : [{ method: "logging/setLevel", params: this.#level }];
    const subscriptions = [...this.#subscriptions.values()];
    return [...level, ...subscriptions.map((params) => ({ method: "resources/subscribe", params }))];
  }

  addQuestion(id: RequestId): void {
    const [oldest] = this.#questions;
    if (this.#questions.size >= MAX_QUESTIONS && oldest !== undefined) this.#questions.delete(oldest);
    this.#questions.add(id);
  }

  /** False where the server did not ask that, or asked it in an earlier session. */
  takeQuestion(id: RequestId): boolean {
    return this.#questions.delete(id);
  }

  dropQuestions(): void {
    this.#questions.clear();
  }

  /** The client has begun another session itself, which owes the old one nothing. */
  reset(): void {
    this.#level = undefined;
    this.#subscriptions.clear();
    this.#questions.clear();
  }
}
