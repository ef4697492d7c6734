// Owns a call of a 2025 session while it runs in this invocation: hearing that it is cancelled, and from its first
// question on, or from its beginning when it is resumable, its life in the session's object: what it says goes into the
// stream's log, answers come back from whichever isolate they reached.

import type { ClientResponse, PutQuestion, QuestionPort } from "../protocol/call.ts";
import { notification, type JsonObject, type RequestId } from "../protocol/jsonrpc.ts";
import type { NewCall } from "./call-tables.ts";
import { HeldSocket } from "../streams/held-socket.ts";
import { openSessionSocket, type SessionStub } from "./session-door.ts";
import { persistently } from "../streams/persistently.ts";
import type { AskResult, Known, StoredRun } from "./call-desk.ts";
import { CLOSE, type RunnerMessage } from "../streams/wire.ts";

export interface RunnerHost {
  /** A stub made for one use. */
  object(): SessionStub;
  /** When the session's id ends. */
  readonly expires: number;
  /** As `requestKey` makes it. */
  readonly request: string;
  /** Whether another run may go on with the call. */
  readonly repeatable: boolean;
  /** What is stored when the call has to outlive this invocation. */
  describe(): Promise<Pick<NewCall, "record" | "fallback" | "said" | "repeatable">>;
  /** The call is stored now: its stream is the log's. */
  stored(key: string): void;
  /** Whether what the call was admitted under still holds. */
  unchanged(): Promise<boolean>;
  cancelled(): void;
  /** How long a run waits for its client before it leaves the answer to another; absent: while its client is there. */
  readonly parksAfterMs?: number;
}

const MAX_REQUEST_CHARACTERS = 256;

/** What a session knows a request by: its JSON-RPC id, of which a socket's attachment has room for so much. */
export function requestKey(id: RequestId): string {
  const json = JSON.stringify(id);
  return json.length <= MAX_REQUEST_CHARACTERS ? json : `${json.slice(0, MAX_REQUEST_CHARACTERS)}#${json.length}`;
}

/** How the ids of questions begin, and so their progress tokens. */
const QUESTION = "q-";

export function isQuestionId(token: unknown): token is string {
  return typeof token === "string" && token.startsWith(QUESTION);
}

export function newCallKey(): string {
  return crypto.randomUUID().replaceAll("-", "").slice(0, 16);
}

export class CallRunner implements QuestionPort {
  readonly #host: RunnerHost;
  readonly key: string;
  #attempt = 1;
  #isStored = false;
  #memos: Readonly<Record<string, unknown>> = {};
  #socket: HeldSocket | undefined;
  #opening: Promise<unknown> | undefined;
  #said = 0;
  #chain: Promise<unknown> = Promise.resolve();
  #asked = 0;
  readonly #open = new Map<string, string>();
  /** By the digest of a question: who wants to know how the client gets on. */
  readonly #listeners = new Map<string, (progress: JsonObject) => void>();
  readonly #waiting = new Set<() => void>();
  /** Somebody else goes on with the call: nothing is said here any more. */
  left = false;

  constructor(host: RunnerHost, key = newCallKey()) {
    this.#host = host;
    this.key = key;
  }

  /** Goes on with a call that an earlier run left. */
  static resume(
    host: RunnerHost,
    { key, attempt, stored }: { readonly key: string; readonly attempt: number; readonly stored: StoredRun },
  ): CallRunner {
    const runner = new CallRunner(host, key);
    runner.#attempt = attempt;
    runner.#isStored = true;
    runner.#memos = JSON.parse(stored.memos) as Record<string, unknown>;
    return runner;
  }

  get nonce(): string | undefined {
    return this.#isStored ? this.key : undefined;
  }

  get memos(): Readonly<Record<string, unknown>> {
    return this.#memos;
  }

  get isStored(): boolean {
    return this.#isStored;
  }

  /** From now on the call can be cancelled from anywhere. */
  watch(): Promise<unknown> {
    this.#opening ??= this.#connect();
    return this.#opening;
  }

  async #connect(): Promise<void> {
    const { request } = this.#host;
    this.#socket = new HeldSocket(
      () => openSessionSocket(this.#host.object(), { as: "runner", request, call: this.key }),
      {
        message: (message) => {
          this.#hear(message as RunnerMessage);
        },
        reopened: () => {
          this.#nudge();
        },
        // The session is over, and its calls with it.
        ended: () => {
          this.#cancel();
        },
      },
    );
    await persistently(async () => this.#socket?.start());
  }

