// Owns what one 2025 session must remember: its log level, its subscriptions, calls that may outlive a connection, and
// what was agreed on an HTTP+SSE stream. It comes into being with the first such thing, and its alarm ends it.
// Refuses protocol logic: it stores texts and hands them on.

import { DurableObject } from "cloudflare:workers";
import type { LogLevel } from "../protocol/meta.ts";
import { migrate } from "../tenants/object/store.ts";
import { createAlarmScheduler, type AlarmScheduler } from "../tenants/object/alarm-scheduler.ts";
import { StoredCalls, type QuestionBatch, type QuestionBatchResult, type StoredRun } from "./stored-calls.ts";
import { CANCELLATION_RETENTION_MS, type NewCall } from "./call-store.ts";
import { attachmentOf, socketsOf, sendMessage, type Attachment, type Sockets } from "./session-sockets.ts";
import { CLOSE, isOutdated } from "../streams/socket-messages.ts";

/** In versions. One is never edited once it was released. */
export const SESSION_MIGRATIONS: readonly string[] = [
  `CREATE TABLE calls (key TEXT PRIMARY KEY, request TEXT NOT NULL, fallback TEXT NOT NULL, attempt INTEGER NOT NULL,
     memos TEXT NOT NULL, over INTEGER, shown INTEGER, parked INTEGER NOT NULL DEFAULT 0, lost INTEGER NOT NULL DEFAULT 0, said INTEGER NOT NULL, seq INTEGER NOT NULL, characters INTEGER NOT NULL, repeatable INTEGER NOT NULL) WITHOUT ROWID`,
  "CREATE TABLE events (call TEXT NOT NULL, seq INTEGER NOT NULL, at INTEGER NOT NULL, part TEXT NOT NULL, PRIMARY KEY (call, seq, at)) WITHOUT ROWID",
  "CREATE TABLE questions (id TEXT PRIMARY KEY, call TEXT NOT NULL, name TEXT NOT NULL, digest TEXT NOT NULL, seq INTEGER, answer TEXT) WITHOUT ROWID",
  "CREATE TABLE cancelled (request TEXT PRIMARY KEY, until INTEGER NOT NULL) WITHOUT ROWID",
  "CREATE TABLE subscriptions (uri TEXT PRIMARY KEY, asked TEXT NOT NULL) WITHOUT ROWID",
];

/** How long an HTTP+SSE session waits for its client to come back. */
const DETACHED_MS = 600_000;

/** Which stored call is to be run, and where it is stored. */
export interface ResumeRequest {
  /** The name of the session's object. */
  readonly session: string;
  readonly jurisdiction: string | null;
  readonly key: string;
  readonly attempt: number;
}

/** What whoever takes over an HTTP+SSE stream must know. */
export interface SseState {
  /** What `initialize` agreed on, as its holder wrote it down; null: it was not sent yet. */
  readonly negotiated: string | null;
  /** Stored calls; `from`: the event after which a client that cannot say where it was must be shown the call. */
  readonly calls: readonly { readonly key: string; readonly from: number }[];
}

/** The name under which a Worker exports the entrypoint that runs stored calls, each in an invocation of its own. */
export const STORED_RUNS = "StoredRuns";

export interface StoredRunsBinding {
  /** Resolves when the run is over, or with an answer for its client where it never began; rejects when it was lost. */
  run(order: ResumeRequest): Promise<string | undefined>;
  /** Work of a feature that the alarm of one of its objects begins. */
  background(order: unknown): Promise<void>;
}

export class SessionObject extends DurableObject {
  readonly #alarmScheduler: AlarmScheduler;
  readonly #sockets: Sockets;
  /** Posts that were sent to a holder which has not confirmed them yet, by the post's id. */
  readonly #posts = new Map<string, { readonly holder: WebSocket; settle(isTaken: boolean): void }>();
  #calls: StoredCalls | undefined;
  #subscriptions: Subscriptions | undefined;

