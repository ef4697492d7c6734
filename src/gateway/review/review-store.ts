// Stores approved and waiting definitions of upstreams under `trust: review`, exactly as they were written. A decision
// names the digest of the text that the reviewer saw. The stored bytes are limited.

import { sectionHash } from "../../tenants/object/section-hash-store.ts";
import type { Actor } from "../../tenants/object/policy-records.ts";
import type { TenantHost } from "../../tenants/object/tenant-host.ts";
import type { Store } from "../../tenants/object/store.ts";

/** Of all approved and waiting definitions of a tenant, as SQLite counts them. */
const MAX_REVIEWED_BYTES = 16 * 1024 * 1024;
/** Per upstream: what it lists now, and as much that it listed before. */
const MAX_REVIEWED = 2000;
const MAX_PAGE_BYTES = 4 * 1024 * 1024;

/** A definition as read. `name` is its key at the upstream. */
export interface ListedDefinition {
  readonly kind: string;
  readonly name: string;
  readonly digest: string;
  readonly text: string;
}

export interface ListedDefinitions {
  readonly id: string;
  /** Configuration with which the upstream was read. Results of an older one are dropped. */
  readonly configHash: string;
  /** In listing order. */
  readonly definitions: readonly ListedDefinition[];
  /** Kinds whose list could not be read. Their earlier definitions stay. */
  readonly unread?: readonly string[];
}

export interface ReviewState {
  /** Grows with every refresh and every decision. */
  readonly generation: number;
  /** In the order in which the upstream lists them now. */
  readonly approved: readonly { readonly kind: string; readonly text: string }[];
  /** How many wait for a decision. */
  readonly waiting: number;
  /** Hash of the section that is served, or null if there is none. */
  readonly section: string | null;
}

export interface WaitingDefinition extends ListedDefinition {
  /** The approved version, or null if there is none. */
  readonly approved: { readonly digest: string; readonly text: string } | null;
  /** Approved definitions of the same kind whose names are no longer listed. One of them may have been renamed. */
  readonly unlisted: readonly { readonly name: string; readonly text: string }[];
  readonly rejected: boolean;
  /** Milliseconds since the epoch. */
  readonly listedAt: number;
}

export interface WaitingPage {
  readonly items: readonly WaitingDefinition[];
  /** Position of the last item, or undefined if there are no more. */
  readonly next?: number;
}

export type ReviewVerdict = "approve" | "reject";

export interface Decision {
  readonly id: string;
  readonly verdict: ReviewVerdict;
  readonly digests: readonly string[];
}

export interface ReviewMethods {
  /** Records what the upstream lists now. Returns "stale" if it was reconfigured or removed. */
  recordListed(listed: ListedDefinitions): "stored" | "stale" | "full";
  getState(id: string): ReviewState;
  getGeneration(id: string): number;
  getApprovedDigests(): Readonly<Record<string, readonly string[]>>;
  /** Waiting definitions after a position, in listing order. */
  listWaiting(id: string, page: { readonly after: number; readonly limit: number }): WaitingPage;
  /**
   * Decides all digests or none. `unknown` lists digests that neither wait nor were decided the same way. Repeating a
   * decision changes nothing.
   */
  decide(decision: Decision, actor: Actor): { readonly unknown: readonly string[] };
}

interface ReviewRow {
  [column: string]: SqlStorageValue;
  kind: string;
  name: string;
  position: number | null;
  approved_text: string | null;
  approved_digest: string | null;
  listed_text: string | null;
  listed_digest: string;
  listed_at: number;
  rejected_digest: string | null;
}

export const reviewStore: Store<ReviewMethods, TenantHost> = {
  name: "gateway-review",
  methods: {
    recordListed: { idempotent: true },
    getState: { idempotent: true },
    getGeneration: { idempotent: true },
    getApprovedDigests: { idempotent: true },
    listWaiting: { idempotent: true },
    decide: { idempotent: true },
  },
  migrations: [
    // The text columns come last, so that frequent queries do not read them.
    `CREATE TABLE upstream_reviews (upstream TEXT NOT NULL, kind TEXT NOT NULL, name TEXT NOT NULL, position INTEGER,
       listed_digest TEXT NOT NULL, listed_at INTEGER NOT NULL, approved_digest TEXT, rejected_digest TEXT,
       approved_text TEXT, listed_text TEXT, PRIMARY KEY (upstream, kind, name))`,
    "CREATE INDEX upstream_reviews_by_digest ON upstream_reviews (upstream, listed_digest)",
    "CREATE TABLE upstream_review_generations (upstream TEXT PRIMARY KEY, generation INTEGER NOT NULL) WITHOUT ROWID",
  ],
  open: (host) => ({
    methods: {
      recordListed: (all) => host.transaction(() => recordListedRows(host, all)),
      getState: (id) => host.transaction(() => readState(host.sql, id)),
      getGeneration: (id) => generationOf(host.sql, id),
      getApprovedDigests: () => approvedDigests(host.sql),
      listWaiting: (id, page) => listWaitingRows(host.sql, id, page),
      decide: (decision, actor) => host.transaction(() => decide(host, decision, actor)),
    },
  }),
};

