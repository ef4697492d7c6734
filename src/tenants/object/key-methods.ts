// Owns a tenant's API keys in its object: making, rotating with overlap, and revoking them, each with its audit entry.

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
  /** How many keys the tenant may have; null for no limit. */
  readonly maxKeys: number | null;
  /** Of a key that is rotated with itself: how old it must be, milliseconds. It must not be suspended, either. */
  readonly minAgeMs?: number;
}

/** After which key, of those in the order in which they were made; absent: from the first on. */
export interface KeyPage {
  readonly after?: Pick<KeyRecord, "created" | "id"> | undefined;
  readonly limit: number;
}

export interface KeyMethods {
  keyPage(page: KeyPage): readonly KeyRecord[];
  key(id: string): KeyRecord | undefined;
  countKeys(): number;
  /** `most`: how many keys the tenant may have, retired ones included; null for no limit. */
  addKey(key: KeyInsert, actor: Actor, maxKeys?: number | null): WriteResult | { readonly state: "full" };
  /**
   * The old key goes on working for `overlapMs`. "full": with it the tenant would have more than one key beyond its limit;
   * one is what a rotation needs where every key is taken. Of two who rotate the same key at once one is told "rotated".
   */
  rotateKey(
    rotation: Rotation,
    actor: Actor,
  ): WriteResult | { readonly state: "full" | "rotated" | "young" | "suspended" };
  /** With it go the keys that were made of it by themselves. */
  revokeKey(id: string, actor: Actor): WriteResult;
}

/** Where nobody set a limit. */
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

/** `parent`: the key that made it of itself. */
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

/** The key, and all that were made of it by themselves: whoever stole a key may have rotated it. */
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
    countKeys: () => countKeys(host),
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

/** Whoever makes a key asks again with the same, where the answer was lost: nobody else has it. */
function keyExists({ sql }: TenantHost, { id, hash }: Pick<KeyInsert, "id" | "hash">): boolean {
  return sql.exec("SELECT 1 FROM api_keys WHERE id = ? AND hash = ?", id, hash).toArray().length > 0;
}

/** Why a key cannot be rotated; from `leastAgeMs` on with itself. */
function rotationRefusal(
  host: TenantHost,
  { id, retires, created }: KeyRow,
  minAgeMs: number,
): "rotated" | "young" | "suspended" | undefined {
  if (retires !== null) return "rotated";
  if (minAgeMs === 0) return undefined;
  // It may have been, since whoever has the key was let in: the new one is another principal.
  if (isSuspended(host, id)) return "suspended";
  return Date.parse(created) > host.now() - minAgeMs ? "young" : undefined;
}

function isSuspended({ sql }: TenantHost, id: string): boolean {
  const query = "SELECT 1 FROM suspensions WHERE kind = 'principal' AND name = ?";
  return sql.exec(query, keyPrincipalId(id)).toArray().length > 0;
}

/** How long what a key was and when it was last used can still be looked up. */
const ENDED_KEY_RETENTION_MS = 30 * 86_400_000;
/** When a key ends: NULL where it does not. As the index `keys_by_end` has it, to the letter. */
const ENDS = "coalesce(min(retires, expires), retires, expires)";

function countKeys({ sql }: TenantHost): number {
  return sql.exec<{ keys: number }>("SELECT count(*) AS keys FROM api_keys").one().keys;
}

/** Those that rotation left working for a while are among them. */
function countActiveKeys(host: TenantHost): number {
  const query = `SELECT count(*) AS ended FROM api_keys WHERE ${ENDS} <= ?`;
  return countKeys(host) - host.sql.exec<{ ended: number }>(query, host.now()).one().ended;
}

function scheduleKeyPruning(host: TenantHost): void {
  const next = pruneEndedKeys(host);
  if (next !== undefined) host.scheduleAlarm(next);
}

/** Of those that ended, the last so many at most: a key that is rotated leaves one each time. */
const MAX_ENDED_KEYS = 1000;

/** Gives when the next one that ended, or will, is to be forgotten; milliseconds since the epoch. */
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
    // What it made of itself is still revoked with the key that made it.
    sql.exec("UPDATE api_keys SET parent = (SELECT parent FROM api_keys WHERE id = ?1) WHERE parent = ?1", id);
    sql.exec("DELETE FROM api_keys WHERE id = ?", id);
    deleteKeySuspension(host, id);
  }
  const first = `SELECT min(${ENDS}) AS next FROM api_keys WHERE ${ENDS} IS NOT NULL`;
  const { next } = sql.exec<{ next: number | null }>(first).one();
  return next === null ? undefined : next + ENDED_KEY_RETENTION_MS;
}

/** Nobody can be that principal any more: no other key gets the id. */
function deleteKeySuspension({ sql }: TenantHost, id: string): void {
  sql.exec("DELETE FROM suspensions WHERE kind = 'principal' AND name = ?", keyPrincipalId(id));
}
