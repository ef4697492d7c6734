// Owns the stored calls of one session: what is asked of them and said by them, who runs them and who is shown what
// they say. Refuses protocol logic: it stores texts, hands them on, and has a run started when nobody runs a call.

import { CallTables, MAX_QUESTIONS, type NewCall, type NewQuestion, type StoredCall } from "./call-tables.ts";
import { CLOSE, type ViewerMessage } from "../streams/wire.ts";
import { tell, type Sockets } from "./session-sockets.ts";

/** A call is given up when so many runs of it were lost, without an answer of its client in between. */
const MAX_LOST = 5;
/** How long a run whose socket closed may take to come back, before another is started. */
const RECOVERY_MS = 3000;
/** For how long a connection may be gone before whoever writes to it notices. */
const UNCERTAIN_MS = 60_000;

export interface AskQuestions {
  /** The call to store; null: it is stored already. */
  readonly call: NewCall | null;
  readonly key: string;
  readonly attempt: number;
  readonly memos: string;
  readonly questions: readonly NewQuestion[];
}

export interface Known {
  readonly digest: string;
  readonly id: string;
  /** JSON of the client's response; null: there is none yet. */
  readonly answer: string | null;
}

export type AskResult =
  | { readonly state: "asked"; readonly known: readonly Known[] }
  /** Another run goes on with the call, or it is over. */
  | { readonly state: "stale" }
  /** The session has too many calls, or the call too many questions. */
  | { readonly state: "full" };

export interface StoredRun {
  readonly record: string;
  readonly memos: string;
  readonly known: readonly Known[];
}

export interface DeskHost {
  readonly storage: DurableObjectStorage;
  readonly sockets: Sockets;
  /**
   * Runs a call in an invocation of the Worker; resolves when that is over, or where nothing of it could be run with what its
   * client is told unless a later run gets further; rejects when it was lost.
   */
  run(key: string, attempt: number): Promise<string | undefined>;
  wakeAt(time: number): void;
  waitUntil(work: Promise<unknown>): void;
}

export class CallDesk {
  readonly #host: DeskHost;
  readonly #tables: CallTables;
  readonly #launched = new Set<string>();
  /** Whose last run never began, with what is to be told of that: it may be tried again, whatever the call does. */
  readonly #notBegun = new Map<string, string>();

  constructor(host: DeskHost) {
    this.#host = host;
    this.#tables = new CallTables(host.storage.sql);
    // Runs from before this instance began may still reconnect; those that do not are lost.
    if (this.#tables.unfinished().some(({ key }) => this.#isLost(key))) this.#recoverSoon();
  }

  /** false: the session has as many as it may. */
  start(call: NewCall): boolean {
    // The caller tries again when it did not hear that the call was stored.
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
    // Checked before the call is stored: a refusal after that would leave a call that nobody ends.
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

  /** Stores an answer. It wakes the run that waits for it, or starts one where nobody runs the call. */
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

  /** Hands progress to whoever runs the call now. It is not stored. */
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

  /** Whether a call was cancelled before its runner connected, or while the runner's socket was lost. */
  isCancelled({ request, call }: { readonly request: string; readonly call: string }): boolean {
    const isOver = typeof this.#tables.find(call)?.over === "number";
    return isOver || this.#tables.takeCancelled(request, Date.now());
  }

  /** An HTTP status: 404 for no such call or event, 410 when nothing follows. undefined: there is something to show. */
  refuseViewer(key: string, after: number): number | undefined {
    const call = this.#tables.find(key);
    if (!call || after > call.seq) return 404;
    return call.over !== null && after === call.seq ? 410 : undefined;
  }

  /** Sends what follows event `after`, then what comes. Only the newest connection shows a call. */
  view(socket: WebSocket, key: string, after: number): void {
    for (const other of this.#host.sockets((one) => one.as === "viewer" && one.call === key)) {
      if (other !== socket) other.close(CLOSE.replaced);
    }
    for (const event of this.#tables.events(key, after)) tell(socket, event);
    if (this.#tables.find(key)?.over === null) return;
    tell(socket, { over: true });
    this.#tables.setShown(key, Date.now());
  }

  /**
   * Every stored call. `from`: the event after which its client must be shown the log when it cannot say where it was:
   * just before the first open question, or before a result that it may not have received.
   */
  list(): readonly { readonly key: string; readonly from: number }[] {
    const certain = Date.now() - UNCERTAIN_MS;
    return this.#tables.all().map(({ key, over, shown, seq }) => {
      if (over === null) return { key, from: Math.max((this.#tables.firstOpen(key) ?? seq + 1) - 1, 0) };
      // A call that was cancelled has no result: the question that its log ends with needs no answer any more.
      const isSeen = (shown !== null && shown < certain) || this.#tables.isQuestion(key, seq);
      return { key, from: isSeen ? seq : Math.max(seq - 1, 0) };
    });
  }

  /**
   * Cancels and deletes every call, because the client began anew: nothing of them may be shown to it, or answer a new
   * request that has the same id.
   */
  forget(): void {
    for (const { request } of this.#tables.unfinished()) this.cancel(request);
    this.#tables.clear();
  }

  /** A runner's socket closed. `parked`: the run stopped on purpose, because it waits for its client. */
  runnerLeft(key: string, parked: boolean): void {
    if (parked) this.#tables.park(key);
    if (this.#isLost(key)) this.#recoverSoon();
  }

  /** Starts what was lost, and drops what was kept long enough. Returns when to call it again; undefined: no need. */
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

  /** An earlier run may have had effects already, so only a call that may be repeated is run again. */
  #runAgain(call: StoredCall): void {
    if (call.repeatable === 1 || this.#notBegun.has(call.key))
      this.#launch(call.key, this.#tables.nextAttempt(call.key));
    else this.#giveUp(call);
  }

  #giveUp({ key, fallback }: StoredCall): void {
    this.#append(key, this.#notBegun.get(key) ?? fallback, true);
    this.#end(key);
  }

  #recoverSoon(): void {
    this.#host.wakeAt(Date.now() + RECOVERY_MS);
  }

  /** Tells whoever holds the client's HTTP+SSE stream, so that the call is shown there. */
  #tellHolder(key: string): void {
    for (const holder of this.#host.sockets(({ as }) => as === "holder")) tell(holder, { stored: key });
  }

  /** Whether nobody runs a call that is not over, and it does not wait, parked, for its client either. */
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
    this.#notBegun.delete(key);
    this.#host.waitUntil(this.#run(key, attempt));
  }

  async #run(key: string, attempt: number): Promise<void> {
    try {
      const notBegun = await this.#host.run(key, attempt);
      if (notBegun !== undefined) this.#notBegun.set(key, notBegun);
    } catch {
      // The run ended with the Worker that ran it; the alarm starts another.
    }
    this.#launched.delete(key);
    this.runnerLeft(key, false);
  }

  /** The call, if it is not over and `attempt` is its newest run; only that run is heard. */
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

  /** Sends to everybody who views the call; returns how many there are. */
  #show(key: string, message: ViewerMessage): number {
    const viewers = this.#host.sockets((socket) => socket.as === "viewer" && socket.call === key);
    for (const viewer of viewers) tell(viewer, message);
    return viewers.length;
  }
}
