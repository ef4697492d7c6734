// Owns which sessions a tenant has at one upstream of era 2025, so that all isolates use the same ones, and that each ends
// when nobody has used it for a while. Refuses protocol, and to know what it keeps: session ids are sealed, and whoever
// speaks to the upstream is an invocation of the Worker.

import { DurableObject } from "cloudflare:workers";
import type { KeyRing } from "../../auth/seal.ts";
import { migrate } from "../../tenants/object/store.ts";
import { createAlarmScheduler, type AlarmScheduler } from "../../tenants/object/alarm-scheduler.ts";
import type { TenantRef } from "../../tenants/directory/placement.ts";
import { isUnexpired } from "../../tenants/cache/is-unexpired.ts";

/** Which session is meant. */
export interface SessionRef {
  /** By what all who share it have in common: a keyed digest. */
  readonly key: string;
  /** Tells it from others of this key, before and after it. */
  readonly tag: string;
}

export interface SessionClaimRequest {
  readonly key: string;
  /** Whose it is: a keyed digest of the principal. */
  readonly owner: string;
  /** How long a call in it may take, in milliseconds. */
  readonly callMs: number;
  /** Whose object this is, and its name among them: for ending sessions when nobody is there who knows. */
  readonly meant: TenantRef;
  readonly name: string;
}

/**
 * `lent`: the session, and how often it was lent before. `make`: whoever asked makes it, and then calls `keep` or `gone`.
 * `wait`: somebody makes it. `alone`: there are as many as there may be, so the call has one of its own. `ring`: what it is
 * sealed with where the Worker has no key of its own.
 */
export type SessionClaimResult =
  | {
      readonly state: "lent";
      readonly tag: string;
      readonly ring: KeyRing;
      readonly sealed: string;
      readonly times: number;
    }
  | { readonly state: "make"; readonly tag: string; readonly ring: KeyRing }
  | { readonly state: "wait" | "alone" };

/** Sessions whose time is over. */
export interface EndSessionsRequest {
  readonly meant: TenantRef;
  readonly name: string;
  readonly ring: KeyRing;
  readonly sessions: readonly (SessionRef & { readonly sealed: string })[];
}

/** The name under which a Worker exports the entrypoint that speaks to upstreams beside requests. */
export const REFRESH_ENTRYPOINT = "UpstreamRefreshes";

export interface EndSessionsRpc {
  /** Resolves with the tags of those that are over. */
  endSessions(request: EndSessionsRequest): Promise<readonly string[]>;
}

/** How long an isolate may lend a session without having said here that it is used. */
export const MAX_UNREPORTED_MS = 180_000;
/** After this it says so. */
export const REPORT_AFTER_MS = 120_000;
/** How much longer than that a session is kept: what begins at the last moment takes its time on the way. */
const GRACE_MS = 30_000;
/** Whoever was told to make a session and has not kept it by then is taken for dead. */
const CREATE_TIMEOUT_MS = 30_000;
/** While a person answers, the time of a call stands still. */
export const QUESTION_MS = 3_600_000;
/** No session is kept for longer than this after it was used, whatever the clock was then. */
const MAX_LIFETIME_MS = MAX_UNREPORTED_MS + QUESTION_MS + GRACE_MS;
export const MAX_SESSIONS_PER_OWNER = 500;
export const MAX_SESSIONS_PER_UPSTREAM = 5000;
/** An upstream that cannot be told that a session is over is told so often. */
const MAX_TRIES = 3;
const RETRY_MS = 60_000;
/** So many are ended in one invocation. */
const END_BATCH = 20;

/** In versions: never edited once released. `sealed` null: somebody makes it. `tries` above 0: it is over. */
export const UPSTREAM_MIGRATIONS: readonly string[] = [
  `CREATE TABLE held_sessions (tag TEXT PRIMARY KEY, key TEXT NOT NULL, owner TEXT NOT NULL, sealed TEXT,
     until INTEGER NOT NULL, times INTEGER NOT NULL DEFAULT 0, tries INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID`,
  "CREATE INDEX held_sessions_by_key ON held_sessions (key)",
  "CREATE INDEX held_sessions_by_owner ON held_sessions (owner)",
  "CREATE INDEX held_sessions_by_end ON held_sessions (until)",
];

