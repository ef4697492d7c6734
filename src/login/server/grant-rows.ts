// Owns finding and ending grants in a tenant's object. What ended is told to every Worker as a key that was revoked is.

import type { Actor, WriteResult } from "../../tenants/object/policy-records.ts";
import type { TenantHost } from "../../tenants/object/tenant-host.ts";
import { toGrant, type GrantRow } from "./login-records.ts";

/** Its code is good for nothing without it, and is deleted in its time. */
const GRANT_TABLES = ["login_access", "login_refresh"] as const;
/** Beyond so many, streams are ended with those of everybody else, who come back, and the audit log names no more. */
const MAX_AUDITED = 100;

type Bound = string | number;

/** Those that have not ended, with their clients either. `where` is ours, and what anybody says is bound. */
export function findGrants(host: TenantHost, where: string, ...bindings: readonly Bound[]): GrantRow[] {
  const now = host.now();
  const rows = host.sql.exec<GrantRow>(`SELECT * FROM login_kept WHERE ${where}`, ...bindings).toArray();
  return rows.filter(({ expires }) => now < expires);
}

export function findGrant(host: TenantHost, where: string, ...bindings: readonly Bound[]): GrantRow | undefined {
  return findGrants(host, where, ...bindings)[0];
}

/** `closes`: whether streams of its people end now. Call it within a transaction. */
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
 * All that a client was granted, by whomever: perhaps by a whole company. It is good for nothing from now on, and its rows
 * are deleted by and by (`login_removed`): leases wait for this. Call it within a transaction.
 */
export function endClient(host: TenantHost, client: string, actor: Actor): WriteResult {
  const { sql } = host;
  const fromClient = "FROM login_kept WHERE client = ?";
  const { grants, newest } = sql
    .exec<{ grants: number; newest: number | null }>(
      `SELECT count(*) AS grants, max(created) AS newest ${fromClient}`,
      client,
    )
    .one();
  const audited = sql.exec<GrantRow>(`SELECT id, principal ${fromClient} LIMIT ?`, client, MAX_AUDITED).toArray();
  const { rowsWritten } = sql.exec("DELETE FROM login_clients WHERE id = ?", client);
  if (rowsWritten === 0 && newest === null) return { state: "absent" };
  // More would leave no room for what else was done.
  for (const { id, principal } of audited) {
    host.record(actor, "grant.end", `grant ${id}`, { before: { client, principal }, after: null });
  }
  host.record(actor, "login-client.remove", `login-client ${client}`, { before: { client, grants }, after: null });
  if (newest === null) return { state: "written", revision: host.revision(), leftMs: 0 };
  // Not before the newest: a clock that was set back ends all of them, too.
  const removed = "INSERT OR REPLACE INTO login_removed (client, at) VALUES (?, ?)";
  sql.exec(removed, client, Math.max(host.now(), newest));
  host.scheduleAlarm(host.now());
  let revision = 0;
  for (const streamFilter of grants > MAX_AUDITED ? [{}] : audited.map(({ principal }) => ({ principal }))) {
    revision = host.incrementRevision(streamFilter);
  }
  return { state: "written", revision, ...host.propagation() };
}

/** When a grant is made that is given now: after the end of those that its client had before. */
export function nextGrantTime(host: TenantHost, client: string): number {
  const [removed] = host.sql.exec<{ at: number }>("SELECT at FROM login_removed WHERE client = ?", client).toArray();
  return Math.max(host.now(), removed ? removed.at + 1 : 0);
}

/** Deletes some of those that ended; gives how many, or fewer than `most` where none is left. */
export function deleteEndedGrants({ sql }: TenantHost, now: number, limit: number): number {
  const ended = `SELECT id FROM login_grants WHERE expires <= ? UNION ALL
    SELECT g.id FROM login_removed AS r CROSS JOIN login_grants AS g ON g.client = r.client AND g.created <= r.at LIMIT ?`;
  const rows = sql.exec<{ id: string }>(ended, now, limit).toArray();
  for (const { id } of rows) {
    sql.exec("DELETE FROM login_refresh WHERE grant_id = ?", id);
    sql.exec("DELETE FROM login_grants WHERE id = ?", id);
  }
  if (rows.length < limit) sql.exec("DELETE FROM login_removed");
  return rows.length;
}
