// The state of one 2025 session: its log level, its subscriptions, calls that may outlive a connection, and what an
// HTTP+SSE stream negotiated. The object is created with the first of these, and its alarm deletes it. It stores and
// forwards texts, and knows no protocol logic.

import { DurableObject } from "cloudflare:workers";
import type { LogLevel } from "../protocol/meta.ts";
import { migrate } from "../tenants/object/store.ts";
import { createAlarmScheduler, type AlarmScheduler } from "../tenants/object/alarm-scheduler.ts";
import { StoredCalls, type QuestionBatch, type QuestionBatchResult, type StoredRun } from "./stored-calls.ts";
import { CANCELLATION_RETENTION_MS, type NewCall } from "./call-store.ts";
import { attachmentOf, socketsOf, sendMessage, type Attachment, type Sockets } from "./session-sockets.ts";
import { CLOSE, isOutdated } from "../streams/socket-messages.ts";

/** Each entry is one version. A released one is never edited. */
export const SESSION_MIGRATIONS: readonly string[] = [
  `CREATE TABLE calls (key TEXT PRIMARY KEY, request TEXT NOT NULL, fallback TEXT NOT NULL, attempt INTEGER NOT NULL,
     memos TEXT NOT NULL, finished_at INTEGER, result_sent_at INTEGER, parked INTEGER NOT NULL DEFAULT 0, lost_runs INTEGER NOT NULL DEFAULT 0, notifications INTEGER NOT NULL, last_seq INTEGER NOT NULL, characters INTEGER NOT NULL, repeatable INTEGER NOT NULL) WITHOUT ROWID`,
  "CREATE TABLE events (call TEXT NOT NULL, seq INTEGER NOT NULL, position INTEGER NOT NULL, part TEXT NOT NULL, PRIMARY KEY (call, seq, position)) WITHOUT ROWID",
  "CREATE TABLE questions (id TEXT PRIMARY KEY, call TEXT NOT NULL, name TEXT NOT NULL, digest TEXT NOT NULL, seq INTEGER, answer TEXT) WITHOUT ROWID",
  "CREATE TABLE cancelled_requests (request TEXT PRIMARY KEY, expires INTEGER NOT NULL) WITHOUT ROWID",
  "CREATE TABLE subscriptions (uri TEXT PRIMARY KEY, requested_uri TEXT NOT NULL) WITHOUT ROWID",
];

/** How long an HTTP+SSE session waits for its client to reconnect. */
const DETACHED_MS = 600_000;

/** A stored call to run, and where it is stored. */
export interface ResumeRequest {
  /** The name of the session object. */
  readonly session: string;
  readonly jurisdiction: string | null;
  readonly key: string;
  readonly attempt: number;
}

/** The state that a new holder of an HTTP+SSE stream needs. */
export interface SseState {
  /** The result of `initialize`, as the holder serialized it; null: not sent yet. */
  readonly negotiation: string | null;
  /** Stored calls. `from`: the event after which to show the call to a client that cannot name its position. */
  readonly calls: readonly { readonly key: string; readonly from: number }[];
}

/** The name under which a Worker exports the entrypoint that runs stored calls, each in its own invocation. */
export const STORED_RUNS = "StoredRuns";

export interface StoredRunsBinding {
  /**
   * Resolves when the run has ended. Resolves to a response for the client if the run never started. Rejects if the run
   * was lost.
   */
  run(order: ResumeRequest): Promise<string | undefined>;
  /** Runs work of a feature that the alarm of one of its objects starts. */
  background(order: unknown): Promise<void>;
}

/** Durable Object: one session of era 2025, and the events of its stored calls. */
export class SessionObject extends DurableObject {
  readonly #alarmScheduler: AlarmScheduler;
  readonly #sockets: Sockets;
  /** Posts that were sent to a holder and are not confirmed yet, by post id. */
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

  /** Creates no tables. Reading sets no alarm, so tables would stay forever. */
  async logLevel(): Promise<LogLevel | undefined> {
    return this.ctx.storage.kv.get<LogLevel>("logLevel");
  }

  /** `expires`: when the session id expires, in milliseconds since the epoch. */
  async setLogLevel(level: LogLevel, expires: number): Promise<void> {
    this.#openUntil(expires);
    this.ctx.storage.kv.put("logLevel", level);
  }

  async subscriptions(): Promise<readonly Subscription[]> {
    return this.#subscriptions?.all() ?? [];
  }

  /** false: the session has reached its limit of subscriptions. */
  async subscribe(uri: string, requestedUri: string, expires: number): Promise<boolean> {
    this.#openUntil(expires);
    return this.#subscriptions?.add(uri, requestedUri) ?? false;
  }

  async unsubscribe(uri: string): Promise<void> {
    this.#subscriptions?.remove(uri);
  }

  /**
   * Stores a call and starts its run, unless it is already stored. false: the session has reached its limit of calls.
   */
  async start(call: NewCall, expires: number): Promise<boolean> {
    return this.#openUntil(expires).start(call);
  }

