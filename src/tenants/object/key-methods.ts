// A tenant's API keys in its object: creation, rotation with overlap, and revocation, each with an audit entry.

import { keyPrincipalId } from "../../auth/principal.ts";
import type { Actor, KeyRecord, WriteResult } from "./policy-records.ts";
import type { TenantHost } from "./tenant-host.ts";

export interface KeyInsert {
  readonly id: string;
  readonly hash: string;
  readonly name: string;
  readonly scopes: readonly string[] | null;
  readonly profile: string | null;
  readonly expires: number | null;
}

export interface Rotation {
  readonly old: string;
  readonly key: Pick<KeyInsert, "id" | "hash">;
  readonly overlapMs: number;
  /** The most keys that the tenant may have; null for no limit. */
  readonly maxKeys: number | null;
  /** For a key that rotates itself: its minimum age in milliseconds. It must not be suspended, either. */
  readonly minAgeMs?: number;
}

/** Keys in the order of creation. `after`: the last key of the previous page; absent for the first page. */
export interface KeyPage {
  readonly after?: Pick<KeyRecord, "created" | "id"> | undefined;
  readonly limit: number;
}

export interface KeyMethods {
  keyPage(page: KeyPage): readonly KeyRecord[];
  key(id: string): KeyRecord | undefined;
  /** Keys that work: without those that have ended, which are listed for another month. */
  countActiveKeys(): number;
  /** `maxKeys`: the most keys that the tenant may have, retiring ones included; null for no limit. */
  addKey(key: KeyInsert, actor: Actor, maxKeys?: number | null): WriteResult | { readonly state: "full" };
  /**
   * The old key works for another `overlapMs`. "full": during the overlap the tenant would have more than one key above
   * its limit; one is allowed, because a rotation needs it. "rotated": a concurrent rotation of the same key came
   * first.
   */
  rotateKey(
    rotation: Rotation,
    actor: Actor,
  ): WriteResult | { readonly state: "full" | "rotated" | "young" | "suspended" };
  /** Also revokes the keys that the key created by rotating itself. */
  revokeKey(id: string, actor: Actor): WriteResult;
}

/** The most keys of a tenant, whatever its limit is. */
export const MAX_KEYS = 10_000;

interface KeyRow {
  [column: string]: SqlStorageValue;
  id: string;
  name: string;
  scopes: string | null;
  profile: string | null;
  expires: number | null;
  created: string;
  last_used: string | null;
  retires: number | null;
}

const COLUMNS = "id, name, scopes, profile, expires, created, last_used, retires";

function recordOf(row: KeyRow): KeyRecord {
  return {
    id: row.id,
    name: row.name,
    scopes: row.scopes === null ? null : (JSON.parse(row.scopes) as string[]),
    profile: row.profile,
    expires: row.expires,
    created: row.created,
    lastUsed: row.last_used,
    retires: row.retires,
  };
}

/** `parent`: the key that created this one by rotating itself. */
function insertKey(host: TenantHost, key: KeyInsert, parent: string | null = null): void {
  host.sql.exec(
    "INSERT INTO api_keys (id, hash, name, scopes, profile, expires, created, parent) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
    key.id,
    key.hash,
    key.name,
    key.scopes === null ? null : JSON.stringify(key.scopes),
    key.profile,
    key.expires,
    new Date(host.now()).toISOString(),
    parent,
  );
}

/** The key and all its descendants: a thief may have rotated a stolen key. */
const WITH_DESCENDANTS = `WITH RECURSIVE made (id) AS (VALUES (?) UNION SELECT k.id FROM api_keys k JOIN made ON k.parent = made.id)
  SELECT ${COLUMNS} FROM api_keys WHERE id IN made`;

const PAGE = `SELECT ${COLUMNS} FROM api_keys WHERE (created, id) > (?, ?) ORDER BY created, id LIMIT ?`;

