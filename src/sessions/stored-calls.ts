// The stored calls of one session: their questions and messages, who runs them, and who views them. It stores and
// forwards texts, and starts a run if a call has none. It knows no protocol logic.

import {
  CallStore,
  MAX_QUESTIONS,
  type KnownQuestion,
  type NewCall,
  type NewQuestion,
  type StoredCall,
} from "./call-store.ts";
import { CLOSE, type ViewerMessage } from "../streams/socket-messages.ts";
import { sendMessage, type Sockets } from "./session-sockets.ts";

/** A call is given up after this many lost runs without an answer of its client in between. */
const MAX_LOST_RUNS = 5;
/** How long a run may take to reconnect after its socket closed, before another run starts. */
const RECONNECT_MS = 3000;
/** How long a connection may be broken before its writer notices. */
const UNNOTICED_CLOSE_MS = 60_000;

export interface QuestionBatch {
  /** The call to store; null: it is already stored. */
  readonly call: NewCall | null;
  readonly key: string;
  readonly attempt: number;
  readonly memos: string;
  readonly questions: readonly NewQuestion[];
}

export type QuestionBatchResult =
  | { readonly state: "stored"; readonly known: readonly KnownQuestion[] }
  /** Another run continues the call, or the call has ended. */
  | { readonly state: "stale" }
  /** The session has too many calls, or the call too many questions. */
  | { readonly state: "full" };

export interface StoredRun {
  readonly record: string;
  readonly memos: string;
  readonly known: readonly KnownQuestion[];
}

export interface StoredCallsHost {
  readonly storage: DurableObjectStorage;
  readonly sockets: Sockets;
  /**
   * Runs a call in an invocation of the Worker. Resolves when the run has ended. If the run could not start, resolves
   * to the client's response, unless a later run gets further. Rejects if the run was lost.
   */
  run(key: string, attempt: number): Promise<string | undefined>;
  scheduleAlarm(time: number): void;
  waitUntil(work: Promise<unknown>): void;
}

export class StoredCalls {
  readonly #host: StoredCallsHost;
  readonly #store: CallStore;
  readonly #runningKeys = new Set<string>();
  /**
   * Calls whose last run never started, with the response for that case. Such a call may run again, even if it is not
   * repeatable.
   */
  readonly #startErrors = new Map<string, string>();