  /** Sends the new questions to the client. Resolves to all questions of the call, with their answers. */
  async ask(batch: QuestionBatch, expires: number): Promise<QuestionBatchResult> {
    // A run that outlived its session must not bring the session back.
    if (!this.#calls && !batch.call) return { state: "stale" };
    return this.#openUntil(expires).ask(batch);
  }

  /** `count`: the notification's number, from 1. false: another run continues the call, or the call has ended. */
  async append(key: string, attempt: number, json: string, count: number): Promise<boolean> {
    return this.#calls?.append(key, attempt, json, count) ?? false;
  }

  /**
   * `json`: the response; null: the call ends without one. false: another run continues the call, or the call has
   * ended.
   */
  async finish(key: string, attempt: number, json: string | null): Promise<boolean> {
    return this.#calls?.finish(key, attempt, json) ?? false;
  }

  /** Starts another run in place of this one, which must stop. */
  async handOver(key: string, attempt: number): Promise<void> {
    this.#calls?.handOver(key, attempt);
  }

  /** The data with which a run starts; undefined: a newer run has the call, or the call has ended. */
  async take(key: string, attempt: number): Promise<StoredRun | undefined> {
    return this.#calls?.take(key, attempt);
  }

  /** Stores the client's response to a question. `over`: the question was answered before, or its call has ended. */
  async answer(id: string, response: string): Promise<"taken" | "over" | "unknown"> {
    return this.#calls?.answer(id, response) ?? "unknown";
  }

  /** `id`: of a question. `params`: JSON of the progress that the client reports on it. */
  async progress(id: string, params: string): Promise<void> {
    this.#calls?.progress(id, params);
  }

  /** `request`: as `requestKey` makes it. */
  async cancel(request: string, expires: number): Promise<void> {
    // A session without other state need not be kept for long.
    this.#openUntil(Math.min(expires, Date.now() + CANCELLATION_RETENTION_MS)).cancel(request);
  }

  /**
   * Sends a post to the holder of the HTTP+SSE stream. false: no holder accepted it. `id`: the same for each attempt.
   */
  async deliver(id: string, text: string): Promise<boolean> {
    const holder = this.#sockets(({ as }) => as === "holder").at(-1);
    if (!holder) return false;
    // A message may be lost with its socket, so a post counts as accepted when its holder confirms it.
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

  /** This holder will confirm nothing any more, so its posts count as not accepted. */
  #settlePostsAt(socket: WebSocket): void {
    for (const [id, { holder }] of this.#posts) if (holder === socket) this.#settlePost(id, false);
  }

  async sseState(): Promise<SseState> {
    return { negotiation: this.ctx.storage.kv.get<string>("negotiation") ?? null, calls: this.#calls?.list() ?? [] };
  }

  async saveNegotiation(negotiation: string, expires: number): Promise<void> {
    const calls = this.#openUntil(expires);
    // A client that initializes again may reuse the ids of its earlier requests.
    if (this.ctx.storage.kv.get("negotiation") !== undefined) calls.forget();
    this.ctx.storage.kv.put("negotiation", negotiation);
  }

  /** Ends the session and deletes everything. */
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
    // Only the newest holder has the client. An earlier one has not noticed yet that its client left.
    if (attachment.as === "holder" && !this.#attach(attachment)) return new Response(null, { status: 410 });
    const { 0: near, 1: far } = new WebSocketPair();
    this.ctx.acceptWebSocket(far);
    far.serializeAttachment(attachment);
    if (attachment.as === "viewer") this.#calls?.view(far, attachment.call, after);
    if (attachment.as === "runner" && this.#calls?.isCancelled(attachment)) sendMessage(far, { cancel: true });
    return new Response(null, { status: 101, webSocket: near });
  }

  /** Only holders send messages: the id of an accepted post. */
  override async webSocketMessage(_socket: WebSocket, id: string | ArrayBuffer): Promise<void> {
    if (typeof id === "string") this.#settlePost(id, true);
  }

  override async webSocketClose(socket: WebSocket, code: number): Promise<void> {
    this.#settlePostsAt(socket);
    const attachment = attachmentOf(socket);
    if (attachment.as === "runner") this.#calls?.onRunnerClosed(attachment.call, code === CLOSE.parked);
    if (attachment.as === "holder") this.#detach();
  }

  /** A broken socket is treated as closed, because no other event follows. */
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

  /** false: the holder reconnects too late, and a newer one is there. */
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

  /** Without a holder, the session waits `DETACHED_MS` for its client, not for the days that its id lasts. */
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

  /** Creates the tables if there are none. The alarm deletes everything at the latest `expires` so far. */
  #openUntil(expires: number): StoredCalls {
    const calls = this.#open();
    if ((this.#expires() ?? 0) < expires) {
      this.ctx.storage.kv.put("expires", expires);
      this.#alarmScheduler.schedule(expires);
    }
    return calls;
  }

  #open(): StoredCalls {
    if (this.#calls) return this.#calls;
    const { storage } = this.ctx;
    storage.transactionSync(() => migrate(storage.sql, [{ name: "calls", migrations: SESSION_MIGRATIONS }]));
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
/**
 * The most characters of all URIs of a session, in both spellings. The holder of the session's stream has them in
 * memory.
 */
const MAX_CHARACTERS = 262_144;

type Subscription = readonly [uri: string, requestedUri: string];

/** The resources that the session subscribes to, as its object stores them. */
interface Subscriptions {
  all(): readonly Subscription[];
  /** `uri`: normalized. `requestedUri`: as the client wrote it. false: the session has reached its limit. */
  add(uri: string, requestedUri: string): boolean;
  remove(uri: string): void;
}

function createSubscriptions(sql: SqlStorage): Subscriptions {
  return {
    all: () =>
      sql
        .exec<{ uri: string; requested_uri: string }>("SELECT uri, requested_uri FROM subscriptions ORDER BY uri")
        .toArray()
        .map(({ uri, requested_uri }) => [uri, requested_uri] as const),
    add: (uri, requestedUri) => {
      sql.exec(
        `INSERT OR REPLACE INTO subscriptions (uri, requested_uri) SELECT ?1, ?2 FROM
           (SELECT count(*) AS many, total(length(uri) + length(requested_uri)) AS characters FROM subscriptions WHERE uri <> ?1)
           WHERE many < ?3 AND characters + length(?1) + length(?2) <= ?4`,
        uri,
        requestedUri,
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
