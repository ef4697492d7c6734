// Owns what one 2025 session must remember: its log level, its subscriptions, calls that may outlive a connection, and
// the sockets of those who run and view them. It comes into being with the first such thing, and its alarm ends it.
// Refuses protocol logic: it stores texts, hands them on, and starts a run in the Worker when nobody runs a call.

import { DurableObject } from "cloudflare:workers";
import type { LogLevel } from "../protocol/meta.ts";
import { migrate } from "../tenants/tables.ts";
import { createWake, type Wake } from "../tenants/wake.ts";
import { CALL_MIGRATIONS, CallTables, type NewCall, type NewQuestion, type StoredCall } from "./call-tables.ts";
import { createSubscriptions, type Subscription, type Subscriptions } from "./subscriptions.ts";
import { CLOSE, type RunnerMessage, type ViewerMessage } from "./wire.ts";

const MAX_ATTEMPTS = 5;
/** How long a run whose socket closed may take to come back, before another is started. */
const RECOVERY_MS = 3000;

type Attachment =
  | { readonly as: "viewer"; readonly call: string }
  | { readonly as: "runner"; readonly request: string; readonly call: string | null }
  | { readonly as: "holder" };

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

/** What the Worker is started with to run a stored call; it travels as `ctx.props`, which only a binding can set. */
export interface RunOrder {
  readonly session: string;
  readonly key: string;
  readonly attempt: number;
}

export interface StoredRun {
  readonly record: string;
  readonly memos: string;
  readonly known: readonly Known[];
}

interface Loopback {
  readonly default: (about: { props: { run: RunOrder } }) => Fetcher;
}

export class SessionObject extends DurableObject {
  readonly #wake: Wake;
  readonly #launched = new Set<string>();
  #tables: CallTables | undefined;
  #subscriptions: Subscriptions | undefined;