export function deleteUnknownReviews(sql: SqlStorage, known: ReadonlySet<string>): void {
  const query = "SELECT upstream FROM upstream_review_generations";
  for (const { upstream } of sql.exec<{ upstream: string }>(query).toArray()) {
    if (known.has(upstream)) continue;
    sql.exec("DELETE FROM upstream_reviews WHERE upstream = ?", upstream);
    sql.exec("DELETE FROM upstream_review_generations WHERE upstream = ?", upstream);
  }
}

function approvedDigests(sql: SqlStorage): Record<string, string[]> {
  const query = "SELECT upstream, approved_digest AS digest FROM upstream_reviews WHERE approved_digest IS NOT NULL";
  const all: Record<string, string[]> = {};
  for (const { upstream, digest } of sql.exec<{ upstream: string; digest: string }>(query)) {
    (all[upstream] ??= []).push(digest);
  }
  return all;
}

function generationOf(sql: SqlStorage, id: string): number {
  const query = "SELECT generation FROM upstream_review_generations WHERE upstream = ?";
  return sql.exec<{ generation: number }>(query, id).toArray()[0]?.generation ?? 0;
}

/** Never repeats an earlier generation, even if the upstream was deleted in between. */
function nextGeneration(host: TenantHost, id: string): void {
  const next = Math.max(host.now(), generationOf(host.sql, id) + 1);
  host.sql.exec("INSERT OR REPLACE INTO upstream_review_generations (upstream, generation) VALUES (?, ?)", id, next);
}

function recordListedRows(
  host: TenantHost,
  { id, configHash, definitions, unread = [] }: ListedDefinitions,
): "stored" | "stale" | "full" {
  const { sql } = host;
  if (sql.exec("SELECT 1 FROM upstreams WHERE id = ? AND config_hash = ?", id, configHash).toArray().length === 0)
    return "stale";
  nextGeneration(host, id);
  if (!syncListedRows(host, id, { definitions, unread })) return "stored";
  // A definition without a decision is deleted when it is no longer listed.
  sql.exec("DELETE FROM upstream_reviews WHERE upstream = ? AND position IS NULL AND approved_text IS NULL", id);
  const oldest = `DELETE FROM upstream_reviews WHERE rowid IN (SELECT rowid FROM upstream_reviews
    WHERE upstream = ? ORDER BY position IS NULL, listed_at DESC LIMIT -1 OFFSET ${MAX_REVIEWED})`;
  sql.exec(oldest, id);
  if (!isFull(sql)) return "stored";
  // Reviews of disabled upstreams are kept only while there is room.
  sql.exec("DELETE FROM upstream_reviews WHERE upstream NOT IN (SELECT id FROM upstreams)");
  if (!isFull(sql)) return "stored";
  sql.exec("DELETE FROM upstream_reviews WHERE upstream = ? AND approved_text IS NULL", id);
  sql.exec("UPDATE upstream_reviews SET listed_text = NULL, listed_digest = approved_digest WHERE upstream = ?", id);
  return "full";
}

function isFull(sql: SqlStorage): boolean {
  const query = `SELECT sum(coalesce(octet_length(approved_text), 0) + coalesce(octet_length(listed_text), 0)) AS size
    FROM upstream_reviews`;
  return (sql.exec<{ size: number | null }>(query).one().size ?? 0) > MAX_REVIEWED_BYTES;
}

type KnownRow = Pick<ReviewRow, "kind" | "name" | "position" | "listed_digest" | "approved_digest">;

/** Returns false if nothing changed, and then writes nothing. */
function syncListedRows(
  host: TenantHost,
  id: string,
  { definitions, unread = [] }: Pick<ListedDefinitions, "definitions" | "unread">,
): boolean {
  const { sql } = host;
  const query = "SELECT kind, name, position, listed_digest, approved_digest FROM upstream_reviews WHERE upstream = ?";
  const keyOf = ({ kind, name }: Pick<ListedDefinition, "kind" | "name">) => `${kind} ${name}`;
  const known = new Map(
    sql
      .exec<KnownRow>(query, id)
      .toArray()
      .map((row) => [keyOf(row), row]),
  );
  const updatePosition = "UPDATE upstream_reviews SET position = ? WHERE upstream = ? AND kind = ? AND name = ?";
  const upsert = `INSERT INTO upstream_reviews (upstream, kind, name, position, listed_digest, listed_at, listed_text)
    VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET position = excluded.position,
    listed_digest = excluded.listed_digest, listed_at = excluded.listed_at, listed_text = excluded.listed_text`;
  let writes = 0;
  for (const [position, one] of definitions.entries()) {
    const { kind, name, digest, text } = one;
    const row = known.get(keyOf(one));
    known.delete(keyOf(one));
    if (row?.listed_digest === digest && row.position === position) continue;
    writes += 1;
    if (row?.listed_digest === digest) sql.exec(updatePosition, position, id, kind, name);
    // An approved text stays as it was written, and needs no second copy.
    else sql.exec(upsert, id, kind, name, position, digest, host.now(), row?.approved_digest === digest ? null : text);
  }
  for (const { kind, name, position } of known.values()) {
    if (position === null || unread.includes(kind)) continue;
    writes += 1;
    sql.exec(updatePosition, null, id, kind, name);
  }
  return writes > 0;
}

