// Owns what a 2025 session was told and a new one must be told again, and which of the server's questions are open.

import type { Json } from "../mcp-http.ts";
import type { Sent } from "./wire.ts";

const MAX_SUBSCRIPTIONS = 10_000;
const MAX_QUESTIONS = 1000;

export interface Told {
  readonly method: string;
  readonly params: Json;
}

export class Remembered {
  #level: Json | undefined;
  readonly #subscriptions = new Map<unknown, Json>();
  readonly #questions = new Set<unknown>();

  /** Of a request that succeeded. */
  learn({ method, params }: Sent): void {
    if (method === "logging/setLevel") this.#level = params;
    if (method === "resources/unsubscribe") this.#subscriptions.delete(params.uri);
    if (method === "resources/subscribe" && this.#subscriptions.size < MAX_SUBSCRIPTIONS) {
      this.#subscriptions.set(params.uri, params);
    }
  }

  replay(): Told[] {
    const level = this.#level === undefined ? [] : [{ method: "logging/setLevel", params: this.#level }];
    const subscriptions = [...this.#subscriptions.values()];
    return [...level, ...subscriptions.map((params) => ({ method: "resources/subscribe", params }))];
  }

  addQuestion(id: unknown): void {
    const [oldest] = this.#questions;
    if (this.#questions.size >= MAX_QUESTIONS) this.#questions.delete(oldest);
    this.#questions.add(id);
  }

  /** False: nobody asked that, or not in this session. */
  takeQuestion(id: unknown): boolean {
    return this.#questions.delete(id);
  }

  dropQuestions(): void {
    this.#questions.clear();
  }

  /** Another session begins, by the client's own wish. */
  forget(): void {
    this.#level = undefined;
    this.#subscriptions.clear();
    this.#questions.clear();
  }
}
