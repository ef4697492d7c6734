// Owns the stored calls of one session: what is asked of them and said by them, who runs them and who is shown what they
// say. Refuses protocol logic: it stores texts, hands them on, and has a run started when nobody runs a call.

import { CallTables, MAX_QUESTIONS, type NewCall, type NewQuestion, type StoredCall } from "./call-tables.ts";
import { CLOSE, type ViewerMessage } from "../streams/wire.ts";
import { tell, type Sockets } from "./session-sockets.ts";

/** Runs of a call that may be lost one after the other, without an answer in between. */
const MAX_LOST = 5;
/** How long a run whose socket closed may take to come back, before another is started. */
const RECOVERY_MS = 3000;
/** A connection may be gone for so long before whoever writes to it finds out. */
const UNCERTAIN_MS = 60_000;

export interface AskQuestions {
  /** The call, when it is not stored yet. */
  readonly call: NewCall | null;
  readonly key: string;
  readonly attempt: number;
  readonly memos: string;
  readonly questions: readonly NewQuestion[];
}

export interface Known {
  readonly digest: string;
  readonly id: string;
  /** The JSON of the client's response. */
  readonly answer: string | null;
}

export type AskResult =
  | { readonly state: "asked"; readonly known: readonly Known[] }
  /** Somebody else runs the call now, or it is over. */
  | { readonly state: "stale" }
  | { readonly state: "full" };

export interface StoredRun {
  readonly record: string;
  readonly memos: string;
  readonly known: readonly Known[];
}

export interface DeskHost {
  readonly storage: DurableObjectStorage;
  readonly sockets: Sockets;
  /** Runs a call in an invocation of the Worker; resolves when that is over, rejects when it was lost. */
  run(key: string, attempt: number): Promise<void>;
  wakeAt(time: number): void;
  waitUntil(work: Promise<unknown>): void;
}

export class CallDesk {
  readonly #host: DeskHost;
  readonly #tables: CallTables;
  readonly #launched = new Set<string>();