interface Row {
  [column: string]: SqlStorageValue;
  tag: string;
  key: string;
  sealed: string | null;
  until: number;
  times: number;
  tries: number;
}

/** The ring is the object's own: a tenant's goes with the tenant, before the last session has ended. */
type EndContext = Omit<EndSessionsRequest, "sessions">;
const ABOUT = "about";

function createRingKey(): KeyRing[number] {
  return { id: crypto.randomUUID().slice(0, 8), secret: crypto.getRandomValues(new Uint8Array(32)) };
}

export class UpstreamObject extends DurableObject {
  readonly #sql: SqlStorage;
  readonly #alarmScheduler: AlarmScheduler;
  #endContext: EndContext | undefined;

  constructor(ctx: DurableObjectState, env: Cloudflare.Env) {
    super(ctx, env);
    this.#sql = ctx.storage.sql;
    this.#alarmScheduler = createAlarmScheduler(ctx);
    this.#endContext = ctx.storage.kv.get<EndContext>(ABOUT);
    if (this.#endContext) this.#migrate();
  }

  async ready(): Promise<void> {}

  async claim({ key, owner, callMs, meant, name }: SessionClaimRequest): Promise<SessionClaimResult> {
    const { ring } = this.#endContext ?? this.#initialize({ meant, name, ring: [createRingKey()] });
    return this.#alarmScheduler.transaction((): SessionClaimResult => {
      const now = Date.now();
      this.#clampTimes(now);
      const row = this.#findLive(key);
      if (row && isUnexpired(row.until, row.sealed === null ? CREATE_TIMEOUT_MS : MAX_LIFETIME_MS, now)) {
        if (row.sealed === null) return { state: "wait" };
        this.#extend(row.tag, callMs);
        this.#sql.exec("UPDATE held_sessions SET times = times + 1 WHERE tag = ?", row.tag);
        return { state: "lent", tag: row.tag, ring, sealed: row.sealed, times: row.times + 1 };
      }
      // Nobody is lent one whose time is over, whether or not it was ended yet.
      if (row) this.#expire(row);
      if (this.#isFull(owner)) return { state: "alone" };
      const tag = crypto.randomUUID();
      const until = now + CREATE_TIMEOUT_MS;
      this.#sql.exec("INSERT INTO held_sessions (tag, key, owner, until) VALUES (?, ?, ?, ?)", tag, key, owner, until);
      this.#alarmScheduler.schedule(until);
      return { state: "make", tag, ring };
    });
  }