/** Listed now, and different from what was approved. */
const IS_WAITING = "position IS NOT NULL AND listed_text IS NOT NULL";

function readState(sql: SqlStorage, id: string): ReviewState {
  const approved = `SELECT kind, approved_text AS text FROM upstream_reviews
    WHERE upstream = ? AND position IS NOT NULL AND approved_text IS NOT NULL ORDER BY position`;
  const count = `SELECT count(*) AS waiting FROM upstream_reviews
    WHERE upstream = ? AND ${IS_WAITING} AND rejected_digest IS NOT listed_digest`;
  return {
    generation: generationOf(sql, id),
    approved: sql.exec<{ kind: string; text: string }>(approved, id).toArray(),
    waiting: sql.exec<{ waiting: number }>(count, id).one().waiting,
    section: sectionHash(sql, `upstream:${id}`),
  };
}

function listWaitingRows(
  sql: SqlStorage,
  id: string,
  page: { readonly after: number; readonly limit: number },
): WaitingPage {
  const query = `SELECT * FROM upstream_reviews WHERE upstream = ? AND ${IS_WAITING} AND position > ? ORDER BY position`;
  const items: WaitingDefinition[] = [];
  let bytes = 0;
  let next = page.after;
  for (const row of sql.exec<ReviewRow>(query, id, page.after)) {
    if (items.length === page.limit || bytes > MAX_PAGE_BYTES) return { items, next };
    const {
      kind,
      name,
      approved_text: approved,
      approved_digest,
      listed_text: text,
      listed_digest,
      listed_at,
      rejected_digest,
    } = row;
    const item = {
      kind,
      name,
      digest: listed_digest,
      text: text ?? "",
      approved: approved === null || approved_digest === null ? null : { digest: approved_digest, text: approved },
      unlisted: approved === null ? findRemoved(sql, id, kind, text ?? "") : [],
      rejected: rejected_digest === listed_digest,
      listedAt: listed_at,
    };
    items.push(item);
    bytes += item.text.length + (approved?.length ?? 0);
    next = Number(row.position);
  }
  return { items };
}

/** Only texts of similar length: others cannot be the same definition under another name. */
function findRemoved(sql: SqlStorage, id: string, kind: string, text: string): WaitingDefinition["unlisted"] {
  const query = `SELECT name, approved_text AS text FROM upstream_reviews WHERE upstream = ? AND kind = ? AND position IS NULL
    AND approved_text IS NOT NULL AND abs(length(approved_text) - ?) < 512 LIMIT 5`;
  return sql.exec<{ name: string; text: string }>(query, id, kind, text.length).toArray();
}

/** Already decided this way: a caller that lost the answer repeats its decision. */
const IS_DECIDED = {
  approve: "position IS NOT NULL AND listed_text IS NULL AND approved_digest = listed_digest",
  reject: `${IS_WAITING} AND rejected_digest = listed_digest`,
} as const satisfies Readonly<Record<ReviewVerdict, string>>;

function decide(host: TenantHost, { id, verdict, digests }: Decision, actor: Actor) {
  const { sql } = host;
  const findRows = (digest: string, which: string) =>
    sql
      .exec<ReviewRow>(
        `SELECT * FROM upstream_reviews WHERE upstream = ? AND listed_digest = ? AND ${which}`,
        id,
        digest,
      )
      .toArray();
  const isDecided = (digest: string) => findRows(digest, IS_DECIDED[verdict]).length > 0;
  const matches = digests.map((digest) => ({ digest, rows: findRows(digest, IS_WAITING) }));
  const unknown = matches.flatMap(({ digest, rows }) => (rows.length > 0 || isDecided(digest) ? [] : [digest]));
  if (unknown.length > 0 || digests.every(isDecided)) return { unknown };
  const set =
    verdict === "approve"
      ? "approved_text = listed_text, approved_digest = listed_digest, listed_text = NULL, rejected_digest = NULL"
      : "rejected_digest = listed_digest";
  for (const { digest } of matches) {
    sql.exec(
      `UPDATE upstream_reviews SET ${set} WHERE upstream = ? AND listed_digest = ? AND ${IS_WAITING}`,
      id,
      digest,
    );
  }
  const all = matches.flatMap(({ rows }) => rows);
  const before = all.map(({ kind, name, approved_digest: digest }) => ({ kind, name, digest }));
  const after = all.map(({ kind, name, listed_digest: digest }) => ({ kind, name, digest }));
  host.record(actor, `upstream.${verdict}`, `upstream ${id}`, { before, after });
  nextGeneration(host, id);
  return { unknown: [] };
}
