// The Durable Object with a tenant's sessions at one upstream of era 2025. All isolates share these sessions, and each
// session ends when it has not been used for a while. The object does not speak MCP and cannot read what it stores:
// sessions are sealed, and another invocation of the Worker talks to the upstream.

import { DurableObject } from "cloudflare:workers";
import type { KeyRing } from "../../auth/seal.ts";
import { migrate } from "../../tenants/object/store.ts";
import { createAlarmScheduler, type AlarmScheduler } from "../../tenants/object/alarm-scheduler.ts";
import type { TenantRef } from "../../tenants/directory/placement.ts";
import { isUnexpired } from "../../tenants/cache/is-unexpired.ts";

export interface SessionRef {
  /** Keyed digest of what all calls sharing the session have in common. */
  readonly key: string;
  /** Distinguishes the session from earlier and later ones with this key. */
  readonly tag: string;
}

export interface SessionClaimRequest {
  readonly key: string;
  /** Keyed digest of the principal. */
  readonly owner: string;
  /** Maximum duration of a call in the session, in milliseconds. */
  readonly callMs: number;
  /** The tenant and the object's name, stored so that sessions can be ended later without a request. */
  readonly meant: TenantRef;
  readonly name: string;
}

/**
 * `shared`: the session, with the number of times it was handed out. `make`: the caller opens it, and then calls `store`
 * or `invalidate`. `wait`: another isolate is opening it. `alone`: the limit is reached, so the call opens its own.
 * `ring` seals sessions if the Worker has no key of its own.
 */
export type SessionClaimResult =
  | {
      readonly state: "shared";
      readonly tag: string;
      readonly ring: KeyRing;
      readonly sealed: string;
      readonly uses: number;
    }
  | { readonly state: "make"; readonly tag: string; readonly ring: KeyRing }
  | { readonly state: "wait" | "alone" };

export interface EndSessionsRequest {
  readonly meant: TenantRef;
  readonly name: string;
  readonly ring: KeyRing;
  readonly sessions: readonly (SessionRef & { readonly sealed: string })[];
}

/** Export name of the entrypoint that talks to upstreams outside of requests. */
export const REFRESH_ENTRYPOINT = "UpstreamRefreshes";

export interface EndSessionsRpc {
  /** Resolves to the tags of the sessions that are over. */
  endSessions(request: EndSessionsRequest): Promise<readonly string[]>;
}

/** How long an isolate may use a session without reporting its use here. */
export const MAX_UNREPORTED_MS = 180_000;
/** An isolate reports a session's use after this time. */
export const REPORT_AFTER_MS = 120_000;
/** Extra time before a session ends, for calls that begin at the last moment. */
const GRACE_MS = 30_000;
/** An isolate that has not stored its session by then is taken for dead. */
const CREATE_TIMEOUT_MS = 30_000;
/** The time limit of a call pauses while a person answers. */
export const QUESTION_MS = 3_600_000;
/** No session is stored longer than this after its last use, whatever the clock said then. */
const MAX_LIFETIME_MS = MAX_UNREPORTED_MS + QUESTION_MS + GRACE_MS;
export const MAX_SESSIONS_PER_OWNER = 500;
const MAX_SESSIONS_PER_UPSTREAM = 5000;
/** How often to try to end a session at an unreachable upstream. */
const MAX_END_ATTEMPTS = 3;
const RETRY_MS = 60_000;
const END_BATCH = 20;

/**
 * Versioned: never edit a released entry. `sealed` is null while an isolate opens the session. `end_attempts` above 0 means
 * that the session is over.
 */
export const UPSTREAM_MIGRATIONS: readonly string[] = [
  `CREATE TABLE sessions (tag TEXT PRIMARY KEY, key TEXT NOT NULL, owner TEXT NOT NULL, sealed TEXT,
     expires INTEGER NOT NULL, uses INTEGER NOT NULL DEFAULT 0, end_attempts INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID`,
  "CREATE INDEX sessions_by_key ON sessions (key)",
  "CREATE INDEX sessions_by_owner ON sessions (owner)",
  "CREATE INDEX sessions_by_expiry ON sessions (expires)",
];

interface Row {
  [column: string]: SqlStorageValue;
  tag: string;
  key: string;
  sealed: string | null;
  expires: number;
  uses: number;
  end_attempts: number;
}

/** The ring belongs to this object: a tenant's ring is deleted with the tenant, before its last session has ended. */
type EndContext = Omit<EndSessionsRequest, "sessions">;
const ABOUT = "about";

function createRingKey(): KeyRing[number] {
  return { id: crypto.randomUUID().slice(0, 8), secret: crypto.getRandomValues(new Uint8Array(32)) };
}

