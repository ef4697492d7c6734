// The tenant object's state for upstreams: which isolate refreshes one now, when the next refresh is due, and which
// upstream owns a URI that several list. Only isolates talk to upstreams.

import type { Actor } from "../tenants/object/policy-records.ts";
import { secretsUpdatedAt } from "../tenants/object/secret-methods.ts";
import type { TenantHost } from "../tenants/object/tenant-host.ts";
import type { Store } from "../tenants/object/store.ts";
import { LastClaims } from "../tenants/object/last-claims.ts";
import {
  toUpstreamEvents,
  isReportable,
  logState,
  toReadState,
  type ReadState,
  type StateChange,
} from "./operate/state-log.ts";
import { deleteUnknownReviews } from "./review/review-store.ts";

/** How long one isolate may take for a refresh before another may claim it. */
export const CLAIM_MS = 90_000;
const FIRST_RETRY_MS = 5_000;
const MAX_RETRY_MS = 600_000;
/** Caps a server's Retry-After, which may be a mistake. */
const MAX_RETRY_AFTER_MS = 3_600_000;
/** Minimum time between two refreshes, no matter who requests them. */
const MIN_INTERVAL_MS = 5_000;
/** How long one deployment's configuration stays before another deployment's replaces it under the same policy. */
const CONFIG_TURN_MS = 15_000;
const CLOCK_SKEW_MS = 5_000;

interface RefreshTarget {
  readonly id: string;
  readonly configHash: string;
  /**
   * A digest of what else decides whether this upstream can be read: its service grant, the exposed services and the
   * outbound allow list. A change makes a failing upstream due again.
   */
  readonly accessDigest?: string;
}

export interface RefreshClaimRequest {
  /** Revision of the caller's policy. An older policy does not change an upstream's configuration. */
  readonly revision: number;
  /** All enabled upstreams, each with its `configHashOf`. */
  readonly upstreams: readonly RefreshTarget[];
  /** Ids of disabled upstreams. Their reviews are kept. */
  readonly idle?: readonly string[];
  /** Maximum number to claim. Absent means all. */
  readonly limit?: number;
  /** Unique to this request. A retry after a lost answer gets the same claims. */
  readonly claimId?: string;
}

export interface RefreshClaimResult {
  /** Ids that the caller must refresh now. */
  readonly claimed: readonly string[];
  /** When to call again, milliseconds since the epoch. */
  readonly nextAt: number;
  /** The request is under the current policy, so an upstream that it does not name no longer exists. */
  readonly isCurrent: boolean;
  readonly hasMore?: boolean;
}

export interface RefreshResult {
  readonly id: string;
  readonly configHash: string;
  /** null if the refresh succeeded. */
  readonly why: string | null;
  /** Gaps of the catalog in words, as `describeGaps` returns them. Absent or null if there are none. */
  readonly missing?: string | null;
  /** Minimum milliseconds until the next refresh. Failures back off further. */
  readonly afterMs: number;
  /** From 0 to 1. Spreads refreshes that would be due at the same moment. */
  readonly jitter: number;
}

export interface UriClaim extends Pick<RefreshResult, "id" | "configHash"> {
  readonly uris: readonly string[];
}

/** Refresh state of one upstream. Times are milliseconds since the epoch. */
export interface RefreshState {
  readonly id: string;
  readonly configHash: string;
  readonly dueAt: number;
  /** An isolate may be refreshing the upstream until then. */
  readonly claimedUntil: number;
  /** 0 if the upstream has never been read. */
  readonly readAt: number;
}

export interface GatewayMethods {
  readonly claimDue: (request: RefreshClaimRequest) => RefreshClaimResult;
  /**
   * Claims one upstream at an operator's request. Returns false if it is being refreshed, or if its configuration
   * differs.
   */
  readonly tryClaim: (request: RefreshClaimRequest, id: string, actor: Actor) => boolean;
  readonly getRefreshStates: () => readonly RefreshState[];
  /**
   * Since when the upstream has been failing, milliseconds since the epoch. Returns null if it works, or if its
   * configuration changed.
   */
  readonly completeRefresh: (result: RefreshResult) => number | null;
  /**
   * Records a failure and returns since when the upstream has been failing, as `completeRefresh`. The caller keeps its
   * claim until it has written the failure note, so that a later refresh cannot be overwritten by that note.
   */
  readonly recordFailure: (ref: Pick<RefreshResult, "id" | "configHash">) => number | null;
  /**
   * Makes a refresh due because the upstream announced changed lists or answered unlike before. Returns when it will be
   * read, milliseconds since the epoch.
   */
  readonly markStale: (id: string) => number;
  /**
   * Makes the upstream the owner of each URI that has none, and returns those that another upstream owns. Returns null
   * if the upstream was reconfigured or removed; its catalog must then be dropped.
   */
  readonly claimUris: (uriClaim: UriClaim) => readonly (readonly [uri: string, owner: string])[] | null;
}