  constructor(host: DeskHost) {
    this.#host = host;
    this.#tables = new CallTables(host.storage.sql);
    // The runs of an earlier instance come back to their sockets, or are lost.
    if (this.#tables.unfinished().some(({ key }) => this.#isLost(key))) this.#recoverSoon();
  }

  /** false: the session has as many as it may. */
  start(call: NewCall): boolean {
    // Whoever gave it before may not have heard that it was taken.
    if (this.#tables.find(call.key)) return true;
    if (!this.#host.storage.transactionSync(() => this.#tables.add(call))) return false;
    this.#tellHolder(call.key);
    if (this.#tables.takeCancelled(call.request, Date.now())) this.#end(call.key);
    else this.#launch(call.key, 1);
    return true;
  }

  ask(ask: AskQuestions): AskResult {
    const isNew = ask.call !== null && !this.#tables.find(ask.key);
    const state = this.#host.storage.transactionSync(() => this.#put(ask));
    if (isNew && state === "asked") this.#tellHolder(ask.key);
    return state === "asked" ? { state, known: this.#tables.answers(ask.key) } : { state };
  }

  #put({ call, key, attempt, memos, questions }: AskQuestions): AskResult["state"] {
    // Before the call is stored: what fails here must leave no call that nobody ends.
    if (questions.length > MAX_QUESTIONS) return "full";
    if (call && !this.#tables.find(key) && !this.#tables.add(call)) return "full";
    if (!this.#current(key, attempt)) return "stale";
    this.#tables.keepMemos(key, memos);
    const fresh = this.#tables.addQuestions(key, questions);
    if (!fresh) return "full";
    for (const { id, json } of fresh) {
      const seq = this.#append(key, json, true);
      if (seq !== undefined) this.#tables.placeQuestion(id, seq);
    }
    return "asked";
  }

  append(key: string, attempt: number, json: string, count: number): boolean {
    const call = this.#current(key, attempt);
    if (!call) return false;
    if (this.#tables.say(call, count)) this.#append(key, json, false);
    return true;
  }

  finish(key: string, attempt: number, json: string | null): boolean {
    if (!this.#current(key, attempt)) return false;
    this.#host.storage.transactionSync(() => {
      if (json !== null) this.#append(key, json, true);
      this.#end(key);
    });
    return true;
  }

  handOver(key: string, attempt: number): void {
    const call = this.#current(key, attempt);
    if (call) this.#runAgain(call);
  }

  take(key: string, attempt: number): StoredRun | undefined {
    const call = this.#current(key, attempt);
    if (!call) return undefined;
    return { record: this.#tables.record(key), memos: call.memos, known: this.#tables.answers(key) };
  }

  answer(id: string, response: string): "taken" | "over" | "unknown" {
    const question = this.#tables.question(id);
    if (!question) return "unknown";
    const call = this.#tables.find(question.call);
    if (question.answer !== null || !call || call.over !== null) return "over";
    this.#tables.keepAnswer(id, call.key, response);
    const runners = this.#host.sockets((socket) => socket.as === "runner" && socket.call === call.key);
    if (runners.length > 0) for (const runner of runners) tell(runner, { answered: true });
    else if (!this.#launched.has(call.key)) this.#runAgain(call);
    return "taken";
  }

  /** Only for who runs the call now: it is not kept. */
  progress(id: string, params: string): void {
    const question = this.#tables.question(id);
    if (!question || question.answer !== null) return;
    const runners = this.#host.sockets((socket) => socket.as === "runner" && socket.call === question.call);
    for (const runner of runners) tell(runner, { progress: { id, params } });
  }

  cancel(request: string): void {
    const stored = this.#tables.unfinished().filter((call) => call.request === request);
    const runners = this.#host.sockets((socket) => socket.as === "runner" && socket.request === request);
    for (const runner of runners) tell(runner, { cancel: true });
    for (const { key } of stored) this.#end(key);
    if (stored.length === 0 && runners.length === 0) this.#tables.addCancelled(request, Date.now());
  }

  /** Before its runner was there, or while its socket was lost. */
  isCancelled({ request, call }: { readonly request: string; readonly call: string }): boolean {
    const isOver = typeof this.#tables.find(call)?.over === "number";
    return isOver || this.#tables.takeCancelled(request, Date.now());
  }

  /** A status: nothing can be shown to a viewer from there on. */
  refuseViewer(key: string, after: number): number | undefined {
    const call = this.#tables.find(key);
    if (!call || after > call.seq) return 404;
    return call.over !== null && after === call.seq ? 410 : undefined;
  }

  /** One connection shows a call: the newest. */
  view(socket: WebSocket, key: string, after: number): void {
    for (const other of this.#host.sockets((one) => one.as === "viewer" && one.call === key)) {
      if (other !== socket) other.close(CLOSE.replaced);
    }
    for (const event of this.#tables.events(key, after)) tell(socket, event);
    if (this.#tables.find(key)?.over === null) return;
    tell(socket, { over: true });
    this.#tables.setShown(key, Date.now());
  }

  /** Every stored call; `from`: after it there is what nobody can do without, an open question or an unseen result. */
  list(): readonly { readonly key: string; readonly from: number }[] {
    const certain = Date.now() - UNCERTAIN_MS;
    return this.#tables.all().map(({ key, over, shown, seq }) => {
      if (over === null) return { key, from: Math.max((this.#tables.firstOpen(key) ?? seq + 1) - 1, 0) };
      // What ended without a word ends with a question that nobody may answer any more.
      const isSeen = (shown !== null && shown < certain) || this.#tables.isQuestion(key, seq);
      return { key, from: isSeen ? seq : Math.max(seq - 1, 0) };
    });
  }

  /** Whoever asked for them is gone for good: nothing of them may be shown, or answer a request of the same id. */
  forget(): void {
    for (const { request } of this.#tables.unfinished()) this.cancel(request);
    this.#tables.clear();
  }

  /** `parked`: of its own accord, because it waits for its client. */
  runnerLeft(key: string, parked: boolean): void {
    if (parked) this.#tables.park(key);
    if (this.#isLost(key)) this.#recoverSoon();
  }

  /** Starts what was lost, and drops what was kept long enough. Says when to come again. */
  tend(now: number): number | undefined {
    for (const call of this.#tables.unfinished()) {
      if (this.#isLost(call.key)) this.#recover(call);
    }
    return this.#tables.prune(now);
  }

  #recover(call: StoredCall): void {
    if (this.#tables.lose(call.key) < MAX_LOST) this.#runAgain(call);
    else this.#giveUp(call);
  }

  /** What an earlier run did may have been done, so only what may be repeated goes on. */
  #runAgain(call: StoredCall): void {
    if (call.repeatable === 1) this.#launch(call.key, this.#tables.nextAttempt(call.key));
    else this.#giveUp(call);
  }

  #giveUp({ key, fallback }: StoredCall): void {
    this.#append(key, fallback, true);
    this.#end(key);
  }

  #recoverSoon(): void {
    this.#host.wakeAt(Date.now() + RECOVERY_MS);
  }

  /** Whoever holds the client's one stream shows the call there. */
  #tellHolder(key: string): void {
    for (const holder of this.#host.sockets(({ as }) => as === "holder")) tell(holder, { stored: key });
  }

  /** Nobody runs it, and it was not left to the answer of its client either. */
  #isLost(key: string): boolean {
    const call = this.#tables.find(key);
    if (!call || call.over !== null || this.#launched.has(key)) return false;
    const running = this.#host.sockets((socket) => socket.as === "runner" && socket.call === key);
    return running.length === 0 && !(call.parked === 1 && this.#tables.waits(key));
  }

  #launch(key: string, attempt: number): void {
    const call = this.#tables.find(key);
    if (!call || call.over !== null) return;
    this.#launched.add(key);
    this.#host.waitUntil(this.#run(key, attempt));
  }

  async #run(key: string, attempt: number): Promise<void> {
    try {
      await this.#host.run(key, attempt);
    } catch {
      // The run ended with the Worker that ran it; the alarm starts another.
    }
    this.#launched.delete(key);
    this.runnerLeft(key, false);
  }

  #current(key: string, attempt: number): StoredCall | undefined {
    const call = this.#tables.find(key);
    return call?.attempt === attempt && call.over === null ? call : undefined;
  }

  #append(key: string, json: string, always: boolean): number | undefined {
    const call = this.#tables.find(key);
    const seq = call && this.#tables.append(call, json, always);
    if (seq === undefined) return undefined;
    for (const event of this.#tables.events(key, seq - 1, seq)) this.#show(key, event);
    return seq;
  }

  #end(key: string): void {
    const now = Date.now();
    this.#tables.end(key, now);
    const next = this.#tables.prune(now);
    if (next !== undefined) this.#host.wakeAt(next);
    if (this.#show(key, { over: true }) > 0) this.#tables.setShown(key, now);
  }

  /** Says to how many. */
  #show(key: string, message: ViewerMessage): number {
    const viewers = this.#host.sockets((socket) => socket.as === "viewer" && socket.call === key);
    for (const viewer of viewers) tell(viewer, message);
    return viewers.length;
  }
}
