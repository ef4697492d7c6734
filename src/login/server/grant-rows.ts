// Owns finding and ending grants in a tenant's object. What ended is told to every Worker as a key that was revoked is.

import type { Actor, WriteResult } from "../../tenants/authority/policy-records.ts";
import type { TenantHost } from "../../tenants/authority/tenant-host.ts";
import { grantIn, type GrantRow } from "./login-schema.ts";

/** Its code is good for nothing without it, and is deleted in its time. */
const OF_A_GRANT = ["login_access", "login_refresh"] as const;
/** Beyond so many, streams are ended with those of everybody else, who come back, and the audit log names no more. */
const MOST_NAMED = 100;

type Bound = string | number;

/** Those that have not ended. `where` is ours, and what anybody says is bound. */
export function keptGrants(host: TenantHost, where: string, ...by: readonly Bound[]): GrantRow[] {
  const now = host.now();
  const found = host.sql.exec<GrantRow>(`SELECT * FROM login_grants WHERE ${where}`, ...by).toArray();
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
  return { state: "written", revision, effectiveAt: host.effectiveAt() };
}

/** All that a client was granted, by whomever: perhaps by a whole company. Call it within a transaction. */
export function endClient(host: TenantHost, client: string, actor: Actor): WriteResult {
  const { sql } = host;
  for (const table of OF_A_GRANT) {
    sql.exec(`DELETE FROM ${table} WHERE grant_id IN (SELECT id FROM login_grants WHERE client = ?)`, client);
  }
  const gone = "DELETE FROM login_grants WHERE client = ? RETURNING id, principal";
  const ended = sql.exec<{ id: string; principal: string }>(gone, client).toArray();
  const people = new Set(ended.map(({ principal }) => principal));
  const { rowsWritten } = sql.exec("DELETE FROM login_clients WHERE id = ?", client);
  if (rowsWritten === 0 && people.size === 0) return { state: "absent" };
  const before = { client, people: people.size };
  // More would leave no room for what else was done.
  for (const { id, principal } of ended.slice(0, MOST_NAMED)) {
    host.record(actor, "grant.end", `grant ${id}`, { before: { client, principal }, after: null });
  }
  host.record(actor, "login-client.remove", `login-client ${client}`, { before, after: null });
  let revision = host.revision();
  if (people.size > MOST_NAMED) revision = host.bump({});
  else for (const principal of people) revision = host.bump({ principal });
  return { state: "written", revision, effectiveAt: people.size === 0 ? host.now() : host.effectiveAt() };
}