interface UpstreamRow {
  [column: string]: SqlStorageValue;
  id: string;
  config_hash: string;
  revision: number;
  due_at: number;
  claimed_until: number;
  read_at: number;
  failures: number;
  failing_since: number | null;
  /** The state that was last logged. null if none was logged for this configuration. */
  logged_state: ReadState | null;
  /** `accessDigest` of the last request. */
  access_digest: string | null;
}

export const gatewayStore: Store<GatewayMethods, TenantHost> = {
  name: "gateway",
  methods: {
    // A `claimId` makes claims idempotent.
    claimDue: { idempotent: true },
    tryClaim: { idempotent: true },
    getRefreshStates: { idempotent: true },
    completeRefresh: { idempotent: true },
    recordFailure: { idempotent: true },
    markStale: { idempotent: true },
    claimUris: { idempotent: true },
  },
  migrations: [
    `CREATE TABLE upstreams (id TEXT PRIMARY KEY, config_hash TEXT NOT NULL, revision INTEGER NOT NULL,
       due_at INTEGER NOT NULL, claimed_until INTEGER NOT NULL, read_at INTEGER NOT NULL, failures INTEGER NOT NULL,
       failing_since INTEGER, logged_state TEXT, access_digest TEXT) WITHOUT ROWID`,
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
          configHash: row.config_hash,
          dueAt: row.due_at,
          claimedUntil: row.claimed_until,
          readAt: row.read_at,
        })),
    completeRefresh: (result) => {
      const { since, writeLog } = host.transaction(() => completeRow(host, result));
      writeLog?.();
      return since;
    },
    recordFailure: ({ id, configHash }) => {
      const since = `UPDATE upstreams SET failing_since = coalesce(failing_since, ?) WHERE id = ? AND config_hash = ?
        RETURNING failing_since AS since`;
      return host.sql.exec<{ since: number }>(since, host.now(), id, configHash).toArray()[0]?.since ?? null;
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
  // One timestamp for the transaction, so that a row inserted now is due now.
  const now = host.now();
  const isCurrent = syncUpstreams(host, request, now);
  const claimed: string[] = [];
  let hasMore = false;
  for (const { id, configHash } of request.upstreams) {
    const row = rowOf(sql, id);
    const isClaimedByRequest = row !== undefined && row.claimed_until > now && claims.isClaimedBy(id, request.claimId);
    if (!isClaimedByRequest && (!row || row.due_at > now || !isFree(row, { configHash, now }))) continue;
    hasMore = claimed.length >= (request.limit ?? Infinity);
    if (hasMore) break;
    if (!isClaimedByRequest) claimRow(host, row, now);
    claims.set(id, request.claimId);
    claimed.push(id);
  }
  // An upstream that is being refreshed is not due again before its claim expires.
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
  const configHash = request.upstreams.find(({ id }) => id === target.id)?.configHash;
  if (row && row.claimed_until > now && claims.isClaimedBy(target.id, request.claimId)) return true;
  if (!row || configHash === undefined || !isFree(row, { configHash, now })) return false;
  claimRow(host, row, now);
  claims.set(target.id, request.claimId);
  host.record(target.actor, "upstream.refresh", `upstream ${target.id}`, { before: null, after: null });
  return true;
}

/** Has the configuration that the caller knows, and no isolate is refreshing it. */
function isFree(row: UpstreamRow, { configHash, now }: { readonly configHash: string; readonly now: number }): boolean {
  return row.config_hash === configHash && row.claimed_until <= now;
}

/**
 * Sets `due_at` to the end of the claim. An earlier `due_at` then shows that the upstream was marked stale during the
 * refresh.
 */
function claimRow({ sql }: TenantHost, { id }: UpstreamRow, now: number): void {
  sql.exec("UPDATE upstreams SET due_at = ?1, claimed_until = ?1 WHERE id = ?2", now + CLAIM_MS, id);
}

/** Updates the rows from the request. Returns whether the request is under the current policy. */
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
  const { id, configHash, accessDigest = null } = target;
  const row = rowOf(sql, id);
  if (row?.config_hash === configHash) {
    if (row.access_digest !== accessDigest && isCurrent) retryAfterAccessChange(sql, { id, accessDigest, now });
    return;
  }
  if (row && revision < row.revision) return;
  // Two deployments of one policy may configure an upstream differently while both are served, so they take turns.
  const at = row?.revision === revision ? Math.max(now, row.read_at + CONFIG_TURN_MS, row.claimed_until) : now;
  sql.exec(
    `INSERT OR REPLACE INTO upstreams
       (id, config_hash, revision, due_at, claimed_until, read_at, failures, failing_since, logged_state, access_digest)
       VALUES (?, ?, ?, ?, 0, ?, 0, NULL, ?, ?)`,
    id,
    configHash,
    revision,
    at,
    row?.read_at ?? 0,
    loggedStateAfterChange(row),
    accessDigest,
  );
}