  constructor(ctx: DurableObjectState, env: Cloudflare.Env) {
    super(ctx, env);
    this.#alarmScheduler = createAlarmScheduler(ctx);
    this.#sockets = socketsOf(ctx);
    if (this.#expires() !== undefined) this.#open();
  }

  async ready(): Promise<void> {}

  /** Makes no tables: without an alarm, which reading does not set, they would be stored for ever. */
  async logLevel(): Promise<LogLevel | undefined> {
    return this.ctx.storage.kv.get<LogLevel>("logLevel");
  }

  /** `expires`: when the session id ends, in milliseconds since the epoch. */
  async setLogLevel(level: LogLevel, expires: number): Promise<void> {
    this.#openUntil(expires);
    this.ctx.storage.kv.put("logLevel", level);
  }

  async subscriptions(): Promise<readonly Subscription[]> {
    return this.#subscriptions?.all() ?? [];
  }

  /** false: the session has as many as it may. */
  async subscribe(uri: string, asked: string, expires: number): Promise<boolean> {
    this.#openUntil(expires);
    return this.#subscriptions?.add(uri, asked) ?? false;
  }

  async unsubscribe(uri: string): Promise<void> {
    this.#subscriptions?.remove(uri);
  }

  /** Stores a call and has it run, unless it is stored already. false: the session has as many as it may. */
  async start(call: NewCall, expires: number): Promise<boolean> {
    return this.#openUntil(expires).start(call);
  }

  /** Puts those questions to the client that were not put before; resolves to all of the call, with their answers. */
  async ask(batch: QuestionBatch, expires: number): Promise<QuestionBatchResult> {
    // A run that outlived its session must not bring the session back.
    if (!this.#calls && !batch.call) return { state: "stale" };
    return this.#openUntil(expires).ask(batch);
  }

  /** `count`: the notification's number, from 1. false: another run goes on with the call, or it is over. */
  async append(key: string, attempt: number, json: string, count: number): Promise<boolean> {
    return this.#calls?.append(key, attempt, json, count) ?? false;
  }

  /** `json`: the answer; null: the call ends without one. false: another run goes on with the call, or it is over. */
  async finish(key: string, attempt: number, json: string | null): Promise<boolean> {
    return this.#calls?.finish(key, attempt, json) ?? false;
  }

  /** Starts another run in place of this one, which must not go on. */
  async handOver(key: string, attempt: number): Promise<void> {
    this.#calls?.handOver(key, attempt);
  }

  /** What a run begins with; undefined: a newer run has the call, or it is over. */
  async take(key: string, attempt: number): Promise<StoredRun | undefined> {
    return this.#calls?.take(key, attempt);
  }

  /** Stores the client's response to a question. `over`: it was answered before, or its call is over. */
  async answer(id: string, response: string): Promise<"taken" | "over" | "unknown"> {
    return this.#calls?.answer(id, response) ?? "unknown";
  }

  /** `id`: of a question; `params`: JSON of the progress that the client reports on it. */
  async progress(id: string, params: string): Promise<void> {
    this.#calls?.progress(id, params);
  }

  /** `request`: as `requestKey` makes it. */
  async cancel(request: string, expires: number): Promise<void> {
    // A session that knows nothing else need not be remembered for long.
    this.#openUntil(Math.min(expires, Date.now() + CANCELLATION_RETENTION_MS)).cancel(request);
  }

  /** Hands a post to the holder of the HTTP+SSE stream. false: nobody took it. `id`: the same for each try of it. */
  async deliver(id: string, text: string): Promise<boolean> {
    const holder = this.#sockets(({ as }) => as === "holder").at(-1);
    if (!holder) return false;
    // What is sent may be lost with its socket, so a post counts as taken when its holder confirms it.
    return new Promise((settle) => {
      this.#posts.set(id, { holder, settle });
      sendMessage(holder, { posted: text, id });
      if (holder.readyState !== WebSocket.OPEN) this.#settlePost(id, false);
    });
  }

  #settlePost(id: string, isTaken: boolean): void {
    this.#posts.get(id)?.settle(isTaken);
    this.#posts.delete(id);
  }

  /** This holder will confirm nothing any more: what it was sent counts as not taken. */
  #settlePostsAt(socket: WebSocket): void {
    for (const [id, { holder }] of this.#posts) if (holder === socket) this.#settlePost(id, false);
  }

  async sseState(): Promise<SseState> {
    return { negotiated: this.ctx.storage.kv.get<string>("agreed") ?? null, calls: this.#calls?.list() ?? [] };
  }

  async saveNegotiation(negotiated: string, expires: number): Promise<void> {
    const calls = this.#openUntil(expires);
    // A client that initializes again may use the ids of its earlier requests again.
    if (this.ctx.storage.kv.get("agreed") !== undefined) calls.forget();
    this.ctx.storage.kv.put("agreed", negotiated);
  }

  /** The session's end: nothing of it is left. */
  async end(): Promise<void> {
    for (const socket of this.ctx.getWebSockets()) socket.close(CLOSE.ended);
    this.#calls = undefined;
    this.#subscriptions = undefined;
    this.#alarmScheduler.clear();
    await this.ctx.storage.deleteAll();
  }

  /** Accepts the socket of a runner, a viewer or a holder. */
  override async fetch(request: Request): Promise<Response> {
    const { searchParams } = new URL(request.url);
    const attachment = JSON.parse(searchParams.get("socket") ?? "{}") as Attachment;
    const after = Number(searchParams.get("after") ?? 0);
    const refused = attachment.as === "viewer" ? this.#refuseViewer(attachment.call, after) : undefined;
    if (refused !== undefined) return new Response(null, { status: refused });
    // Only the newest holder has the client: an earlier one has not noticed yet that its client left.
    if (attachment.as === "holder" && !this.#attach(attachment)) return new Response(null, { status: 410 });
    const { 0: near, 1: far } = new WebSocketPair();
    this.ctx.acceptWebSocket(far);
    far.serializeAttachment(attachment);
    if (attachment.as === "viewer") this.#calls?.view(far, attachment.call, after);
    if (attachment.as === "runner" && this.#calls?.isCancelled(attachment)) sendMessage(far, { cancel: true });
    return new Response(null, { status: 101, webSocket: near });
  }

  /** Only holders send something: the id of a post that they took. */
  override async webSocketMessage(_socket: WebSocket, id: string | ArrayBuffer): Promise<void> {
    if (typeof id === "string") this.#settlePost(id, true);
  }

  override async webSocketClose(socket: WebSocket, code: number): Promise<void> {
    this.#settlePostsAt(socket);
    const attachment = attachmentOf(socket);
    if (attachment.as === "runner") this.#calls?.onRunnerClosed(attachment.call, code === CLOSE.parked);
    if (attachment.as === "holder") this.#detach();
  }

  /** A broken socket is as gone as a closed one, and no other event says so. */
  override async webSocketError(socket: WebSocket): Promise<void> {
    await this.webSocketClose(socket, 1006);
  }

  override async alarm(): Promise<void> {
    this.#alarmScheduler.clear();
    const now = Date.now();
    const expires = Math.min(this.#expires() ?? now, this.#detachedUntil() ?? Infinity);
    if (!this.#calls || now >= expires) {
      await this.end();
      return;
    }
    this.#alarmScheduler.schedule(Math.min(expires, this.#calls.maintain(now) ?? expires));
  }

  #refuseViewer(key: string, after: number): number | undefined {
    return this.#calls ? this.#calls.refuseViewer(key, after) : 404;
  }

  /** false: the holder comes back too late, and a newer one is there. */
  #attach(holder: Extract<Attachment, { as: "holder" }>): boolean {
    const others = this.#sockets(({ as }) => as === "holder");
    if (isOutdated(holder, others.map(attachmentOf) as (typeof holder)[])) return false;
    if (this.#detachedUntil() !== undefined) this.ctx.storage.kv.delete("detachedUntil");
    for (const other of others) {
      other.close(CLOSE.replaced);
      this.#settlePostsAt(other);
    }
    return true;
  }

  /** When no holder is left, the session waits `DETACHED_MS` for its client, and not for the days that its id lasts. */
  #detach(): void {
    if (this.#expires() === undefined || this.#sockets(({ as }) => as === "holder").length > 0) return;
    const until = Date.now() + DETACHED_MS;
    this.ctx.storage.kv.put("detachedUntil", until);
    this.#alarmScheduler.schedule(until);
  }

  #detachedUntil(): number | undefined {
    return this.ctx.storage.kv.get<number>("detachedUntil");
  }

  #expires(): number | undefined {
    return this.ctx.storage.kv.get<number>("expires");
  }

  /** Makes the tables where there are none yet. The alarm deletes all when the latest `expires` so far has come. */
  #openUntil(expires: number): StoredCalls {
    if ((this.#expires() ?? 0) < expires) {
      this.ctx.storage.kv.put("expires", expires);
      this.#alarmScheduler.schedule(expires);
    }
    return this.#open();
  }

  #open(): StoredCalls {
    if (this.#calls) return this.#calls;
    migrate(this.ctx.storage.sql, [{ name: "calls", migrations: SESSION_MIGRATIONS }]);
    this.#subscriptions = createSubscriptions(this.ctx.storage.sql);
    this.#calls = new StoredCalls({
      storage: this.ctx.storage,
      sockets: this.#sockets,
      run: (key, attempt) => this.#run(key, attempt),
      scheduleAlarm: (time) => {
        this.#alarmScheduler.schedule(time);
      },
      waitUntil: (work) => {
        this.ctx.waitUntil(work);
      },
    });
    return this.#calls;
  }

