// Owns what only a tenant's authority may decide about its upstreams: who reads one now, when it is read next, and which
// of two that list the same URI has it. Refuses to speak to any upstream: isolates do.

import type { Actor } from "../tenants/object/policy-records.ts";
import { secretsUpdatedAt } from "../tenants/object/secret-methods.ts";
import type { TenantHost } from "../tenants/object/tenant-host.ts";
import type { Store } from "../tenants/object/store.ts";
import { LastClaims } from "../tenants/object/last-claims.ts";
import { toUpstreamEvents } from "./operate/upstream-events.ts";
import { isReportable, logState, toReadState, type ReadState, type StateChange } from "./operate/state-log.ts";
import { deleteUnknownReviews } from "./review/review-store.ts";

/** How long whoever was told to read an upstream may take, before somebody else is told. */
export const CLAIM_MS = 90_000;
const FIRST_RETRY_MS = 5_000;
const MAX_RETRY_MS = 600_000;
/** However long a server asks to be left alone: it may have said so once, by mistake. */
const MAX_RETRY_AFTER_MS = 3_600_000;
/** What is listed is not read again sooner than this, whoever asks. */
const MIN_INTERVAL_MS = 5_000;
/** How long an upstream stays as one deployment configures it, where another one says something else. */
const CONFIG_TURN_MS = 15_000;
/** By so much two machines may differ on what time it is. */
const CLOCK_SKEW_MS = 5_000;

interface RefreshTarget {
  readonly id: string;
  readonly config: string;
  /** Stands for what may keep it from being read beside its configuration; absent: nothing does. */
  readonly allowed?: string;
}

export interface RefreshClaimRequest {
  /** Of the policy under which this is asked: what an older one says of an upstream changes nothing. */
  readonly revision: number;
  /** All that are enabled, each with `configOf` it. */
  readonly upstreams: readonly RefreshTarget[];
  /** The ids of those that are switched off: what was approved of them is kept. */
  readonly idle?: readonly string[];
  /** How many of them may be claimed; absent: all. */
  readonly limit?: number;
  /** Of this ask alone: made once more, because nobody heard what was claimed, it is told the same. */
  readonly claimId?: string;
}

export interface RefreshClaimResult {
  /** Those that whoever asked shall read now. */
  readonly claimed: readonly string[];
  /** When to ask again, milliseconds since the epoch. */
  readonly nextAt: number;
  /** The ask is of the current policy: what it does not name is not an upstream any more. */
  readonly isCurrent: boolean;
  /** Others could be claimed, too. */
  readonly hasMore?: boolean;
}

export interface RefreshResult {
  readonly id: string;
  readonly config: string;
  /** Why it could not be read; null: it was. */
  readonly why: string | null;
  /** What is missing of what it lists, as a list says it; null or absent: nothing. */
  readonly missing?: string | null;
  /** It is read again after so many milliseconds at the soonest; after failures `settle` makes it longer. */
  readonly afterMs: number;
  /** From 0 to 1: spreads what would come back at the same moment. */
  readonly jitter: number;
}

type UpstreamConfigRef = Pick<RefreshResult, "id" | "config">;

export interface UriClaim extends Pick<RefreshResult, "id" | "config"> {
  readonly uris: readonly string[];
}

/** Where the reading of an upstream stands; times are milliseconds since the epoch. */
export interface RefreshState {
  readonly id: string;
  readonly config: string;
  readonly dueAt: number;
  /** Until then somebody may be reading it. */
  readonly claimedUntil: number;
  /** 0: nobody has read it yet. */
  readonly readAt: number;
}

export interface GatewayMethods {
  readonly claimDue: (request: RefreshClaimRequest) => RefreshClaimResult;
  /** As `due`, for one that an operator wants read now: claims it unless somebody reads it already. */
  readonly tryClaim: (request: RefreshClaimRequest, id: string, actor: Actor) => boolean;
  readonly getRefreshStates: () => readonly RefreshState[];
  /** Since when it cannot be read (milliseconds since the epoch); null: it can, or is configured anew. */
  readonly completeRefresh: (result: RefreshResult) => number | null;
  /**
   * It could not be read just now: since when (as `settle`). Whoever read it still has it, to write down why, lest the next
   * one who reads it be overtaken by that.
   */
  readonly recordFailure: (ref: UpstreamConfigRef) => number | null;
  /**
   * To be called when an upstream said that its lists have changed, or answered in another way than before. Gives when it will
   * be read again (milliseconds since the epoch).
   */
  readonly markStale: (id: string) => number;
  /**
   * Makes the upstream the owner of each of these URIs that has none; gives those that another one has. null: it is
   * configured anew or gone, so what was read of it is not to be kept.
   */
  readonly claimUris: (uriClaim: UriClaim) => readonly (readonly [uri: string, owner: string])[] | null;
}