const SET_RETRY = `failures = 0, due_at = min(due_at, max(?, read_at + ${MIN_INTERVAL_MS}))`;

/** A failing upstream may succeed now, because what it may reach has changed. */
function retryAfterAccessChange(
  sql: SqlStorage,
  { id, accessDigest, now }: { readonly id: string; readonly accessDigest: string | null; readonly now: number },
): void {
  sql.exec("UPDATE upstreams SET access_digest = ? WHERE id = ?", accessDigest, id);
  sql.exec(`UPDATE upstreams SET ${SET_RETRY} WHERE failing_since IS NOT NULL AND id = ?`, now, id);
}

/**
 * A failing upstream may succeed after a secret was set, so it becomes due. If it fails again with the old secret or
 * for another reason, the retry comes soon. Only for a caller that knows the policy with that secret.
 */
function retryAfterSecretChange(host: TenantHost, now: number): void {
  const setAt = secretsUpdatedAt(host.sql);
  // The timestamp is from a clock that was ahead: it would make every request trigger a refresh until then.
  if (setAt > now + CLOCK_SKEW_MS) return;
  const update = `UPDATE upstreams SET ${SET_RETRY} WHERE failing_since IS NOT NULL AND read_at <= ?`;
  host.sql.exec(update, now, setAt);
}

/** State to log after a configuration change: a failing upstream stays "unread", so that its recovery is logged. */
function loggedStateAfterChange(row: UpstreamRow | undefined): ReadState | null {
  return row && row.failing_since !== null ? "unread" : null;
}

/** Repairs times far in the future, left by a clock that was ahead and has been corrected. */
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
  /** Writes the log line, if there is something to log. Runs after the transaction. */
  readonly writeLog?: () => void;
}

function completeRow(host: TenantHost, result: RefreshResult): CompletionResult {
  const { id, configHash, why } = result;
  const { sql, tenant } = host;
  const now = host.now();
  const row = rowOf(sql, id);
  if (row?.config_hash !== configHash) {
    // The configuration changed meanwhile. A reader of the new configuration may have finished before this one, so the
    // upstream is due again.
    if (why === null) sql.exec("UPDATE upstreams SET due_at = min(due_at, ?) WHERE id = ?", now, id);
    return { since: null };
  }
  const failures = why === null ? 0 : row.failures + 1;
  const since = why === null ? null : (row.failing_since ?? now);
  const { logged_state: previousState } = row;
  const state = toReadState(previousState, result);
  const update = `UPDATE upstreams SET due_at = ?, claimed_until = 0, read_at = ?, failures = ?, failing_since = ?,
    logged_state = ? WHERE id = ?`;
  sql.exec(update, nextDueAt(row, { ...result, failures, now }), now, failures, since, state, id);
  const change = { tenant, upstream: id, state, was: previousState, why: why ?? result.missing ?? null } as const;
  const writeLog = reportChange(host, { ...change, since: since ?? row.failing_since ?? now });
  return writeLog ? { since, writeLog } : { since };
}

/** Emits events for people, and returns the function that logs the change if it is worth logging. */
function reportChange({ emitEvent }: TenantHost, change: StateChange): CompletionResult["writeLog"] {
  if (emitEvent) toUpstreamEvents(change).forEach(emitEvent);
  return isReportable(change) ? () => logState(change) : undefined;
}

type DueInput = Pick<RefreshResult, "why" | "afterMs" | "jitter"> &
  Pick<UpstreamRow, "failures"> & { readonly now: number };

function nextDueAt(row: UpstreamRow, { why, afterMs, jitter, failures, now }: DueInput): number {
  const backOff = Math.min(FIRST_RETRY_MS * 2 ** Math.min(failures - 1, 10), MAX_RETRY_MS);
  const wait = why === null ? afterMs : Math.min(Math.max(afterMs, backOff), MAX_RETRY_AFTER_MS);
  const at = now + wait * (1 + jitter / 5);
  // An upstream marked stale during its refresh may have changed after it was read.
  const wasMarkedStale = why === null && row.due_at < row.claimed_until;
  return Math.round(wasMarkedStale ? Math.min(at, now + MIN_INTERVAL_MS) : at);
}

function claimUriRows({ sql }: TenantHost, { id, configHash, uris }: UriClaim): (readonly [string, string])[] | null {
  if (rowOf(sql, id)?.config_hash !== configHash) return null;
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