  #hear(message: RunnerMessage): void {
    if ("cancel" in message) this.#cancel();
    if ("answered" in message) this.#nudge();
    if ("progress" in message) this.#hearProgress(message.progress);
  }

  #hearProgress({ id, params }: { readonly id: string; readonly params: string }): void {
    const [digest] = [...this.#open].find(([, open]) => open === id) ?? [];
    if (digest !== undefined) this.#listeners.get(digest)?.(JSON.parse(params) as JsonObject);
  }

  #nudge(): void {
    for (const wake of this.#waiting) wake();
    this.#waiting.clear();
  }

  #cancel(): void {
    this.left = true;
    this.#host.cancelled();
    this.#nudge();
  }

  /** The client of this connection is gone: an answer will find another run, or this one where there may be no other. */
  leave(): void {
    if (this.#open.size > 0 && this.#host.repeatable) this.#depart(CLOSE.parked);
  }

  /** This invocation ends before the call does: the object starts another run. */
  abandon(): void {
    this.#depart();
  }

  #depart(code?: number): void {
    if (this.left) return;
    this.left = true;
    this.#nudge();
    this.#socket?.close(code);
  }

  async ask(
    questions: readonly PutQuestion[],
    memos: Readonly<Record<string, unknown>>,
  ): Promise<ReadonlyMap<string, ClientResponse> | undefined> {
    await this.watch();
    await this.#chain;
    const call = this.#isStored ? null : await this.#describe();
    const put = questions.map((question) => this.#wire(question));
    const wanted = questions.map(({ digest }) => digest);
    for (const { id, digest } of put) this.#open.set(digest, id);
    for (let first = true; !this.left; first = false) {
      const nudged = new Promise<void>((resolve) => {
        this.#waiting.add(resolve);
      });
      const ask = { call, key: this.key, attempt: this.#attempt, memos: JSON.stringify(memos), questions: put };
      const result = await persistently<AskResult>(async () => this.#host.object().ask(ask, this.#host.expires));
      if (result.state === "full") throw new Error("this session has too many calls that wait for their client");
      if (result.state === "stale") break;
      if (first) this.#becomeStored();
      const answers = this.#answersIn(result.known, wanted);
      // Who waited may have fewer rights by now: whatever changed, another run is admitted anew, or refused.
      if (answers && (first || (await this.#host.unchanged().catch(() => false)))) return answers;
      if (answers) {
        await persistently(() => this.#host.object().handOver(this.key, this.#attempt));
        break;
      }
      await this.#nudgedOrParked(nudged);
    }
    this.abandon();
    return undefined;
  }

  async #nudgedOrParked(nudged: Promise<void>): Promise<void> {
    const { parksAfterMs } = this.#host;
    if (parksAfterMs === undefined) return nudged;
    const timer = setTimeout(() => {
      this.leave();
    }, parksAfterMs);
    await nudged;
    clearTimeout(timer);
  }

  async #describe(): Promise<NewCall> {
    const described = await this.#host.describe();
    this.#said = described.said;
    return { key: this.key, request: this.#host.request, ...described };
  }

  #wire({ name, digest, method, params, heard }: PutQuestion) {
    this.#asked += 1;
    const id = `${QUESTION}${this.key}-${this.#attempt}.${this.#asked}`;
    if (heard) this.#listeners.set(digest, heard);
    const asked = heard ? { ...params, _meta: { ...(params?._meta as JsonObject), progressToken: id } } : params;
    const json = JSON.stringify({ jsonrpc: "2.0", id, method, ...(asked === undefined ? {} : { params: asked }) });
    return { id, name, digest, json };
  }

  #becomeStored(): void {
    if (this.#isStored) return;
    this.#isStored = true;
    this.#host.stored(this.key);
  }

  /** undefined: not all of them are there yet. */
  #answersIn(known: readonly Known[], wanted: readonly string[]): ReadonlyMap<string, ClientResponse> | undefined {
    const answers = new Map<string, ClientResponse>();
    for (const { digest, id, answer } of known) {
      if (!wanted.includes(digest)) continue;
      this.#open.set(digest, id);
      if (answer !== null) answers.set(digest, JSON.parse(answer) as ClientResponse);
    }
    if (answers.size < wanted.length) return undefined;
    for (const digest of wanted) this.#open.delete(digest);
    return answers;
  }

  append(json: string): void {
    this.#said += 1;
    const count = this.#said;
    this.#chain = this.#chain
      .then(async () => {
        if (this.left) return;
        const { key } = this;
        if (await persistently(() => this.#host.object().append(key, this.#attempt, json, count))) return;
        this.#cancel();
      })
      // What could not be said is lost; the result is not.
      .catch(() => {});
  }

  /** `json`: the answer; null: the call ends without one. */
  async finish(json: string | null): Promise<void> {
    await this.#chain;
    try {
      if (!this.left) await persistently(() => this.#host.object().finish(this.key, this.#attempt, json));
    } finally {
      // A result that could not be stored: without its socket the call is lost, and another run is started.
      this.close();
    }
  }

  withdraw(reason: string): void {
    for (const requestId of this.#open.values()) {
      this.append(notification("notifications/cancelled", { requestId, reason }));
    }
    this.#open.clear();
  }

  close(): void {
    this.#socket?.close();
  }
}
