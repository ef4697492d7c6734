// A call of a 2025 session while it runs in this invocation, including its cancellation. The call is stored at its
// first question to the client, or from its start if it is resumable. From then on its messages go into the log in the
// session object. Answers come back from there, whichever isolate received them.

import type { ClientResponse, OutgoingRequest, ClientRequester } from "../protocol/mcp-request.ts";
import { UserError } from "../protocol/user-error.ts";
import { notification, type JsonObject, type MessageId } from "../protocol/jsonrpc.ts";
import type { NewCall, KnownQuestion } from "./call-store.ts";
import { ReconnectingWebSocket } from "../streams/reconnecting-web-socket.ts";
import { openSessionSocket, type SessionStub } from "./session-stub.ts";
import { withRetries } from "../streams/with-retries.ts";
import type { QuestionBatchResult, StoredRun } from "./stored-calls.ts";
import { CLOSE, type RunnerMessage } from "../streams/socket-messages.ts";

export interface RunnerHost {
  /** A stub for one use. */
  sessionObject(): SessionStub;
  /** When the session's id expires, in milliseconds since the epoch. */
  readonly expires: number;
  /** As `requestKey` makes it. */
  readonly request: string;
  /** Whether another run may continue the call. */
  readonly repeatable: boolean;
  /** The data to store when the call has to outlive this invocation. */
  describe(): Promise<Pick<NewCall, "record" | "fallback" | "notificationCount" | "repeatable">>;
  /** The call was just stored. From now on its stream shows the log. */
  onStored(key: string): void;
  /** Whether the rights with which the call was admitted still hold. */
  hasSameRights(): Promise<boolean>;
  onCancelled(): void;
  /**
   * How long a run waits for an answer before it parks and leaves the call to another run. Absent: as long as its
   * client is connected.
   */
  readonly parkAfterMs?: number;
}

/** The capacity of a log. If a handler sends more before it can be stored, the rest is dropped. */
const MAX_UNSAVED_CHARACTERS = 4_000_000;
const MAX_REQUEST_CHARACTERS = 256;

/** The name of a request within its session: the JSON of its id, shortened to fit into a socket's attachment. */
export function requestKey(id: MessageId): string {
  const json = JSON.stringify(id);
  return json.length <= MAX_REQUEST_CHARACTERS ? json : `${json.slice(0, MAX_REQUEST_CHARACTERS)}#${hashOf(json)}`;
}

/**
 * Distinguishes long ids of one session with the same beginning. Only the session's own client could make two that
 * collide. FNV-1a.
 */
function hashOf(text: string): string {
  let sum = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) sum = Math.imul(sum ^ text.charCodeAt(at), 0x01000193) >>> 0;
  return `${text.length}-${sum.toString(16)}`;
}

/** The prefix of question ids, which are also their progress tokens. */
const QUESTION_PREFIX = "q-";

export function isQuestionId(token: unknown): token is string {
  return typeof token === "string" && token.startsWith(QUESTION_PREFIX);
}

export function newCallKey(): string {
  return crypto.randomUUID().replaceAll("-", "").slice(0, 16);
}

export class CallRunner implements ClientRequester {
  readonly #host: RunnerHost;
  readonly key: string;
  #attempt = 1;
  #isStored = false;
  #memos: Readonly<Record<string, unknown>> = {};
  #socket: ReconnectingWebSocket | undefined;
  #connecting: Promise<unknown> | undefined;
  #notificationCount = 0;
  /** The last `append`. Each waits for the previous one, so the log keeps the order of messages. */
  #lastAppend: Promise<unknown> = Promise.resolve();
  /** Characters that are not stored yet. */
  #unsavedCharacters = 0;
  #questionCount = 0;
  /** The ids of unanswered questions, by digest. */
  readonly #openQuestions = new Map<string, string>();
  /** Listeners for the client's progress on a question, by the question's digest. */
  readonly #progressListeners = new Map<string, (progress: JsonObject) => void>();
  /** Wakes every pending `request`, to look for answers again or to notice that the run has ended. */
  readonly #waiters = new Set<() => void>();
  /** The call was cancelled, or another run continues it. This run sends nothing any more. */
  isStopped = false;
  isCancelled = false;

