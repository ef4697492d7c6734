// The state of a 2025 session that a new session needs again, and the server's open questions.

import type { JsonObject, MessageId } from "../../protocol/jsonrpc.ts";
import type { LocalRequest } from "./local-message.ts";

const MAX_SUBSCRIPTIONS = 10_000;
const MAX_QUESTIONS = 1000;

export type ReplayableRequest = Pick<LocalRequest, "method" | "params">;

export class SessionState {
  #level: JsonObject | undefined;
  readonly #subscriptions = new Map<unknown, JsonObject>();
  readonly #questions = new Set<MessageId>();

  /** Call for each request that succeeded. */
  recordRequest({ method, params }: ReplayableRequest): void {
    if (method === "logging/setLevel") this.#level = params;
    if (method === "resources/unsubscribe") this.#subscriptions.delete(params.uri);
    if (method === "resources/subscribe" && this.#subscriptions.size < MAX_SUBSCRIPTIONS) {
      this.#subscriptions.set(params.uri, params);
    }
  }

  /** The requests that bring a new session to the state of the lost one. */
  requestsToReplay(): ReplayableRequest[] {
    const level = this.#level === undefined ? [] : [{ method: "logging/setLevel", params: this.#level }];
    const subscriptions = [...this.#subscriptions.values()];
    return [...level, ...subscriptions.map((params) => ({ method: "resources/subscribe", params }))];
  }

  addQuestion(id: MessageId): void {
    const [oldest] = this.#questions;
    if (this.#questions.size >= MAX_QUESTIONS && oldest !== undefined) this.#questions.delete(oldest);
    this.#questions.add(id);
  }

  /** false if the server did not ask this, or asked in an earlier session. */
  takeQuestion(id: MessageId): boolean {
    return this.#questions.delete(id);
  }

  dropQuestions(): void {
    this.#questions.clear();
  }

  /** The client started another session itself, which inherits nothing. */
  reset(): void {
    this.#level = undefined;
    this.#subscriptions.clear();
    this.#questions.clear();
  }
}