  constructor(ctx: DurableObjectState, env: Cloudflare.Env) {
    super(ctx, env);
    this.#wake = createWake(ctx);
    if (this.#expires() !== undefined) this.#open();
  }

  /** Leaves nothing behind: a table made here would be stored for ever, because nothing sets an alarm. */
  async logLevel(): Promise<LogLevel | undefined> {
    return this.ctx.storage.kv.get<LogLevel>("logLevel");
  }

  /** `expires`: when the session id ends, in milliseconds since the epoch. */
  async setLogLevel(level: LogLevel, expires: number): Promise<void> {
    this.#begin(expires);
    this.ctx.storage.kv.put("logLevel", level);
  }

  async subscriptions(): Promise<readonly Subscription[]> {
    return this.#subscriptions?.all() ?? [];
  }

  /** false: the session has as many as it may. */
  async subscribe(uri: string, asked: string, expires: number): Promise<boolean> {
    this.#begin(expires);
    return this.#subscriptions?.add(uri, asked) ?? false;
  }

  async unsubscribe(uri: string): Promise<void> {
    this.#subscriptions?.remove(uri);
  }

  /** Stores a call and has it run. false: the session has as many as it may. What is stored already is not begun again. */
  async start(call: NewCall, expires: number): Promise<boolean> {
    const calls = this.#begin(expires);
    if (calls.find(call.key)) return true;
    if (!this.ctx.storage.transactionSync(() => calls.add(call))) return false;
    if (calls.takeCancelled(call.request, Date.now())) this.#end(call.key);
    else this.#launch(call.key, 1);
    return true;
  }

  /** Puts those questions that were not put before; says what is known of all. */
  async ask(ask: AskQuestions, expires: number): Promise<AskResult> {
    const calls = this.#begin(expires);
    const state = this.ctx.storage.transactionSync(() => this.#put(calls, ask));
    if (state !== "asked") return { state };
    return { state, known: calls.answers(ask.key) };
  }

  #put(calls: CallTables, { call, key, attempt, memos, questions }: AskQuestions): AskResult["state"] {
    if (call && !calls.find(key) && !calls.add(call)) return "full";
    if (!this.#current(key, attempt)) return "stale";
    calls.keepMemos(key, memos);
    const fresh = calls.addQuestions(key, questions);
    if (!fresh) return "full";
    for (const { json } of fresh) this.#append(key, json, true);
    return "asked";
  }

  /** `count`: which of the call's notifications it is. false: somebody else runs the call, or it is over. */
  async append(key: string, attempt: number, json: string, count: number): Promise<boolean> {
    const call = this.#current(key, attempt);
    if (!call) return false;
    if (this.#tables?.say(call, count)) this.#append(key, json, false);
    return true;
  }

  /** `json`: the last event; null: it ends without a word. */
  async finish(key: string, attempt: number, json: string | null): Promise<boolean> {
    if (!this.#current(key, attempt)) return false;
    this.ctx.storage.transactionSync(() => {
      if (json !== null) this.#append(key, json, true);
      this.#end(key);
    });
    return true;
  }

  /** What a run begins with; undefined: it is not wanted any more. */
  async take(key: string, attempt: number): Promise<StoredRun | undefined> {
    const call = this.#current(key, attempt);
    if (!call || !this.#tables) return undefined;
    return { record: this.#tables.record(key), memos: call.memos, known: this.#tables.answers(key) };
  }

  /** The client's response to a question. `over`: it was answered before, or nobody wants to know any more. */
  async answer(id: string, response: string): Promise<"taken" | "over" | "unknown"> {
    const calls = this.#tables;
    const question = calls?.question(id);
    if (!calls || !question) return "unknown";
    const call = calls.find(question.call);
    if (question.answer !== null || !call || call.over !== null) return "over";
    calls.keepAnswer(id, response);
    const runners = this.#sockets((socket) => socket.as === "runner" && socket.call === call.key);
    if (runners.length > 0) for (const runner of runners) tell(runner, { answered: true });
    else if (!this.#launched.has(call.key)) this.#launch(call.key, calls.nextAttempt(call.key));
    return "taken";
  }

  /** `request`: the JSON of the JSON-RPC id. */
  async cancel(request: string, expires: number): Promise<void> {
    const calls = this.#begin(expires);
    const stored = calls.unfinished().filter((call) => call.request === request);
    const runners = this.#sockets((socket) => socket.as === "runner" && socket.request === request);
    for (const runner of runners) tell(runner, { cancel: true });
    for (const { key } of stored) this.#end(key);
    if (stored.length === 0 && runners.length === 0) calls.addCancelled(request, Date.now());
  }

  /** Hands what the client posted to who holds its HTTP+SSE stream; false: nobody does. */
  async deliver(text: string): Promise<boolean> {
    const [holder] = this.#sockets(({ as }) => as === "holder");
    if (holder) tell(holder, { posted: text });
    return holder !== undefined;
  }

  /** The session's end: nothing of it is left. */
  async end(): Promise<void> {
    for (const socket of this.ctx.getWebSockets()) socket.close(CLOSE.ended);
    this.#tables = undefined;
    this.#subscriptions = undefined;
    this.#wake.clear();
    await this.ctx.storage.deleteAll();
  }

  /** The sockets of those who run, view or hold. */
  override async fetch(request: Request): Promise<Response> {
    const { searchParams } = new URL(request.url);
    const attachment = JSON.parse(searchParams.get("socket") ?? "{}") as Attachment;
    const after = Number(searchParams.get("after") ?? 0);
    const refused = attachment.as === "viewer" ? this.#refuseViewer(attachment.call, after) : undefined;
    if (refused !== undefined) return new Response(null, { status: refused });
    const { 0: near, 1: far } = new WebSocketPair();
    this.ctx.acceptWebSocket(far);
    far.serializeAttachment(attachment);
    if (attachment.as === "viewer") this.#catchUp(far, attachment.call, after);
    if (attachment.as === "runner" && this.#tables?.takeCancelled(attachment.request, Date.now())) {
      tell(far, { cancel: true });
    }
    return new Response(null, { status: 101, webSocket: near });
  }

  override async webSocketClose(socket: WebSocket): Promise<void> {
    const attachment = socket.deserializeAttachment() as Attachment;
    if (attachment.as === "holder") await this.end();
    if (attachment.as !== "runner" || attachment.call === null) return;
    if (this.#isLost(attachment.call)) this.#wake.at(Date.now() + RECOVERY_MS);
  }

  override async alarm(): Promise<void> {
    this.#wake.clear();
    const expires = this.#expires();
    const now = Date.now();
    if (expires === undefined || !this.#tables || now >= expires) {
      await this.end();
      return;
    }
    for (const call of this.#tables.unfinished()) {
      if (this.#isLost(call.key)) this.#launch(call.key, this.#tables.nextAttempt(call.key));
    }
    this.#wake.at(Math.min(expires, this.#tables.prune(now) ?? expires));
  }

  #expires(): number | undefined {
    return this.ctx.storage.kv.get<number>("expires");
  }

  #begin(expires: number): CallTables {
    if (this.#expires() === undefined) {
      this.ctx.storage.kv.put("expires", expires);
      this.#wake.at(expires);
    }
    return this.#open();
  }

  #open(): CallTables {
    if (this.#tables) return this.#tables;
    const { sql } = this.ctx.storage;
    migrate(sql, [{ name: "calls", migrations: CALL_MIGRATIONS }]);
    this.#subscriptions = createSubscriptions(sql);
    this.#tables = new CallTables(sql);
    // The runs of an earlier instance come back to their sockets, or are lost.
    if (this.#tables.unfinished().some(({ key }) => this.#isLost(key))) this.#wake.at(Date.now() + RECOVERY_MS);
    return this.#tables;
  }

  /** Nobody runs it, and it does not wait for its client either. */
  #isLost(key: string): boolean {
    const call = this.#tables?.find(key);
    if (!call || call.over !== null || this.#launched.has(key)) return false;
    const running = this.#sockets((socket) => socket.as === "runner" && socket.call === key);
    return running.length === 0 && !this.#tables?.waits(key);
  }

  #launch(key: string, attempt: number): void {
    const call = this.#tables?.find(key);
    if (!call || call.over !== null) return;
    if (attempt > MAX_ATTEMPTS) {
      this.#append(key, call.fallback, true);
      this.#end(key);
      return;
    }
    this.#launched.add(key);
    this.ctx.waitUntil(this.#run({ session: this.ctx.id.name ?? "", key, attempt }));
  }

  async #run(order: RunOrder): Promise<void> {
    const loopback = this.ctx.exports as unknown as Loopback;
    try {
      const response = await loopback.default({ props: { run: order } }).fetch("https://tenantry.internal/run");
      await response.body?.cancel();
    } catch {
      // The run ended with the Worker that ran it; the alarm starts another.
    }
    this.#launched.delete(order.key);
    if (this.#isLost(order.key)) this.#wake.at(Date.now() + RECOVERY_MS);
  }

  #current(key: string, attempt: number): StoredCall | undefined {
    const call = this.#tables?.find(key);
    return call?.attempt === attempt && call.over === null ? call : undefined;
  }

  #append(key: string, json: string, always: boolean): void {
    const calls = this.#tables;
    const call = calls?.find(key);
    const seq = call && calls?.append(call, json, always);
    if (!calls || seq === undefined) return;
    for (const event of calls.events(key, seq - 1, seq)) this.#show(key, event);
  }

  #end(key: string): void {
    const now = Date.now();
    this.#tables?.end(key, now);
    const next = this.#tables?.prune(now);
    if (next !== undefined) this.#wake.at(next);
    this.#show(key, { over: true });
  }

  #refuseViewer(key: string, after: number): number | undefined {
    const call = this.#tables?.find(key);
    if (!call || after > call.seq) return 404;
    return call.over !== null && after === call.seq ? 410 : undefined;
  }

  /** One connection shows a call: the newest. */
  #catchUp(socket: WebSocket, key: string, after: number): void {
    for (const other of this.#sockets((one) => one.as === "viewer" && one.call === key)) {
      if (other !== socket) other.close(CLOSE.replaced);
    }
    for (const event of this.#tables?.events(key, after) ?? []) tell(socket, event);
    if (this.#tables?.find(key)?.over !== null) tell(socket, { over: true });
  }

  #show(key: string, message: ViewerMessage): void {
    for (const viewer of this.#sockets((socket) => socket.as === "viewer" && socket.call === key))
      tell(viewer, message);
  }

  #sockets(matches: (attachment: Attachment) => boolean): WebSocket[] {
    return this.ctx
      .getWebSockets()
      .filter(
        (socket) => socket.readyState === WebSocket.OPEN && matches(socket.deserializeAttachment() as Attachment),
      );
  }
}

/** A socket that is closing takes no more: whoever is behind it comes again. */
function tell(socket: WebSocket, message: RunnerMessage | ViewerMessage): void {
  try {
    socket.send(JSON.stringify(message));
  } catch {
    socket.close(1011);
  }
}