  constructor(host: StoredCallsHost) {
    this.#host = host;
    this.#store = new CallStore(host.storage.sql);
    // Runs from before this instance started may still reconnect. The others are lost.
    if (this.#store.unfinished().some(({ key }) => this.#isLost(key))) this.#scheduleRecovery();
  }

  /** false: the session has reached its limit of calls. */
  start(call: NewCall): boolean {
    // The caller retries if it did not learn that the call was stored.
    if (this.#store.find(call.key)) return true;
    if (!this.#host.storage.transactionSync(() => this.#store.add(call))) return false;
    this.#notifyHolders(call.key);
    if (this.#store.takeCancelled(call.request, Date.now())) this.#finishCall(call.key);
    else this.#launch(call.key, 1);
    return true;
  }

  ask(batch: QuestionBatch): QuestionBatchResult {
    const isNew = batch.call !== null && !this.#store.find(batch.key);
    const state = this.#host.storage.transactionSync(() => this.#putQuestions(batch));
    if (isNew && state === "stored") this.#notifyHolders(batch.key);
    return state === "stored" ? { state, known: this.#store.answers(batch.key) } : { state };
  }

  #putQuestions({ call, key, attempt, memos, questions }: QuestionBatch): QuestionBatchResult["state"] {
    // Checked before the call is stored: a refusal afterwards would leave a call that never ends.
    if (questions.length > MAX_QUESTIONS) return "full";
    if (call && !this.#store.find(key) && !this.#store.add(call)) return "full";
    if (!this.#currentRun(key, attempt)) return "stale";
    this.#store.saveMemos(key, memos);
    const added = this.#store.addQuestions(key, questions);
    if (!added) return "full";
    for (const { id, json } of added) {
      const seq = this.#append(key, json, true);
      if (seq !== undefined) this.#store.setQuestionSeq(id, seq);
    }
    return "stored";
  }

  append(key: string, attempt: number, json: string, number: number): boolean {
    const call = this.#currentRun(key, attempt);
    if (!call) return false;
    if (this.#store.countNotification(call, number)) this.#append(key, json, false);
    return true;
  }

  finish(key: string, attempt: number, json: string | null): boolean {
    if (!this.#currentRun(key, attempt)) return false;
    this.#host.storage.transactionSync(() => {
      if (json !== null) this.#append(key, json, true);
      this.#finishCall(key);
    });
    return true;
  }

  handOver(key: string, attempt: number): void {
    const call = this.#currentRun(key, attempt);
    if (call) this.#runAgain(call);
  }

  take(key: string, attempt: number): StoredRun | undefined {
    const call = this.#currentRun(key, attempt);
    if (!call) return undefined;
    return { record: this.#store.record(key), memos: call.memos, known: this.#store.answers(key) };
  }

  /** Stores an answer. Wakes the run that waits for it, or starts one if the call has none. */
  answer(id: string, response: string): "taken" | "over" | "unknown" {
    const question = this.#store.question(id);
    if (!question) return "unknown";
    const call = this.#store.find(question.call);
    if (question.answer !== null || !call || call.finished_at !== null) return "over";
    this.#store.saveAnswer(id, call.key, response);
    const runners = this.#host.sockets((socket) => socket.as === "runner" && socket.call === call.key);
    if (runners.length > 0) for (const runner of runners) sendMessage(runner, { answered: true });
    else if (!this.#runningKeys.has(call.key)) this.#runAgain(call);
    return "taken";
  }

  /** Forwards progress to the call's runners. It is not stored. */
  progress(id: string, params: string): void {
    const question = this.#store.question(id);
    if (!question || question.answer !== null) return;
    const runners = this.#host.sockets((socket) => socket.as === "runner" && socket.call === question.call);
    for (const runner of runners) sendMessage(runner, { progress: { id, params } });
  }

  cancel(request: string): void {
    const stored = this.#store.unfinished().filter((call) => call.request === request);
    const runners = this.#host.sockets((socket) => socket.as === "runner" && socket.request === request);
    for (const runner of runners) sendMessage(runner, { cancel: true });
    for (const { key } of stored) this.#finishCall(key);
    if (stored.length === 0 && runners.length === 0) this.#store.addCancelled(request, Date.now());
  }

  /** Whether the call was cancelled before its runner connected, or while the runner's socket was lost. */
  isCancelled({ request, call }: { readonly request: string; readonly call: string }): boolean {
    const isOver = typeof this.#store.find(call)?.finished_at === "number";
    return isOver || this.#store.takeCancelled(request, Date.now());
  }

  /**
   * An HTTP status: 404 if there is no such call or event, 410 if nothing follows. undefined: there is something to
   * show.
   */
  refuseViewer(key: string, after: number): number | undefined {
    const call = this.#store.find(key);
    if (!call || after > call.last_seq) return 404;
    return call.finished_at !== null && after === call.last_seq ? 410 : undefined;
  }

  /** Sends the events after event `after`, then new ones. Only the newest connection shows a call. */
  view(socket: WebSocket, key: string, after: number): void {
    for (const other of this.#host.sockets((one) => one.as === "viewer" && one.call === key)) {
      if (other !== socket) other.close(CLOSE.replaced);
    }
    for (const event of this.#store.events(key, after)) sendMessage(socket, event);
    if (this.#store.find(key)?.finished_at === null) return;
    sendMessage(socket, { over: true });
    this.#store.setResultSent(key, Date.now());
  }

  /**
   * Every stored call. `from`: the event after which to show the log to a client that cannot name its position. That is
   * just before the first open question, or before a result that the client may not have received.
   */
  list(): readonly { readonly key: string; readonly from: number }[] {
    const noticedBefore = Date.now() - UNNOTICED_CLOSE_MS;
    return this.#store.all().map(({ key, finished_at, result_sent_at, last_seq: seq }) => {
      if (finished_at === null) return { key, from: Math.max((this.#store.firstOpenQuestion(key) ?? seq + 1) - 1, 0) };
      // A cancelled call has no result. The question at the end of its log needs no answer any more.
      const isSeen = (result_sent_at !== null && result_sent_at < noticedBefore) || this.#store.isQuestion(key, seq);
      return { key, from: isSeen ? seq : Math.max(seq - 1, 0) };
    });
  }

  /**
   * Cancels and deletes every call, because the client started anew. Nothing of them may be shown to it, or answer a
   * new request with the same id.
   */
  forget(): void {
    for (const { request } of this.#store.unfinished()) this.cancel(request);
    this.#store.clear();
  }

  /** A runner's socket closed. `isParked`: the run stopped on purpose, to wait for its client. */
  onRunnerClosed(key: string, isParked: boolean): void {
    if (isParked) this.#store.park(key);
    if (this.#isLost(key)) this.#scheduleRecovery();
  }

  /** Recovers lost runs and prunes finished calls. Returns when to call it again; undefined: never. */
  maintain(now: number): number | undefined {
    for (const call of this.#store.unfinished()) {
      if (this.#isLost(call.key)) this.#recover(call);
    }
    return this.#store.prune(now);
  }

  #recover(call: StoredCall): void {
    if (this.#store.countLostRun(call.key) < MAX_LOST_RUNS) this.#runAgain(call);
    else this.#giveUp(call);
  }

  /** An earlier run may have had effects, so only a repeatable call is run again. */
  #runAgain(call: StoredCall): void {
    if (call.repeatable === 1 || this.#startErrors.has(call.key))
      this.#launch(call.key, this.#store.nextAttempt(call.key));
    else this.#giveUp(call);
  }

  #giveUp({ key, fallback }: StoredCall): void {
    this.#append(key, this.#startErrors.get(key) ?? fallback, true);
    this.#finishCall(key);
  }

  #scheduleRecovery(): void {
    this.#host.scheduleAlarm(Date.now() + RECONNECT_MS);
  }

  /** Tells the holder of the client's HTTP+SSE stream, so that it shows the call. */
  #notifyHolders(key: string): void {
    for (const holder of this.#host.sockets(({ as }) => as === "holder")) sendMessage(holder, { stored: key });
  }

  /** Whether an unfinished call has no run, and is not parked to wait for its client. */
  #isLost(key: string): boolean {
    const call = this.#store.find(key);
    if (!call || call.finished_at !== null || this.#runningKeys.has(key)) return false;
    const running = this.#host.sockets((socket) => socket.as === "runner" && socket.call === key);
    return running.length === 0 && !(call.parked === 1 && this.#store.hasOpenQuestions(key));
  }

  #launch(key: string, attempt: number): void {
    const call = this.#store.find(key);
    if (!call || call.finished_at !== null) return;
    this.#runningKeys.add(key);
    this.#startErrors.delete(key);
    this.#host.waitUntil(this.#run(key, attempt));
  }

  async #run(key: string, attempt: number): Promise<void> {
    try {
      const startError = await this.#host.run(key, attempt);
      if (startError !== undefined) this.#startErrors.set(key, startError);
    } catch {
      // The run ended with the invocation that ran it. The alarm starts another one.
    }
    this.#runningKeys.delete(key);
    this.onRunnerClosed(key, false);
  }

  /** The call, if it has not ended and `attempt` is its newest run. Messages of older runs are ignored. */
  #currentRun(key: string, attempt: number): StoredCall | undefined {
    const call = this.#store.find(key);
    return call?.attempt === attempt && call.finished_at === null ? call : undefined;
  }

  #append(key: string, json: string, always: boolean): number | undefined {
    const call = this.#store.find(key);
    const seq = call && this.#store.append(call, json, always);
    if (seq === undefined) return undefined;
    for (const event of this.#store.events(key, seq - 1, seq)) this.#showViewers(key, event);
    return seq;
  }

  #finishCall(key: string): void {
    const now = Date.now();
    this.#store.finish(key, now);
    const next = this.#store.prune(now);
    if (next !== undefined) this.#host.scheduleAlarm(next);
    if (this.#showViewers(key, { over: true }) > 0) this.#store.setResultSent(key, now);
  }

  /** Sends to all viewers of the call. Returns how many there are. */
  #showViewers(key: string, message: ViewerMessage): number {
    const viewers = this.#host.sockets((socket) => socket.as === "viewer" && socket.call === key);
    for (const viewer of viewers) sendMessage(viewer, message);
    return viewers.length;
  }
}