export function createKeyMethods(host: TenantHost): KeyMethods {
  const { sql } = host;
  const uses = host.keyUses;
  const find = (id: string) => sql.exec<KeyRow>(`SELECT ${COLUMNS} FROM api_keys WHERE id = ?`, id).toArray()[0];
  const withLastUsed = (row: KeyRow) => ({ ...recordOf(row), lastUsed: uses.lastUse(row.id) ?? row.last_used });
  const page = ({ after = { created: "", id: "" }, limit }: KeyPage) =>
    sql.exec<KeyRow>(PAGE, after.created, after.id, limit).toArray().map(withLastUsed);
  return {
    keyPage: page,
    key: (id) => {
      const row = find(id);
      return row && withLastUsed(row);
    },
    countActiveKeys: () => countActiveKeys(host),
    addKey: (key, actor, maxKeys = null) =>
      host.transaction(() => {
        if (host.revision() === 0) return { state: "absent" };
        if (keyExists(host, key)) return { state: "written", revision: host.revision(), leftMs: 0 };
        if (countActiveKeys(host) >= Math.min(maxKeys ?? MAX_KEYS, MAX_KEYS)) return { state: "full" };
        insertKey(host, key);
        scheduleKeyPruning(host);
        host.record(actor, "key.create", `key ${key.id}`, {
          before: null,
          after: find(key.id) && recordOf(find(key.id) as KeyRow),
        });
        return { state: "written", revision: host.incrementRevision(), leftMs: 0 };
      }),
    rotateKey: ({ old, key, overlapMs, maxKeys, minAgeMs = 0 }, actor) =>
      host.transaction(() => {
        if (keyExists(host, key))
          return { state: "written", revision: host.revision(), ...host.propagation(overlapMs) };
        const row = find(old);
        const refusal = row && rotationRefusal(host, row, minAgeMs);
        if (!row || refusal) return { state: refusal ?? "absent" };
        const extra = overlapMs > 0 ? 1 : 0;
        if (maxKeys !== null && countActiveKeys(host) + extra > maxKeys + 1) return { state: "full" };
        insertKey(host, { ...recordOf(row), ...key }, minAgeMs > 0 ? old : null);
        const retires = host.now() + overlapMs;
        sql.exec("UPDATE api_keys SET retires = ? WHERE id = ?", retires, old);
        scheduleKeyPruning(host);
        host.record(actor, "key.rotate", `key ${old}`, { before: recordOf(row), after: { id: key.id, retires } });
        return { state: "written", revision: host.incrementRevision(), ...host.propagation(overlapMs) };
      }),
    revokeKey: (id, actor) =>
      host.transaction(() => {
        const rows = sql.exec<KeyRow>(WITH_DESCENDANTS, id).toArray();
        if (rows.length === 0) return { state: "absent" };
        for (const row of rows) {
          sql.exec("DELETE FROM api_keys WHERE id = ?", row.id);
          deleteKeySuspension(host, row.id);
          host.record(actor, "key.revoke", `key ${row.id}`, { before: recordOf(row), after: null });
          host.incrementRevision({ principal: keyPrincipalId(row.id) });
        }
        return { state: "written", revision: host.revision(), ...host.propagation() };
      }),
  };
}

/**
 * Whether this call is a repetition: the caller sends the same key again if the answer was lost. No other caller has
 * that key.
 */
function keyExists({ sql }: TenantHost, { id, hash }: Pick<KeyInsert, "id" | "hash">): boolean {
  return sql.exec("SELECT 1 FROM api_keys WHERE id = ? AND hash = ?", id, hash).toArray().length > 0;
}

/** Why a key cannot be rotated. A `minAgeMs` above 0 means that the key rotates itself. */
function rotationRefusal(
  host: TenantHost,
  { id, retires, created }: KeyRow,
  minAgeMs: number,
): "rotated" | "young" | "suspended" | undefined {
  if (retires !== null) return "rotated";
  if (minAgeMs === 0) return undefined;
  // The key may have been suspended since the caller was admitted. A new key would be another principal, and escape the
  // suspension.
  if (isSuspended(host, id)) return "suspended";
  return Date.parse(created) > host.now() - minAgeMs ? "young" : undefined;
}

function isSuspended({ sql }: TenantHost, id: string): boolean {
  const query = "SELECT 1 FROM suspensions WHERE kind = 'principal' AND name = ?";
  return sql.exec(query, keyPrincipalId(id)).toArray().length > 0;
}

/** How long the record of an ended key, and its last use, can still be looked up. */
const ENDED_KEY_RETENTION_MS = 30 * 86_400_000;
/** When a key ends; NULL if it does not. Must match the index `keys_by_end` exactly. */
const ENDS = "coalesce(min(retires, expires), retires, expires)";

/** Includes keys that a rotation left working for a while. */
function countActiveKeys(host: TenantHost): number {
  const count = (where: string, ...values: number[]) =>
    host.sql.exec<{ keys: number }>(`SELECT count(*) AS keys FROM api_keys ${where}`, ...values).one().keys;
  return count("") - count(`WHERE ${ENDS} <= ?`, host.now());
}

function scheduleKeyPruning(host: TenantHost): void {
  const next = pruneEndedKeys(host);
  if (next !== undefined) host.scheduleAlarm(next);
}

/** The most ended keys that are kept: each rotation leaves one. */
const MAX_ENDED_KEYS = 1000;

/** Returns when the next ended key is to be deleted, in milliseconds since the epoch. */
export function pruneEndedKeys(host: TenantHost): number | undefined {
  const { sql } = host;
  const now = host.now();
  const expired = sql.exec<{ id: string }>(
    `SELECT id FROM api_keys WHERE ${ENDS} <= ? UNION SELECT id FROM
       (SELECT id FROM api_keys WHERE ${ENDS} <= ? ORDER BY ${ENDS} DESC LIMIT -1 OFFSET ${MAX_ENDED_KEYS})`,
    now - ENDED_KEY_RETENTION_MS,
    now,
  );
  for (const { id } of expired.toArray()) {
    // The descendants of a pruned key must still be revoked together with its parent.
    sql.exec("UPDATE api_keys SET parent = (SELECT parent FROM api_keys WHERE id = ?1) WHERE parent = ?1", id);
    sql.exec("DELETE FROM api_keys WHERE id = ?", id);
    deleteKeySuspension(host, id);
  }
  const first = `SELECT min(${ENDS}) AS next FROM api_keys WHERE ${ENDS} IS NOT NULL`;
  const { next } = sql.exec<{ next: number | null }>(first).one();
  return next === null ? undefined : next + ENDED_KEY_RETENTION_MS;
}

/** No caller can be that principal any more, because key ids are not reused. */
function deleteKeySuspension({ sql }: TenantHost, id: string): void {
  sql.exec("DELETE FROM suspensions WHERE kind = 'principal' AND name = ?", keyPrincipalId(id));
}