interface UpstreamRow {
  [column: string]: SqlStorageValue;
  id: string;
  config: string;
  revision: number;
  due_at: number;
  claimed_until: number;
  read_at: number;
  failures: number;
  failing_since: number | null;
  /** What the log was told last; null: nothing, of this configuration. */
  said: ReadState | null;
  /** As it was asked for last. */
  allowed: string | null;
}

export const gatewayStore: Store<GatewayMethods, TenantHost> = {
  name: "gateway",
  methods: {
    // Each claim says of which ask it is.
    claimDue: { idempotent: true },
    tryClaim: { idempotent: true },
    getRefreshStates: { idempotent: true },
    completeRefresh: { idempotent: true },
    recordFailure: { idempotent: true },
    markStale: { idempotent: true },
    claimUris: { idempotent: true },
  },
  migrations: [
    `CREATE TABLE upstreams (id TEXT PRIMARY KEY, config TEXT NOT NULL, revision INTEGER NOT NULL,
       due_at INTEGER NOT NULL, claimed_until INTEGER NOT NULL, read_at INTEGER NOT NULL, failures INTEGER NOT NULL,
       failing_since INTEGER, said TEXT, allowed TEXT) WITHOUT ROWID`,
    "CREATE TABLE upstream_uris (uri TEXT PRIMARY KEY, upstream TEXT NOT NULL) WITHOUT ROWID",
    "CREATE INDEX upstream_uris_by_upstream ON upstream_uris (upstream)",
  ],
  open: (host) => ({ methods: createMethods(host) }),
};

function createMethods(host: TenantHost): GatewayMethods {
  const claims = new LastClaims();
  return {
    claimDue: (request) => host.transaction(() => claimDueRows(host, claims, request)),
    tryClaim: (request, id, actor) => host.transaction(() => tryClaimRow(host, claims, request, { id, actor })),
    getRefreshStates: () =>
      host.sql
        .exec<UpstreamRow>("SELECT * FROM upstreams")
        .toArray()
        .map((row) => ({
          id: row.id,
          config: row.config,
          dueAt: row.due_at,
          claimedUntil: row.claimed_until,
          readAt: row.read_at,
        })),
    completeRefresh: (result) => {
      const { since, writeLog } = host.transaction(() => completeRow(host, result));
      writeLog?.();
      return since;
    },
    recordFailure: ({ id, config }) => {
      const since = `UPDATE upstreams SET failing_since = coalesce(failing_since, ?) WHERE id = ? AND config = ?
        RETURNING failing_since AS since`;
      return host.sql.exec<{ since: number }>(since, host.now(), id, config).toArray()[0]?.since ?? null;
    },
    markStale: (id) => {
      const update = "UPDATE upstreams SET due_at = min(due_at, max(?, read_at + ?)) WHERE id = ? RETURNING due_at";
      const rows = host.sql.exec<{ due_at: number }>(update, host.now(), MIN_INTERVAL_MS, id).toArray();
      return rows[0]?.due_at ?? Infinity;
    },
    claimUris: (request) => host.transaction(() => claimUriRows(host, request)),
  };
}

function rowOf(sql: SqlStorage, id: string): UpstreamRow | undefined {
  return sql.exec<UpstreamRow>("SELECT * FROM upstreams WHERE id = ?", id).toArray()[0];
}

function claimDueRows(host: TenantHost, claims: LastClaims, request: RefreshClaimRequest): RefreshClaimResult {
  const { sql } = host;
  // One time for all of it: what is entered here is due here.
  const now = host.now();
  const isCurrent = syncUpstreams(host, request, now);
  const claimed: string[] = [];
  let hasMore = false;
  for (const { id, config } of request.upstreams) {
    const row = rowOf(sql, id);
    const isClaimedByRequest = row !== undefined && row.claimed_until > now && claims.isClaimedBy(id, request.claimId);
    if (!isClaimedByRequest && (!row || row.due_at > now || !isFree(row, { config, now }))) continue;
    hasMore = claimed.length >= (request.limit ?? Infinity);
    if (hasMore) break;
    if (!isClaimedByRequest) claimRow(host, row, now);
    claims.set(id, request.claimId);
    claimed.push(id);
  }
  // What is being read is asked for again when its reader must be done, and not before.
  const query = "SELECT min(max(due_at, claimed_until)) AS at FROM upstreams";
  const next = sql.exec<{ at: number | null }>(query).one().at;
  return { claimed, nextAt: Math.max(next ?? Infinity, now + 1000), isCurrent, hasMore };
}

