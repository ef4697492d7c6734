// Owns the questions that a handler asks its client in era 2025: they travel on the call's stream and the handler
// waits. When the invocation that waited is gone, the handler runs again with what was answered and kept.

import { canonicalJson, digest } from "../auth/seal.ts";
import type { Call, ClientResponse, PutQuestion, QuestionPort } from "../protocol/call.ts";
import type { Dialect } from "../protocol/era.ts";
import type { JsonObject } from "../protocol/jsonrpc.ts";
import { hasCapability, type ClientCapability } from "../protocol/meta.ts";
import { Stopwatch } from "./stopwatch.ts";
import { UserError } from "../protocol/user-error.ts";
import { capabilityOf, isUsableAnswer, type Question } from "./answers.ts";
import { claimed, toJson, type ClaimBook } from "./claims.ts";
import { fitted, restored } from "./fit-question.ts";
import { bare, MissingCapability, type Interview } from "./interview.ts";

/** How often a question is asked whose answers do not fit it. */
const MAX_TRIES = 3;

type Asking = Pick<Call, "dialect" | "capabilities" | "questions">;

/**
 * Puts questions to the port and waits for the answers. Where the port says that another run of the call will get them,
 * the handler is suspended for good, as in era 2026.
 */
export class StreamInterview implements Interview {
  readonly #dialect: Dialect;
  readonly #capabilities: JsonObject;
  readonly #port: QuestionPort | undefined;
  readonly #claims: ClaimBook | undefined;
  readonly #memos: Record<string, unknown>;
  readonly #listeners: (() => void)[] = [];
  readonly #waiting = new Stopwatch();
  suspended = false;

  /** Without a port nothing can be asked; without claims `once` does its work in each run. */
  constructor({ dialect, capabilities, questions: port }: Asking, claims: ClaimBook | undefined) {
    this.#dialect = dialect;
    this.#capabilities = capabilities;
    this.#port = port;
    this.#claims = claims;
    this.#memos = bare(port?.memos ?? {});
  }

  can(capability: ClientCapability): boolean {
    return this.#port !== undefined && hasCapability(this.#capabilities, capability);
  }

  waited(): number {
    return this.#waiting.elapsed;
  }

  onSuspend(listener: () => void): void {
    if (this.suspended) listener();
    else this.#listeners.push(listener);
  }

  async ask(
    questions: Readonly<Record<string, Question>>,
    heard?: (progress: JsonObject) => void,
  ): Promise<Record<string, JsonObject>> {
    for (const question of Object.values(questions)) this.#require(capabilityOf(question));
    const answers = bare<JsonObject>({});
    let open = Object.entries(questions);
    for (let tries = 0; open.length > 0; tries += 1) {
      if (tries === MAX_TRIES)
        throw new UserError(`the client's answer to "${open[0]?.[0]}" does not fit the question`);
      const put = await Promise.all(
        open.map(async ([name, question]): Promise<PutQuestion> => {
          const params = fitted(question, this.#dialect);
          // A question that is asked again gets another digest, so that the earlier answer is not taken for it.
          const key = await digest(canonicalJson([name, tries, question]));
          return { name, digest: key, method: question.method, heard, ...(params && { params: wireOf(params) }) };
        }),
      );
      const responses = await this.#waiting.run(() => this.#port?.ask(put, this.#memos));
      if (!responses) return this.#suspend();
      open = open.filter(([name, question], at) => {
        const answer = answerOf(question, responses.get(put[at]?.digest ?? ""), name);
        if (answer) answers[name] = answer;
        return !answer;
      });
    }
    return answers;
  }

  #require(capability: ClientCapability): void {
    if (this.can(capability)) return;
    const declared = hasCapability(this.#capabilities, capability);
    // A question needs a stream to travel on, and a session for the answer to come back to.
    throw new MissingCapability(capability, declared ? "this request can take no question to its client" : undefined);
  }

  async memo(name: string, make: () => unknown): Promise<unknown> {
    const key = `memo ${name}`;
    if (!Object.hasOwn(this.#memos, key)) this.#memos[key] = toJson(await make());
    return this.#memos[key];
  }

  async once(name: string, act: () => unknown): Promise<unknown> {
    const key = `once ${name}`;
    if (Object.hasOwn(this.#memos, key)) return this.#memos[key];
    const nonce = this.#port?.nonce;
    // A call without a nonce cannot run again, so it does nothing twice and needs no claim.
    const value =
      nonce === undefined || !this.#claims ? toJson(await act()) : await claimed(this.#claims, { nonce, name }, act);
    this.#memos[key] = value;
    return value;
  }

  #suspend(): Promise<never> {
    this.suspended = true;
    for (const listener of this.#listeners.splice(0)) listener();
    return new Promise<never>(() => {});
  }
}

/**
 * Only era 2025 has an id for what happens behind a URL.
 * https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation
 */
function wireOf(params: JsonObject): JsonObject {
  return params.mode === "url" ? { ...params, elicitationId: crypto.randomUUID() } : params;
}

/** undefined: the answer is missing or does not fit. Throws where the client answered with an error. */
function answerOf(question: Question, response: ClientResponse | undefined, name: string): JsonObject | undefined {
  if (!response) return undefined;
  if ("error" in response) throw new UserError(`the client refused "${name}": ${response.error.message}`);
  const result = restored(question, response.result);
  return isUsableAnswer(question, result) ? result : undefined;
}
