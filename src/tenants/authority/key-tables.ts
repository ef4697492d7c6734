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

export interface KeyMethods {
  keys(): readonly KeyRecord[];
  /** `most`: how many keys the tenant may have, retired ones included; null for no limit. */
  addKey(key: KeyInsert, actor: Actor, most?: number | null): WriteResult | { readonly state: "full" };
  /** Adds a key that is like the old one otherwise; the old one works for another `overlapMs` milliseconds. */
  rotateKey(old: string, key: Pick<KeyInsert, "id" | "hash">, overlapMs: number, actor: Actor): WriteResult;
  revokeKey(id: string, actor: Actor): WriteResult;
}

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

export function createKeyMethods(host: TenantHost): KeyMethods {
  const { sql } = host;
  const find = (id: string) => sql.exec<KeyRow>(`SELECT ${COLUMNS} FROM api_keys WHERE id = ?`, id).toArray()[0];
  const insert = (key: KeyInsert) => {
    sql.exec(
      "INSERT INTO api_keys (id, hash, name, scopes, profile, expires, created) VALUES (?, ?, ?, ?, ?, ?, ?)",
      key.id,
      key.hash,
      key.name,
      key.scopes === null ? null : JSON.stringify(key.scopes),
      key.profile,
      key.expires,
      new Date(host.now()).toISOString(),
    );
  };
  return {
    keys: () => sql.exec<KeyRow>(`SELECT ${COLUMNS} FROM api_keys ORDER BY created, id`).toArray().map(recordOf),
    addKey: (key, actor, most = null) =>
      host.transaction(() => {
        if (host.revision() === 0) return { state: "absent" };
        const { keys } = sql.exec<{ keys: number }>("SELECT count(*) AS keys FROM api_keys").one();
        if (most !== null && keys >= most) return { state: "full" };
        insert(key);
        host.record(actor, "key.create", `key ${key.id}`, {
          before: null,
          after: find(key.id) && recordOf(find(key.id) as KeyRow),
        });
        return { state: "written", revision: host.bump(), effectiveAt: host.now() };
      }),
    rotateKey: (old, key, overlapMs, actor) =>
      host.transaction(() => {
        const row = find(old);
        if (!row) return { state: "absent" };
        insert({ ...recordOf(row), ...key });
        const retires = host.now() + overlapMs;
        sql.exec("UPDATE api_keys SET retires = ? WHERE id = ?", retires, old);
        host.record(actor, "key.rotate", `key ${old}`, { before: recordOf(row), after: { id: key.id, retires } });
        return { state: "written", revision: host.bump(), effectiveAt: Math.max(retires, host.effectiveAt()) };
      }),
    revokeKey: (id, actor) =>
      host.transaction(() => {
        const row = find(id);
        if (!row) return { state: "absent" };
        sql.exec("DELETE FROM api_keys WHERE id = ?", id);
        host.record(actor, "key.revoke", `key ${id}`, { before: recordOf(row), after: null });
        const revision = host.bump({ principal: keyPrincipalId(id) });
        return { state: "written", revision, effectiveAt: host.effectiveAt() };
      }),
  };
}