  constructor(host: RunnerHost, key = newCallKey()) {
    this.#host = host;
    this.key = key;
  }

  /** Continues a call of an earlier run. */
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

  /** Connects to the session object, so that a cancellation from any isolate reaches the call. */
  watch(): Promise<unknown> {
    this.#connecting ??= this.#connect().catch((error: unknown) => {
      // The object may be back when the call needs it.
      this.#connecting = undefined;
      throw error;
    });
    return this.#connecting;
  }

  async #connect(): Promise<void> {
    const { request } = this.#host;
    this.#socket = new ReconnectingWebSocket(
      () => openSessionSocket(this.#host.sessionObject(), { as: "runner", request, call: this.key }),
      {
        onMessage: (message) => {
          this.#onMessage(message as RunnerMessage);
        },
        onReconnect: () => {
          this.#wakeWaiters();
        },
        // The session has ended, and its calls with it.
        onEnd: () => {
          this.#cancel();
        },
      },
    );
    await withRetries(async () => this.#socket?.start());
  }

  #onMessage(message: RunnerMessage): void {
    if ("cancel" in message) this.#cancel();
    if ("answered" in message) this.#wakeWaiters();
    if ("progress" in message) this.#onProgress(message.progress);
  }

  #onProgress({ id, params }: { readonly id: string; readonly params: string }): void {
    const [digest] = [...this.#openQuestions].find(([, open]) => open === id) ?? [];
    if (digest !== undefined) this.#progressListeners.get(digest)?.(JSON.parse(params) as JsonObject);
  }

  #wakeWaiters(): void {
    for (const wake of this.#waiters) wake();
    this.#waiters.clear();
  }

  /** `isSure`: false if another run may continue the call. */
  #cancel(isSure = true): void {
    this.isCancelled ||= isSure;
    this.isStopped = true;
    this.#host.onCancelled();
    this.#wakeWaiters();
  }

  /**
   * The client of this connection disconnected. A run that waits for an answer parks, and the answer starts another
   * run. A run that must not be repeated keeps waiting, because the answer may arrive over another connection.
   */
  onClientGone(): void {
    if (this.#openQuestions.size > 0 && this.#host.repeatable) this.#stop(CLOSE.parked);
  }

  /** This invocation ends before the call does. The object starts another run. */
  abandon(): void {
    this.#stop();
  }

  #stop(code?: number): void {
    if (this.isStopped) return;
    this.isStopped = true;
    this.#wakeWaiters();
    this.#socket?.close(code);
  }

  /**
   * Stores the call with its questions, then waits until all are answered. undefined: this run has ended, because the
   * call was cancelled or another run continues it.
   */
  async request(
    questions: readonly OutgoingRequest[],
    memos: Readonly<Record<string, unknown>>,
  ): Promise<ReadonlyMap<string, ClientResponse> | undefined> {
    await this.watch();
    await this.#lastAppend;
    const call = this.#isStored ? null : await this.#describe();
    const wired = questions.map((question) => this.#toNewQuestion(question));
    const digests = questions.map(({ digest }) => digest);
    for (const { id, digest } of wired) this.#openQuestions.set(digest, id);
    for (let first = true; !this.isStopped; first = false) {
      // Created before the object is asked, so that an answer in between is not missed.
      const woken = new Promise<void>((resolve) => {
        this.#waiters.add(resolve);
      });
      const batch = { call, key: this.key, attempt: this.#attempt, memos: JSON.stringify(memos), questions: wired };
      const result = await withRetries<QuestionBatchResult>(async () =>
        this.#host.sessionObject().ask(batch, this.#host.expires),
      );
      if (result.state === "full") throw new UserError("this session has too many calls that wait for an answer");
      if (result.state === "stale") break;
      if (first) this.#markStored();
      const answers = this.#answersIn(result.known, digests);
      // Rights may have been revoked during the wait. After any change another run continues: it is admitted anew, or
      // refused.
      if (answers && (first || (await this.#host.hasSameRights().catch(() => false)))) return answers;
      if (answers) {
        await withRetries(() => this.#host.sessionObject().handOver(this.key, this.#attempt));
        break;
      }
      await this.#wokenOrParked(woken);
    }
    this.abandon();
    return undefined;
  }

  async #wokenOrParked(woken: Promise<void>): Promise<void> {
    const { parkAfterMs: parksAfterMs } = this.#host;
    if (parksAfterMs === undefined) return woken;
    const timer = setTimeout(() => {
      this.onClientGone();
    }, parksAfterMs);
    await woken;
    clearTimeout(timer);
  }

  async #describe(): Promise<NewCall> {
    const described = await this.#host.describe();
    this.#notificationCount = described.notificationCount;
    return { key: this.key, request: this.#host.request, ...described };
  }

  #toNewQuestion({ name, digest, method, params, onProgress }: OutgoingRequest) {
    this.#questionCount += 1;
    const id = `${QUESTION_PREFIX}${this.key}-${this.#attempt}.${this.#questionCount}`;
    if (onProgress) this.#progressListeners.set(digest, onProgress);
    const paramsWithToken = onProgress
      ? { ...params, _meta: { ...(params?._meta as JsonObject), progressToken: id } }
      : params;
    const json = JSON.stringify({ jsonrpc: "2.0", id, method, params: paramsWithToken });
    return { id, name, digest, json };
  }

  #markStored(): void {
    if (this.#isStored) return;
    this.#isStored = true;
    this.#host.onStored(this.key);
  }

  /** undefined: some of the answers are still missing. */
  #answersIn(
    known: readonly KnownQuestion[],
    digests: readonly string[],
  ): ReadonlyMap<string, ClientResponse> | undefined {
    const answers = new Map<string, ClientResponse>();
    for (const { digest, id, answer } of known) {
      if (!digests.includes(digest)) continue;
      this.#openQuestions.set(digest, id);
      if (answer !== null) answers.set(digest, JSON.parse(answer) as ClientResponse);
    }
    if (answers.size < digests.length) return undefined;
    for (const digest of digests) this.#openQuestions.delete(digest);
    return answers;
  }

  append(json: string): void {
    if (this.#unsavedCharacters > MAX_UNSAVED_CHARACTERS) return;
    this.#unsavedCharacters += json.length;
    this.#notificationCount += 1;
    const count = this.#notificationCount;
    this.#lastAppend = this.#lastAppend
      .then(async () => {
        if (this.isStopped) return;
        const { key } = this;
        if (await withRetries(() => this.#host.sessionObject().append(key, this.#attempt, json, count), true)) return;
        this.#cancel(false);
      })
      // A notification that could not be stored is dropped. The call continues, and its result is stored separately.
      .catch(() => {})
      .then(() => {
        this.#unsavedCharacters -= json.length;
      });
  }

  /** `json`: the response; null: the call ends without one. */
  async finish(json: string | null): Promise<void> {
    await this.#lastAppend;
    try {
      if (!this.isStopped)
        await withRetries(() => this.#host.sessionObject().finish(this.key, this.#attempt, json), true);
    } finally {
      // If the result could not be stored, the closed socket tells the object that the run was lost. The object then
      // starts another run.
      this.close();
    }
  }

  /** Asks the session object, which may have counted this run as lost. */
  async isFinalRun(): Promise<boolean> {
    if (this.isCancelled || !this.#isStored) return true;
    if (this.isStopped) return false;
    const current = withRetries(() => this.#host.sessionObject().take(this.key, this.#attempt), true);
    // If the object is unreachable, it will start another run.
    const ends = (await current.catch(() => undefined)) !== undefined;
    this.isStopped ||= !ends;
    return ends;
  }

  cancel(reason: string): void {
    for (const requestId of this.#openQuestions.values()) {
      this.append(notification("notifications/cancelled", { requestId, reason }));
    }
    this.#openQuestions.clear();
  }

  close(): void {
    this.#socket?.close();
  }
}
