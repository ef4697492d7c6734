// Finds and ends grants in the tenant object. The end of a grant reaches every Worker in the same way as the revocation
// of a key.

import type { Actor, WriteResult } from "../../tenants/object/policy-records.ts";
import type { TenantHost } from "../../tenants/object/tenant-host.ts";
import { toGrant, type GrantRow } from "./login-records.ts";

/** The code is useless without the grant, and is deleted when it expires. */
const GRANT_TABLES = ["login_access_tokens", "login_refresh_tokens"] as const;
/**
 * With more grants, all streams of the tenant are closed, whose clients reconnect, and the audit log names no more than
 * these.
 */
const MAX_AUDITED = 100;

type Bound = string | number;

/**
 * Grants that have not ended, and whose client was not removed. `where` is trusted SQL; all input goes into `bindings`.
 */
export function findGrants(host: TenantHost, where: string, ...bindings: readonly Bound[]): GrantRow[] {
  const now = host.now();
  const rows = host.sql.exec<GrantRow>(`SELECT * FROM login_active_grants WHERE ${where}`, ...bindings).toArray();
  return rows.filter(({ expires }) => now < expires);
}

export function findGrant(host: TenantHost, where: string, ...bindings: readonly Bound[]): GrantRow | undefined {
  return findGrants(host, where, ...bindings)[0];
}

/** `closesStreams`: whether the streams of these people close now. Call it within a transaction. */
export function endGrants(
  host: TenantHost,
  rows: readonly GrantRow[],
  actor: Actor,
  closesStreams = true,
): WriteResult {
  if (rows.length === 0) return { state: "absent" };
  let revision = 0;
  const people = new Set<string>();
  for (const row of rows) {
    host.sql.exec("DELETE FROM login_grants WHERE id = ?", row.id);
    for (const table of GRANT_TABLES) host.sql.exec(`DELETE FROM ${table} WHERE grant_id = ?`, row.id);
    const { id, client, principal, resource, scopes } = toGrant(row);
    people.add(principal);
    const before = { client: client.id, principal, resource, scopes };
    host.record(actor, "grant.end", `grant ${id}`, { before, after: null });
  }
  if (!closesStreams) revision = host.incrementRevision();
  else for (const principal of people) revision = host.incrementRevision({ principal });
  return { state: "written", revision, ...host.propagation() };
}

/**
 * Ends all grants of a client, perhaps those of a whole company. They are invalid at once and their rows are deleted
 * later (`login_removed_clients`), because leases wait for this transaction. Call it within a transaction.
 */
export function endClient(host: TenantHost, client: string, actor: Actor): WriteResult {
  const { sql } = host;
  const fromClient = "FROM login_active_grants WHERE client = ?";
  const { grants, newest } = sql
    .exec<{ grants: number; newest: number | null }>(
      `SELECT count(*) AS grants, max(created) AS newest ${fromClient}`,
      client,
    )
    .one();
  const audited = sql.exec<GrantRow>(`SELECT id, principal ${fromClient} LIMIT ?`, client, MAX_AUDITED).toArray();
  const { rowsWritten } = sql.exec("DELETE FROM login_clients WHERE id = ?", client);
  if (rowsWritten === 0 && newest === null) return { state: "absent" };
  // More entries would push others out of the audit log.
  for (const { id, principal } of audited) {
    host.record(actor, "grant.end", `grant ${id}`, { before: { client, principal }, after: null });
  }
  host.record(actor, "login-client.remove", `login-client ${client}`, { before: { client, grants }, after: null });
  if (newest === null) return { state: "written", revision: host.revision(), leftMs: 0 };
  // Not earlier than the newest grant, so that a clock that was set back does not spare any.
  const removed = "INSERT OR REPLACE INTO login_removed_clients (client, removed_at) VALUES (?, ?)";
  sql.exec(removed, client, Math.max(host.now(), newest));
  host.scheduleAlarm(host.now());
  let revision = 0;
  for (const streamFilter of grants > MAX_AUDITED ? [{}] : audited.map(({ principal }) => ({ principal }))) {
    revision = host.incrementRevision(streamFilter);
  }
  return { state: "written", revision, ...host.propagation() };
}

/** Creation time for a new grant: later than the removal of the same client. */
export function nextGrantTime(host: TenantHost, client: string): number {
  const [removed] = host.sql
    .exec<{ removed_at: number }>("SELECT removed_at FROM login_removed_clients WHERE client = ?", client)
    .toArray();
  return Math.max(host.now(), removed ? removed.removed_at + 1 : 0);
}

/** Deletes some ended grants. Returns their number; fewer than `limit` means that none is left. */
export function deleteEndedGrants({ sql }: TenantHost, now: number, limit: number): number {
  const ended = `SELECT id FROM login_grants WHERE expires <= ? UNION ALL
    SELECT g.id FROM login_removed_clients AS r CROSS JOIN login_grants AS g ON g.client = r.client AND g.created <= r.removed_at LIMIT ?`;
  const rows = sql.exec<{ id: string }>(ended, now, limit).toArray();
  for (const { id } of rows) {
    sql.exec("DELETE FROM login_refresh_tokens WHERE grant_id = ?", id);
    sql.exec("DELETE FROM login_grants WHERE id = ?", id);
  }
  if (rows.length < limit) sql.exec("DELETE FROM login_removed_clients");
  return rows.length;
}
