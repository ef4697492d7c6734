// How a handler asks its client, and the implementation for era 2026. Earlier answers travel in a sealed state, and the
// handler runs again with them. The first question without an answer ends the call with input_required.
// https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr

import { canonicalJson, digest } from "../auth/seal.ts";
import { hasCapability, type ClientCapability } from "../protocol/meta.ts";
import type { JsonObject } from "../protocol/jsonrpc.ts";
import { answerError, capabilityOf, type Question } from "./question.ts";
import { runOnce, toJsonValue, type IdempotencyStore } from "./idempotency.ts";

/** Progress of a call: the content of `requestState`, without the parts that bind it to its request. */
export interface ReplayState {
  /** Identifies the call in its `once` claims. Created when the call first ends at a question or at `once`. */
  readonly nonce: string;
  readonly round: number;
  readonly answers: Readonly<Record<string, { readonly digest: string; readonly answer: JsonObject }>>;
  /** Digest of each question that was asked, by the question's name. */
  readonly asked: Readonly<Record<string, string>>;
  readonly memos: Readonly<Record<string, unknown>>;
}

/** Thrown into the handler when this client does not support the question. */
export class MissingCapabilityError extends Error {
  override readonly name = "MissingCapability";
  readonly capability: ClientCapability;
  constructor(
    capability: ClientCapability,
    why = `this client does not support ${capability}: use a client that does`,
  ) {
    super(why);
    this.capability = capability;
  }
}

/** How a handler asks. Both eras implement it; a tool cannot tell them apart. */
export interface Elicitor {
  can(capability: ClientCapability): boolean;
  /** Resolves to the answers, by name. `onProgress` receives the client's progress; era 2026 has none. */
  ask(
    questions: Readonly<Record<string, Question>>,
    onProgress?: (progress: JsonObject) => void,
  ): Promise<Record<string, JsonObject>>;
  memo(name: string, compute: () => unknown): Promise<unknown>;
  once(name: string, work: () => unknown): Promise<unknown>;
  /** True when the handler waits for an answer that this request cannot bring, so that this run never continues. */
  readonly suspended: boolean;
  /** Milliseconds spent waiting for the client so far. They do not count towards the tool's time limit. */
  waitedMs(): number;
  onSuspend(listener: () => void): void;
}

interface ReplayDraft {
  readonly answers: Record<string, { digest: string; answer: JsonObject }>;
  readonly memos: Record<string, unknown>;
  /** Questions without an answer. */
  readonly unanswered: Record<string, { digest: string; question: Question }>;
}

/**
 * Era 2026. The first question without an answer suspends the handler for good: its promise never settles. The client's
 * next request runs the handler again from its beginning and finds earlier answers by name and digest. `memo` and
 * `once` store results that must not differ, and work that must not repeat, in that run.
 */
export class ReplayElicitor implements Elicitor {
  readonly #capabilities: JsonObject;
  /** State from earlier runs of the call. */
  readonly earlierState: ReplayState | undefined;
  readonly #newAnswers: JsonObject;
  readonly #idempotency: IdempotencyStore;
  #lazyDraft: ReplayDraft | undefined;
  readonly #listeners: (() => void)[] = [];
  suspended = false;

  constructor(
    capabilities: JsonObject,
    earlierState: ReplayState | undefined,
    newAnswers: JsonObject,
    idempotency: IdempotencyStore,
  ) {
    this.#capabilities = capabilities;
    this.earlierState = earlierState;
    this.#newAnswers = newAnswers;
    this.#idempotency = idempotency;
  }

