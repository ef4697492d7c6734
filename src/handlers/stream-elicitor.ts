// Questions in era 2025: they travel on the call's stream while the handler waits. If the waiting invocation is gone,
// the handler runs again with the stored answers and memos.

import { canonicalJson, digest } from "../auth/seal.ts";
import type { McpRequest, ClientResponse, OutgoingRequest, ClientRequester } from "../protocol/mcp-request.ts";
import type { RevisionFeatures } from "../protocol/revisions.ts";
import type { JsonObject } from "../protocol/jsonrpc.ts";
import { hasCapability, type ClientCapability } from "../protocol/meta.ts";
import { Stopwatch } from "./stopwatch.ts";
import { UserError } from "../protocol/user-error.ts";
import { answerError, capabilityOf, type Question } from "./question.ts";
import { runOnce, toJsonValue, type IdempotencyStore } from "./idempotency.ts";
import { downgradeQuestion, upgradeAnswer } from "./downgrade-question.ts";
import { withoutPrototype, MissingCapabilityError, type Elicitor } from "./elicitor.ts";

/** Times that a question is asked if its answers do not fit it. */
const MAX_TRIES = 3;

type ElicitingCall = Pick<McpRequest, "revision" | "capabilities" | "clientRequester">;

/**
 * Sends questions through the port and waits for the answers. If the port says that another run of the call gets the
 * answers, the handler is suspended for good, as in era 2026.
 */
export class StreamElicitor implements Elicitor {
  readonly #revision: RevisionFeatures;
  readonly #capabilities: JsonObject;
  readonly #port: ClientRequester | undefined;
  readonly #idempotency: IdempotencyStore | undefined;
  readonly #memos: Record<string, unknown>;
  readonly #listeners: (() => void)[] = [];
  readonly #waitTime = new Stopwatch();
  suspended = false;

  /** Without a port the client cannot be asked. Without `idempotency`, `once` does its work in each run. */
  constructor(
    { revision, capabilities, clientRequester: port }: ElicitingCall,
    idempotency: IdempotencyStore | undefined,
  ) {
    this.#revision = revision;
    this.#capabilities = capabilities;
    this.#port = port;
    this.#idempotency = idempotency;
    this.#memos = withoutPrototype(port?.memos ?? {});
  }

  can(capability: ClientCapability): boolean {
    return this.#port !== undefined && hasCapability(this.#capabilities, capability);
  }

  waitedMs(): number {
    return this.#waitTime.elapsed;
  }

  onSuspend(listener: () => void): void {
    if (this.suspended) listener();
    else this.#listeners.push(listener);
  }

  async ask(
    questions: Readonly<Record<string, Question>>,
    onProgress?: (progress: JsonObject) => void,
  ): Promise<Record<string, JsonObject>> {
    for (const question of Object.values(questions)) this.#assertCapability(capabilityOf(question));
    const answers = withoutPrototype<JsonObject>({});
    let unanswered = Object.entries(questions);
    let why = "";
    for (let tries = 0; unanswered.length > 0; tries += 1) {
      if (tries === MAX_TRIES) throw new UserError(why);
      const requests = await Promise.all(
        unanswered.map(async ([name, question]): Promise<OutgoingRequest> => {
          const params = downgradeQuestion(question, this.#revision);
          // A question that is asked again gets another digest, so that the earlier answer is not taken for it.
          const key = await digest(canonicalJson([name, tries, question]));
          return {
            name,
            digest: key,
            method: question.method,
            onProgress,
            ...(params && { params: toWireParams(params) }),
          };
        }),
      );
      const responses = await this.#waitTime.run(() => this.#port?.request(requests, this.#memos));
      if (!responses) return this.#suspend();
      unanswered = unanswered.filter(([name, question], at) => {
        const answer = parseAnswer(question, responses.get(requests[at]?.digest ?? ""), name);
        const error = answerError(question, answer);
        if (error === undefined) answers[name] = answer as JsonObject;
        else why = `the client's answer to "${name}" does not match the question: ${error}`;
        return error !== undefined;
      });
    }
    return answers;
  }

  #assertCapability(capability: ClientCapability): void {
    if (this.can(capability)) return;
    const declared = hasCapability(this.#capabilities, capability);
    // A question needs a stream to travel on, and a session for the answer to come back to.
    throw new MissingCapabilityError(
      capability,
      declared ? "this request has no session and stream, which a question to its client needs" : undefined,
    );
  }

  async memo(name: string, compute: () => unknown): Promise<unknown> {
    const key = `memo ${name}`;
    if (!Object.hasOwn(this.#memos, key)) this.#memos[key] = toJsonValue(await compute());
    return this.#memos[key];
  }

  async once(name: string, work: () => unknown): Promise<unknown> {
    const key = `once ${name}`;
    if (Object.hasOwn(this.#memos, key)) return this.#memos[key];
    const nonce = this.#port?.nonce;
    // A call without a nonce cannot run again, so it repeats nothing and needs no claim.
    const value =
      nonce === undefined || !this.#idempotency
        ? toJsonValue(await work())
        : await runOnce(this.#idempotency, { nonce, name }, work);
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
 * Only era 2025 has an id for an elicitation by URL.
 * https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation
 */
function toWireParams(params: JsonObject): JsonObject {
  return params.mode === "url" ? { ...params, elicitationId: crypto.randomUUID() } : params;
}

/** Returns undefined if the answer is missing. Throws if the client answered with an error. */
function parseAnswer(question: Question, response: ClientResponse | undefined, name: string): JsonObject | undefined {
  if (!response) return undefined;
  if ("error" in response) throw new UserError(`the client refused "${name}": ${response.error.message}`);
  return upgradeAnswer(question, response.result);
}
