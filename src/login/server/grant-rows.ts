// Owns finding and ending grants in a tenant's object. What ended is told to every Worker as a key that was revoked is.

import type { Actor, WriteResult } from "../../tenants/authority/policy-records.ts";
import type { TenantHost } from "../../tenants/authority/tenant-host.ts";
import { grantIn, type GrantRow } from "./login-records.ts";

/** Its code is good for nothing without it, and is deleted in its time. */
const OF_A_GRANT = ["login_access", "login_refresh"] as const;
/** Beyond so many, streams are ended with those of everybody else, who come back, and the audit log names no more. */
const MOST_NAMED = 100;

type Bound = string | number;

/** Those that have not ended, with their clients either. `where` is ours, and what anybody says is bound. */
export function keptGrants(host: TenantHost, where: string, ...by: readonly Bound[]): GrantRow[] {
  const now = host.now();
  const found = host.sql.exec<GrantRow>(`SELECT * FROM login_kept WHERE ${where}`, ...by).toArray();
  return found.filter(({ expires }) => now < expires);
}

export function grantWhere(host: TenantHost, where: string, ...by: readonly Bound[]): GrantRow | undefined {
  return keptGrants(host, where, ...by)[0];
}

/** `closes`: whether streams of its people end now. Call it within a transaction. */
export function endGrants(host: TenantHost, ended: readonly GrantRow[], actor: Actor, closes = true): WriteResult {
  if (ended.length === 0) return { state: "absent" };
  let revision = 0;
  const people = new Set<string>();
  for (const row of ended) {
    host.sql.exec("DELETE FROM login_grants WHERE id = ?", row.id);
    for (const table of OF_A_GRANT) host.sql.exec(`DELETE FROM ${table} WHERE grant_id = ?`, row.id);
    const { id, client, principal, resource, scopes } = grantIn(row);
    people.add(principal);
    const before = { client: client.id, principal, resource, scopes };
    host.record(actor, "grant.end", `grant ${id}`, { before, after: null });
  }
  if (!closes) revision = host.bump();
  else for (const principal of people) revision = host.bump({ principal });
  return { state: "written", revision, ...host.inForce() };
}

/**
 * All that a client was granted, by whomever: perhaps by a whole company. It is good for nothing from now on, and its rows
 * are deleted by and by (`login_removed`): leases wait for this. Call it within a transaction.
 */
export function endClient(host: TenantHost, client: string, actor: Actor): WriteResult {
  const { sql } = host;
  const theirs = "FROM login_kept WHERE client = ?";
  const { grants, newest } = sql
    .exec<{ grants: number; newest: number | null }>(
      `SELECT count(*) AS grants, max(created) AS newest ${theirs}`,
      client,
    )
    .one();
  const named = sql.exec<GrantRow>(`SELECT id, principal ${theirs} LIMIT ?`, client, MOST_NAMED).toArray();
  const { rowsWritten } = sql.exec("DELETE FROM login_clients WHERE id = ?", client);
  if (rowsWritten === 0 && newest === null) return { state: "absent" };
  // More would leave no room for what else was done.
  for (const { id, principal } of named) {
    host.record(actor, "grant.end", `grant ${id}`, { before: { client, principal }, after: null });
  }
  host.record(actor, "login-client.remove", `login-client ${client}`, { before: { client, grants }, after: null });
  if (newest === null) return { state: "written", revision: host.revision(), leftMs: 0 };
  // Not before the newest: a clock that was set back ends all of them, too.
  const removed = "INSERT OR REPLACE INTO login_removed (client, at) VALUES (?, ?)";
  sql.exec(removed, client, Math.max(host.now(), newest));
  host.wakeAt(host.now());
  let revision = 0;
  for (const closed of grants > MOST_NAMED ? [{}] : named.map(({ principal }) => ({ principal }))) {
    revision = host.bump(closed);
  }
  return { state: "written", revision, ...host.inForce() };
}

/** When a grant is made that is given now: after the end of those that its client had before. */
export function createdNow(host: TenantHost, client: string): number {
  const [removed] = host.sql.exec<{ at: number }>("SELECT at FROM login_removed WHERE client = ?", client).toArray();
  return Math.max(host.now(), removed ? removed.at + 1 : 0);
}

/** Deletes some of those that ended; gives how many, or fewer than `most` where none is left. */
export function deleteEnded({ sql }: TenantHost, now: number, most: number): number {
  const ended = `SELECT id FROM login_grants WHERE expires <= ? UNION ALL
    SELECT g.id FROM login_removed AS r CROSS JOIN login_grants AS g ON g.client = r.client AND g.created <= r.at LIMIT ?`;
  const gone = sql.exec<{ id: string }>(ended, now, most).toArray();
  for (const { id } of gone) {
    sql.exec("DELETE FROM login_refresh WHERE grant_id = ?", id);
    sql.exec("DELETE FROM login_grants WHERE id = ?", id);
  }
  if (gone.length < most) sql.exec("DELETE FROM login_removed");
  return gone.length;
}