  /** Created when first used: most handlers ask nothing. */
  get #draft(): ReplayDraft {
    const { answers = {}, memos = {} } = this.earlierState ?? {};
    return (this.#lazyDraft ??= {
      answers: withoutPrototype(answers),
      memos: withoutPrototype(memos),
      unanswered: withoutPrototype({}),
    });
  }

  can(capability: ClientCapability): boolean {
    return hasCapability(this.#capabilities, capability);
  }

  waitedMs(): number {
    return 0;
  }

  onSuspend(listener: () => void): void {
    if (this.suspended) listener();
    else this.#listeners.push(listener);
  }

  async ask(questions: Readonly<Record<string, Question>>): Promise<Record<string, JsonObject>> {
    const results = withoutPrototype<JsonObject>({});
    for (const question of Object.values(questions)) {
      const capability = capabilityOf(question);
      if (!this.can(capability)) throw new MissingCapabilityError(capability);
    }
    let isAnswered = true;
    for (const [name, question] of Object.entries(questions)) {
      const key = await digest(canonicalJson(question));
      const answer = this.#findAnswer(name, question, key);
      if (answer) results[name] = answer;
      else {
        isAnswered = false;
        this.#draft.unanswered[name] = { digest: key, question };
      }
    }
    return isAnswered ? results : this.#suspend();
  }

  #findAnswer(name: string, question: Question, key: string): JsonObject | undefined {
    const { answers } = this.#draft;
    const earlier = Object.hasOwn(answers, name) ? answers[name] : undefined;
    if (earlier?.digest === key) return earlier.answer;
    const earlierDigest =
      this.earlierState && Object.hasOwn(this.earlierState.asked, name) ? this.earlierState.asked[name] : undefined;
    // The question was asked in other words before, and the client's answer belongs to those.
    if (earlierDigest !== undefined && earlierDigest !== key) return undefined;
    const newAnswer = Object.hasOwn(this.#newAnswers, name) ? this.#newAnswers[name] : undefined;
    if (answerError(question, newAnswer) !== undefined) return undefined;
    const answer = newAnswer as JsonObject;
    answers[name] = { digest: key, answer };
    return answer;
  }

  async memo(name: string, compute: () => unknown): Promise<unknown> {
    const key = `memo ${name}`;
    const { memos } = this.#draft;
    if (Object.hasOwn(memos, key)) return memos[key];
    const value = toJsonValue(await compute());
    memos[key] = value;
    return value;
  }

  async once(name: string, work: () => unknown): Promise<unknown> {
    const key = `once ${name}`;
    const { memos } = this.#draft;
    if (Object.hasOwn(memos, key)) return memos[key];
    // Without a state there is no nonce for a claim. The client has no question to answer and returns with a state at
    // once.
    if (!this.earlierState) return this.#suspend();
    const { nonce } = this.earlierState;
    memos[key] = await runOnce(this.#idempotency, { nonce, name }, work);
    return memos[key];
  }

  #suspend(): Promise<never> {
    this.suspended = true;
    for (const listener of this.#listeners.splice(0)) listener();
    // A new promise each time: one shared promise would keep all waiting handlers in memory.
    return new Promise<never>(() => {});
  }

  /** The questions for the client, by name. undefined when the client only has to return with the state. */
  get inputRequests(): Record<string, JsonObject> | undefined {
    const entries = Object.entries(this.#draft.unanswered);
    if (entries.length === 0) return undefined;
    return Object.fromEntries(entries.map(([name, { question }]) => [name, { ...question }]));
  }

  /** The state to seal when the call ends at a question. */
  get replayState(): ReplayState {
    const { answers, memos, unanswered: missing } = this.#draft;
    const asked = Object.entries(missing).map(([name, { digest: key }]) => [name, key] as const);
    return {
      nonce: this.earlierState?.nonce ?? crypto.randomUUID(),
      round: (this.earlierState?.round ?? 0) + 1,
      answers,
      asked: { ...this.earlierState?.asked, ...Object.fromEntries(asked) },
      memos,
    };
  }
}

/** A copy without a prototype, so that any text can be a name, even `__proto__`. */
export function withoutPrototype<T>(entries: Readonly<Record<string, T>>): Record<string, T> {
  return Object.assign(Object.create(null) as Record<string, T>, entries);
}