function tryClaimRow(
  host: TenantHost,
  claims: LastClaims,
  request: RefreshClaimRequest,
  target: { readonly id: string; readonly actor: Actor },
): boolean {
  const now = host.now();
  syncUpstreams(host, request, now);
  const row = rowOf(host.sql, target.id);
  const config = request.upstreams.find(({ id }) => id === target.id)?.config;
  if (row && row.claimed_until > now && claims.isClaimedBy(target.id, request.claimId)) return true;
  if (!row || config === undefined || !isFree(row, { config, now })) return false;
  claimRow(host, row, now);
  claims.set(target.id, request.claimId);
  host.record(target.actor, "upstream.refresh", `upstream ${target.id}`, { before: null, after: null });
  return true;
}

/** It is as whoever asks knows it, and nobody reads it. */
function isFree(row: UpstreamRow, { config, now }: { readonly config: string; readonly now: number }): boolean {
  return row.config === config && row.claimed_until <= now;
}

/** It is due when its reader must be done. An earlier time there says that somebody wants it read after this. */
function claimRow({ sql }: TenantHost, { id }: UpstreamRow, now: number): void {
  sql.exec("UPDATE upstreams SET due_at = ?1, claimed_until = ?1 WHERE id = ?2", now + CLAIM_MS, id);
}

/** The rows become what the ask says; whether that is of the current policy. */
function syncUpstreams(
  host: TenantHost,
  { revision, upstreams, idle = [] }: RefreshClaimRequest,
  now: number,
): boolean {
  const { sql } = host;
  const isCurrent = revision >= host.revision();
  clampTimes(sql, now);
  for (const one of upstreams) upsertUpstream(sql, one, { revision, now, isCurrent });
  if (isCurrent) {
    retryAfterSecretChange(host, now);
    const known = upstreams.map(({ id }) => id);
    deleteUnknown(sql, new Set(known));
    deleteUnknownReviews(sql, new Set([...known, ...idle]));
  }
  return isCurrent;
}

interface SyncContext {
  readonly revision: number;
  readonly now: number;
  readonly isCurrent: boolean;
}

function upsertUpstream(sql: SqlStorage, target: RefreshTarget, { revision, now, isCurrent }: SyncContext): void {
  const { id, config, allowed = null } = target;
  const row = rowOf(sql, id);
  if (row?.config === config) {
    if (row.allowed !== allowed && isCurrent) retryAllowed(sql, { id, allowed, now });
    return;
  }
  if (row && revision < row.revision) return;
  // Of one policy two deployments may say different things, each as long as both are served: they take turns.
  const at = row?.revision === revision ? Math.max(now, row.read_at + CONFIG_TURN_MS, row.claimed_until) : now;
  sql.exec(
    `INSERT OR REPLACE INTO upstreams
       (id, config, revision, due_at, claimed_until, read_at, failures, failing_since, said, allowed)
       VALUES (?, ?, ?, ?, 0, ?, 0, NULL, ?, ?)`,
    id,
    config,
    revision,
    at,
    row?.read_at ?? 0,
    loggedStateAfterChange(row),
    allowed,
  );
}

const SET_RETRY = `failures = 0, due_at = min(due_at, max(?, read_at + ${MIN_INTERVAL_MS}))`;

/** What could not be read may be, since it is allowed what it was not. */
function retryAllowed(
  sql: SqlStorage,
  { id, allowed, now }: Pick<UpstreamRow, "id" | "allowed"> & { readonly now: number },
) {
  sql.exec("UPDATE upstreams SET allowed = ? WHERE id = ?", allowed, id);
  sql.exec(`UPDATE upstreams SET ${SET_RETRY} WHERE failing_since IS NOT NULL AND id = ?`, now, id);
}

/**
 * What could not be read may be since a secret was set: it is due, and where that was not it, or whoever reads it has the
 * old one, soon again. Only for who knows the policy with that secret.
 */
function retryAfterSecretChange(host: TenantHost, now: number): void {
  const setAt = secretsUpdatedAt(host.sql);
  // Of a clock that was ahead: until then each look would have them read.
  if (setAt > now + CLOCK_SKEW_MS) return;
  const update = `UPDATE upstreams SET ${SET_RETRY} WHERE failing_since IS NOT NULL AND read_at <= ?`;
  host.sql.exec(update, now, setAt);
}

/** Of another configuration; the log hears that it works again where it heard that it did not. */
function loggedStateAfterChange(row: UpstreamRow | undefined): ReadState | null {
  return row && row.failing_since !== null ? "unread" : null;
}