  /** What was made. false: another one has taken its place meanwhile. */
  async store({ key, tag }: SessionRef, sealed: string, callMs: number): Promise<boolean> {
    if (this.#findLive(key)?.tag !== tag) return false;
    this.#sql.exec("UPDATE held_sessions SET sealed = ? WHERE tag = ?", sealed, tag);
    this.#extend(tag, callMs);
    return true;
  }

  /** false: it is over, and not to be used any more. */
  async touch({ key, tag }: SessionRef, callMs: number): Promise<boolean> {
    const row = this.#findLive(key);
    if (row?.tag !== tag || row.until <= Date.now()) return false;
    this.#extend(tag, callMs);
    return true;
  }

  /** The upstream does not know it, or it could not be made. Another one of this key stays. */
  async invalidate({ tag }: SessionRef): Promise<void> {
    if (this.#endContext) this.#sql.exec("DELETE FROM held_sessions WHERE tag = ?", tag);
  }

  /** The upstream may not know it: nobody is lent it from here on, and it is ended when no isolate trusts it any more. */
  async suspect({ tag }: SessionRef): Promise<void> {
    const update = "UPDATE held_sessions SET tries = 1 WHERE tag = ? AND tries = 0 AND sealed IS NOT NULL";
    if (this.#endContext) this.#sql.exec(update, tag);
  }

  override async alarm(): Promise<void> {
    this.#alarmScheduler.clear();
    if (!this.#endContext) return;
    const now = Date.now();
    // Whoever is making one knows its id alone. Those whose upstream cannot be told stay there until it forgets them.
    this.#sql.exec("DELETE FROM held_sessions WHERE until <= ? AND (sealed IS NULL OR tries >= ?)", now, MAX_TRIES);
    const due = this.#sql
      .exec<Row>("SELECT * FROM held_sessions WHERE until <= ? ORDER BY until LIMIT ?", now, END_BATCH)
      .toArray();
    // Written before it is tried: nobody is lent it from here on, and what is lost on the way is tried again.
    for (const row of due) this.#expire(row, now + RETRY_MS);
    const ended = due.length === 0 ? [] : await this.#end(due, this.#endContext);
    for (const tag of ended) this.#sql.exec("DELETE FROM held_sessions WHERE tag = ?", tag);
    const { next } = this.#sql.exec<{ next: number | null }>("SELECT min(until) AS next FROM held_sessions").one();
    if (next !== null) this.#alarmScheduler.schedule(Math.max(next, Date.now()));
    else await this.#deleteAll();
  }

  /** The tags of those that are over now. Never rejects: what failed is tried again. */
  async #end(due: readonly Row[], endContext: EndContext): Promise<readonly string[]> {
    const entrypoints = this.ctx.exports as unknown as Readonly<Record<string, EndSessionsRpc | undefined>>;
    const sessions = due.map(({ key, tag, sealed }) => ({ key, tag, sealed: sealed ?? "" }));
    try {
      return (await entrypoints[REFRESH_ENTRYPOINT]?.endSessions({ ...endContext, sessions })) ?? [];
    } catch {
      return [];
    }
  }

  #initialize(endContext: EndContext): EndContext {
    this.#migrate();
    this.ctx.storage.kv.put(ABOUT, endContext);
    return (this.#endContext = endContext);
  }

  #migrate(): void {
    migrate(this.#sql, [{ name: "sessions", migrations: UPSTREAM_MIGRATIONS }]);
  }

  /** Nothing is left of an object that has no session. */
  async #deleteAll(): Promise<void> {
    this.#endContext = undefined;
    this.#alarmScheduler.clear();
    await this.ctx.storage.deleteAll();
  }

  /** The one of this key that is lent or being made. */
  #findLive(key: string): Row | undefined {
    if (!this.#endContext) return undefined;
    return this.#sql.exec<Row>("SELECT * FROM held_sessions WHERE key = ? AND tries = 0", key).toArray()[0];
  }

  /** A clock that was ahead and is right again left ends that nobody lives to see. */
  #clampTimes(now: number): void {
    const latest = now + MAX_LIFETIME_MS;
    this.#sql.exec("UPDATE held_sessions SET until = ?1 WHERE until > ?1", latest);
  }

  #extend(tag: string, callMs: number): void {
    const until = Date.now() + MAX_UNREPORTED_MS + callMs + GRACE_MS;
    this.#sql.exec("UPDATE held_sessions SET until = max(until, ?) WHERE tag = ?", until, tag);
    this.#alarmScheduler.schedule(until);
  }

  /** It is over: ended at the upstream at this time, at once when absent. */
  #expire({ tag, sealed }: Row, at = Date.now()): void {
    if (sealed === null) this.#sql.exec("DELETE FROM held_sessions WHERE tag = ?", tag);
    else this.#sql.exec("UPDATE held_sessions SET tries = tries + 1, until = ? WHERE tag = ?", at, tag);
    this.#alarmScheduler.schedule(at);
  }

  #isFull(owner: string): boolean {
    const count = "SELECT count(*) AS all_of_them, count(*) FILTER (WHERE owner = ?) AS own FROM held_sessions";
    const counts = this.#sql.exec<{ all_of_them: number; own: number }>(count, owner).one();
    return counts.all_of_them >= MAX_SESSIONS_PER_UPSTREAM || counts.own >= MAX_SESSIONS_PER_OWNER;
  }
}