  async #run(key: string, attempt: number): Promise<string | undefined> {
    const { name = "", jurisdiction = null } = this.ctx.id;
    const runs = (this.ctx.exports as unknown as Readonly<Record<string, StoredRunsBinding | undefined>>)[STORED_RUNS];
    if (!runs) throw new Error(`the Worker does not export ${STORED_RUNS}`);
    return runs.run({ session: name, jurisdiction, key, attempt });
  }
}

export const MAX_SUBSCRIPTIONS = 1000;
/** Of all URIs of a session together, in both spellings: whoever holds its stream has them in memory. */
const MAX_CHARACTERS = 262_144;

type Subscription = readonly [uri: string, asked: string];

/** The resources of which the session wants to hear, as its object stores them. */
interface Subscriptions {
  all(): readonly Subscription[];
  /** `uri`: normalized; `asked`: how the client wrote it. false: the session has as many as it may. */
  add(uri: string, asked: string): boolean;
  remove(uri: string): void;
}

function createSubscriptions(sql: SqlStorage): Subscriptions {
  return {
    all: () =>
      sql
        .exec<{ uri: string; asked: string }>("SELECT uri, asked FROM subscriptions ORDER BY uri")
        .toArray()
        .map(({ uri, asked }) => [uri, asked] as const),
    add: (uri, asked) => {
      sql.exec(
        `INSERT OR REPLACE INTO subscriptions (uri, asked) SELECT ?1, ?2 FROM
           (SELECT count(*) AS many, total(length(uri) + length(asked)) AS characters FROM subscriptions WHERE uri <> ?1)
           WHERE many < ?3 AND characters + length(?1) + length(?2) <= ?4`,
        uri,
        asked,
        MAX_SUBSCRIPTIONS,
        MAX_CHARACTERS,
      );
      return sql.exec("SELECT 1 FROM subscriptions WHERE uri = ?", uri).toArray().length > 0;
    },
    remove: (uri) => {
      sql.exec("DELETE FROM subscriptions WHERE uri = ?", uri);
    },
  };
}