/** Durable Object: sessions that the Worker has at a tenant's upstreams. */
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
      if (row && isUnexpired(row.expires, row.sealed === null ? CREATE_TIMEOUT_MS : MAX_LIFETIME_MS, now)) {
        if (row.sealed === null) return { state: "wait" };
        this.#extend(row.tag, callMs);
        this.#sql.exec("UPDATE sessions SET uses = uses + 1 WHERE tag = ?", row.tag);
        return { state: "shared", tag: row.tag, ring, sealed: row.sealed, uses: row.uses + 1 };
      }
      // An expired session is not handed out, even if it has not been ended yet.
      if (row) this.#expire(row);
      if (this.#isFull(owner)) return { state: "alone" };
      const tag = crypto.randomUUID();
      const expires = now + CREATE_TIMEOUT_MS;
      this.#sql.exec("INSERT INTO sessions (tag, key, owner, expires) VALUES (?, ?, ?, ?)", tag, key, owner, expires);
      this.#alarmScheduler.schedule(expires);
      return { state: "make", tag, ring };
    });
  }

  /** Returns false if another session has replaced it. */
  async store({ key, tag }: SessionRef, sealed: string, callMs: number): Promise<boolean> {
    if (this.#findLive(key)?.tag !== tag) return false;
    this.#sql.exec("UPDATE sessions SET sealed = ? WHERE tag = ?", sealed, tag);
    this.#extend(tag, callMs);
    return true;
  }

  /** Returns false if the session is over and must not be used any more. */
  async touch({ key, tag }: SessionRef, callMs: number): Promise<boolean> {
    const row = this.#findLive(key);
    if (row?.tag !== tag || row.expires <= Date.now()) return false;
    this.#extend(tag, callMs);
    return true;
  }

  /** The upstream does not know the session, or it could not be opened. A newer session with this key stays. */
  async invalidate({ tag }: SessionRef): Promise<void> {
    if (this.#endContext) this.#sql.exec("DELETE FROM sessions WHERE tag = ?", tag);
  }

  /** The upstream may not know the session. It is not handed out any more, and is ended when no isolate uses it. */
  async suspect({ tag }: SessionRef): Promise<void> {
    const update = "UPDATE sessions SET end_attempts = 1 WHERE tag = ? AND end_attempts = 0 AND sealed IS NOT NULL";
    if (this.#endContext) this.#sql.exec(update, tag);
  }

  override async alarm(): Promise<void> {
    this.#alarmScheduler.clear();
    if (!this.#endContext) return;
    const now = Date.now();
    // A session that is being opened has no id here, so it cannot be ended. After MAX_END_ATTEMPTS a session is left for the
    // upstream to forget.
    this.#sql.exec(
      "DELETE FROM sessions WHERE expires <= ? AND (sealed IS NULL OR end_attempts >= ?)",
      now,
      MAX_END_ATTEMPTS,
    );
    const due = this.#sql
      .exec<Row>("SELECT * FROM sessions WHERE expires <= ? ORDER BY expires LIMIT ?", now, END_BATCH)
      .toArray();
    // Written before the attempt: the session is not handed out any more, and a lost attempt is repeated.
    for (const row of due) this.#expire(row, now + RETRY_MS);
    const ended = due.length === 0 ? [] : await this.#end(due, this.#endContext);
    for (const tag of ended) this.#sql.exec("DELETE FROM sessions WHERE tag = ?", tag);
    const { next } = this.#sql.exec<{ next: number | null }>("SELECT min(expires) AS next FROM sessions").one();
    if (next !== null) this.#alarmScheduler.schedule(Math.max(next, Date.now()));
    else await this.#deleteAll();
  }

  /** Returns the tags of sessions that are over. Never rejects: failed ones are tried again. */
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
    this.ctx.storage.transactionSync(() => migrate(this.#sql, [{ name: "sessions", migrations: UPSTREAM_MIGRATIONS }]));
  }

  /** An object without sessions stores nothing. */
  async #deleteAll(): Promise<void> {
    this.#endContext = undefined;
    this.#alarmScheduler.clear();
    await this.ctx.storage.deleteAll();
  }

  /** The session of this key that is in use or being opened. */
  #findLive(key: string): Row | undefined {
    if (!this.#endContext) return undefined;
    return this.#sql.exec<Row>("SELECT * FROM sessions WHERE key = ? AND end_attempts = 0", key).toArray()[0];
  }

  /** Repairs end times far in the future, left by a clock that was ahead and has been corrected. */
  #clampTimes(now: number): void {
    const latest = now + MAX_LIFETIME_MS;
    this.#sql.exec("UPDATE sessions SET expires = ?1 WHERE expires > ?1", latest);
  }

  #extend(tag: string, callMs: number): void {
    const expires = Date.now() + MAX_UNREPORTED_MS + callMs + GRACE_MS;
    this.#sql.exec("UPDATE sessions SET expires = max(expires, ?) WHERE tag = ?", expires, tag);
    this.#alarmScheduler.schedule(expires);
  }

  /** Marks the session as over, to be ended at the upstream at this time. Default: at once. */
  #expire({ tag, sealed }: Row, at = Date.now()): void {
    if (sealed === null) this.#sql.exec("DELETE FROM sessions WHERE tag = ?", tag);
    else this.#sql.exec("UPDATE sessions SET end_attempts = end_attempts + 1, expires = ? WHERE tag = ?", at, tag);
    this.#alarmScheduler.schedule(at);
  }

  #isFull(owner: string): boolean {
    const count = "SELECT count(*) AS all_of_them, count(*) FILTER (WHERE owner = ?) AS own FROM sessions";
    const counts = this.#sql.exec<{ all_of_them: number; own: number }>(count, owner).one();
    return counts.all_of_them >= MAX_SESSIONS_PER_UPSTREAM || counts.own >= MAX_SESSIONS_PER_OWNER;
  }
}