/** A clock that was ahead and is right again left times that nobody lives to see. */
function clampTimes(sql: SqlStorage, now: number): void {
  const update = `UPDATE upstreams SET due_at = ?1, claimed_until = 0, read_at = min(read_at, ?1)
    WHERE read_at > ?1 + ?2 OR claimed_until > ?1 + ?2 + ${CLAIM_MS} OR (read_at = 0 AND due_at > ?1 + ?2 + ${CLAIM_MS})`;
  sql.exec(update, now, CLOCK_SKEW_MS);
}

function deleteUnknown(sql: SqlStorage, known: ReadonlySet<string>): void {
  for (const { id } of sql.exec<{ id: string }>("SELECT id FROM upstreams").toArray()) {
    if (known.has(id)) continue;
    sql.exec("DELETE FROM upstreams WHERE id = ?", id);
    sql.exec("DELETE FROM upstream_uris WHERE upstream = ?", id);
  }
}

interface CompletionResult {
  readonly since: number | null;
  /** Tells the log, where there is something to tell. */
  readonly writeLog?: () => void;
}

function completeRow(host: TenantHost, result: RefreshResult): CompletionResult {
  const { id, config, why } = result;
  const { sql, tenant } = host;
  const now = host.now();
  const row = rowOf(sql, id);
  if (row?.config !== config) {
    // Its configuration has changed meanwhile. Whoever reads what it is now may have written before this one did.
    if (why === null) sql.exec("UPDATE upstreams SET due_at = min(due_at, ?) WHERE id = ?", now, id);
    return { since: null };
  }
  const failures = why === null ? 0 : row.failures + 1;
  const since = why === null ? null : (row.failing_since ?? now);
  const { said: previousState } = row;
  const state = toReadState(previousState, result);
  const update = `UPDATE upstreams SET due_at = ?, claimed_until = 0, read_at = ?, failures = ?, failing_since = ?,
    said = ? WHERE id = ?`;
  sql.exec(update, nextDueAt(row, { ...result, failures, now }), now, failures, since, state, id);
  const change = { tenant, upstream: id, state, was: previousState, why: why ?? result.missing ?? null } as const;
  const writeLog = reportChange(host, { ...change, since: since ?? row.failing_since ?? now });
  return writeLog ? { since, writeLog } : { since };
}

/** Tells people of it; gives what tells the log, where that is news. */
function reportChange({ emitEvent: tell }: TenantHost, change: StateChange): CompletionResult["writeLog"] {
  if (tell) toUpstreamEvents(change).forEach(tell);
  return isReportable(change) ? () => logState(change) : undefined;
}

type DueInput = Pick<RefreshResult, "why" | "afterMs" | "jitter"> &
  Pick<UpstreamRow, "failures"> & { readonly now: number };

function nextDueAt(row: UpstreamRow, { why, afterMs, jitter, failures, now }: DueInput): number {
  const backOff = Math.min(FIRST_RETRY_MS * 2 ** Math.min(failures - 1, 10), MAX_RETRY_MS);
  const wait = why === null ? afterMs : Math.min(Math.max(afterMs, backOff), MAX_RETRY_AFTER_MS);
  const at = now + wait * (1 + jitter / 5);
  // What it listed may have changed after it was read.
  const wasMarkedStale = why === null && row.due_at < row.claimed_until;
  return Math.round(wasMarkedStale ? Math.min(at, now + MIN_INTERVAL_MS) : at);
}

function claimUriRows({ sql }: TenantHost, { id, config, uris }: UriClaim): (readonly [string, string])[] | null {
  if (rowOf(sql, id)?.config !== config) return null;
  const rows = sql.exec<{ uri: string }>("SELECT uri FROM upstream_uris WHERE upstream = ?", id).toArray();
  const owned = new Set(rows.map(({ uri }) => uri));
  const requestedUris = new Set(uris);
  for (const uri of owned) if (!requestedUris.has(uri)) sql.exec("DELETE FROM upstream_uris WHERE uri = ?", uri);
  const conflicts: (readonly [string, string])[] = [];
  for (const uri of requestedUris) {
    if (owned.has(uri)) continue;
    const query = "SELECT upstream FROM upstream_uris WHERE uri = ?";
    const otherUpstream = sql.exec<{ upstream: string }>(query, uri).toArray()[0]?.upstream;
    if (otherUpstream === undefined) sql.exec("INSERT INTO upstream_uris (uri, upstream) VALUES (?, ?)", uri, id);
    else conflicts.push([uri, otherUpstream]);
  }
  return conflicts;
}
