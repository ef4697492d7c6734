// A tenant's policy in its object: the document, suspensions, API keys, secrets, deprecated names, and the leases on
// them. Every write is one transaction with its audit entry, and returns when it is in effect everywhere.

import { auditMigrations, auditPage, pruneAudit } from "./audit-log.ts";
import type { RevocationFilter } from "./changes.ts";
import { directoryOf } from "../directory/directory-stub.ts";
import { retryIfIdempotent } from "../cache/retry-if-idempotent.ts";
import { withTimeout } from "../cache/with-timeout.ts";
import { blocksIn, blocksVersion, createBlockMethods, storeBlocks } from "./block-methods.ts";
import type { TenantDocument } from "../document/tenant-document.ts";
import { createLeaseMethods, createTenantRows, type TenantRow } from "./lease-methods.ts";
import { deprecatedNamesIn, suspensionsIn } from "./lease-delta.ts";
import { createBackupMethods } from "./backup-methods.ts";
import { createKeyMethods, pruneEndedKeys } from "./key-methods.ts";
import { createTenantUid, type TenantUid } from "./tenant-uid.ts";
import { policyRpc, type DocumentWrite, type PolicyMethods, type Suspender } from "./policy-rpc.ts";
import type { BlockList, LeaseResponse, TenantRecord, WriteResult } from "./policy-records.ts";
import { createSecretMethods } from "./secret-methods.ts";
import { sectionsIn } from "./section-hash-store.ts";
import type { StoreHost, Store } from "./store.ts";
import type { TenantHost } from "./tenant-host.ts";
import type { Suspension } from "../document/visibility.ts";

export const policyStore: Store<PolicyMethods, TenantHost> = {
  ...policyRpc,
  migrations: [
    "CREATE TABLE tenant (one INTEGER PRIMARY KEY CHECK (one = 1), created TEXT NOT NULL, revision INTEGER NOT NULL, own TEXT NOT NULL, effective TEXT NOT NULL)",
    "CREATE TABLE suspensions (kind TEXT NOT NULL, name TEXT NOT NULL, note TEXT NOT NULL, since TEXT NOT NULL, by_operator INTEGER NOT NULL, PRIMARY KEY (kind, name)) WITHOUT ROWID",
    `CREATE TABLE deprecated_names (kind TEXT NOT NULL, profile TEXT NOT NULL, name TEXT NOT NULL, target TEXT NOT NULL,
       successor TEXT NOT NULL, until INTEGER NOT NULL, PRIMARY KEY (kind, profile, name)) WITHOUT ROWID`,
    `CREATE TABLE api_keys (id TEXT PRIMARY KEY, hash TEXT NOT NULL UNIQUE, name TEXT NOT NULL, scopes TEXT, profile TEXT,
       expires INTEGER, created TEXT NOT NULL, last_used TEXT, retires INTEGER, parent TEXT)`,
    `CREATE TABLE audit (sequence INTEGER PRIMARY KEY AUTOINCREMENT, at TEXT NOT NULL, actor TEXT NOT NULL,
       action TEXT NOT NULL, target TEXT NOT NULL, before TEXT NOT NULL, after TEXT NOT NULL)`,
    "CREATE TABLE leases (one INTEGER PRIMARY KEY CHECK (one = 1), longest INTEGER NOT NULL)",
    "CREATE TABLE secrets (name TEXT PRIMARY KEY, sealed TEXT NOT NULL, updated TEXT NOT NULL) WITHOUT ROWID",
    ...auditMigrations,
    "CREATE INDEX keys_by_parent ON api_keys (parent) WHERE parent IS NOT NULL",
    "CREATE INDEX keys_by_age ON api_keys (created, id)",
    `CREATE INDEX keys_by_end ON api_keys (coalesce(min(retires, expires), retires, expires))
       WHERE coalesce(min(retires, expires), retires, expires) IS NOT NULL`,
    // Tools that are blocked in every tenant, as the last rollout brought them.
    "CREATE TABLE blocks (name TEXT PRIMARY KEY, note TEXT NOT NULL, since TEXT NOT NULL) WITHOUT ROWID",
    "CREATE TABLE blocks_version (one INTEGER PRIMARY KEY CHECK (one = 1), version INTEGER NOT NULL)",
    "CREATE TABLE last_resume (one INTEGER PRIMARY KEY CHECK (one = 1), version INTEGER NOT NULL)",
  ],
  open: (host) => ({ methods: methodsOf(host), alarm: async () => prune(host) }),
};

/** Returns when the next entry or key is to be deleted. */
function prune(host: TenantHost): number | undefined {
  const times = [pruneAudit(host), pruneEndedKeys(host)].filter((time) => time !== undefined);
  return times.length === 0 ? undefined : Math.min(...times);
}

function methodsOf(host: TenantHost): PolicyMethods {
  const { sql } = host;
  const rows = createTenantRows(host);
  const leases = createLeaseMethods(host);
  let isInDirectory = false;
  return {
    ...leases,
    ...createKeyMethods(host),
    ...createBackupMethods(host),
    ...createBlockMethods(host),
    ...createSecretMethods(host),
    lease: (request) => {
      // Most leases read no row.
      isInDirectory ||= request.inCode && blocksVersion(sql) !== undefined;
      const isEnded = request.version !== null && request.version.created === host.deletion.deletedUid();
      if (!request.inCode || (isInDirectory && !host.deletion.isClosed()) || isEnded) return leases.lease(request);
      // Over RPC every answer is a promise.
      return declareInDirectory(host).then(() => leases.lease(request)) as unknown as LeaseResponse;
    },
    create: ({ created = createTenantUid(host.now()), own, effective, blocks = NO_BLOCKS, actor, action }) =>
      host.transaction(() => {
        const row = rows.find();
        if (row) return { state: "conflict", revision: row.revision };
        if (host.deletion.deletedUid() === created) return { state: "absent" };
        storeBlocks(host, blocks);
        rows.insert(created, own, effective);
        host.deletion.reopen();
        host.record(actor, action, "tenant", { before: null, after: own });
        return { state: "written", revision: 1, leftMs: 0 };
      }),
    write: (write) =>
      host.transaction(() => {
        const row = rows.find();
        return row ? writeDocument(host, write, row) : { state: "absent" };
      }),
    tenantUid: (inCode) => {
      if (inCode) rows.ensure();
      return host.created() ?? host.deletion.deletedUid() ?? null;
    },
    read: (inCode) => {
      if (inCode) rows.ensure();
      const row = rows.find();
      return row && recordOf(host, row);
    },
    fence: (revision) =>
      host.transaction(() => (host.revision() === revision ? host.incrementRevision() : host.revision())),
    suspend: (suspension, by) => host.transaction(() => suspend(host, suspension, by)),
    suspendLate: (note, by, { version, inCode }) =>
      host.transaction(() => {
        if (inCode) rows.ensure();
        const revision = host.revision();
        const isSuspended = suspensionOf(sql, "tenant", "") !== undefined;
        if (isSuspended || version <= lastResumeVersion(sql)) return { state: "unchanged", revision };
        return suspend(host, { kind: "tenant", name: "", note }, by) as WriteResult;
      }),
    resume: (kind, name, by, version) =>
      host.transaction(() => {
        if (version !== undefined) sql.exec("INSERT OR REPLACE INTO last_resume (one, version) VALUES (1, ?)", version);
        return resume(host, { kind, name }, by);
      }),
    audit: ({ before, limit }) => auditPage(sql, before, limit),
    leftMs: () => host.leftMs(),
    close: (uid) => {
      closeTenant(host, uid);
      return host.leftMs();
    },
    erase: async () => {
      if (!rows.find()) await host.erase();
    },
  };
}

const NO_BLOCKS: BlockList = { version: 0, blocks: [] };

/** A tenant in code is added to the directory before its first lease, so that rollouts find it. */
async function declareInDirectory(host: TenantHost): Promise<void> {
  const { env, tenant } = host;
  const blocks = await withTimeout(retryIfIdempotent(() => directoryOf(env as object, tenant).declare(tenant)));
  host.transaction(() => storeBlocks(host, blocks));
}

function lastResumeVersion(sql: SqlStorage): number {
  return sql.exec<{ version: number }>("SELECT version FROM last_resume").toArray()[0]?.version ?? 0;
}

function recordOf(host: StoreHost, row: TenantRow): TenantRecord {
  return {
    id: host.tenant,
    created: row.created,
    revision: row.revision,
    own: JSON.parse(row.own) as TenantDocument,
    effective: JSON.parse(row.effective) as TenantDocument,
    suspensions: suspensionsIn(host.sql),
    blocks: { version: blocksVersion(host.sql) ?? 0, blocks: blocksIn(host.sql) },
    deprecatedNames: deprecatedNamesIn(host.sql),
    operatorSuspensions: host.sql
      .exec<{ kind: Suspension["kind"]; name: string }>("SELECT kind, name FROM suspensions WHERE by_operator = 1")
      .toArray(),
    sections: sectionsIn(host.sql),
  };
}

/** Bounded because every lease carries them. Above the bound, the names that end first are deleted. */
export const MAX_DEPRECATED_NAMES = 2000;

function writeDocument(host: TenantHost, write: DocumentWrite, row: TenantRow): WriteResult {
  const { sql } = host;
  if (write.ifRevision !== null && write.ifRevision !== row.revision) {
    return { state: "conflict", revision: row.revision };
  }
  const own = JSON.stringify(write.own);
  const effective = JSON.stringify(write.effective);
  if (own === row.own && effective === row.effective) return { state: "unchanged", revision: row.revision };
  sql.exec("UPDATE tenant SET own = ?, effective = ?", own, effective);
  sql.exec("DELETE FROM deprecated_names WHERE until < ?", host.now());
  for (const { kind, profile, name, target, successor, until } of write.deprecatedNames) {
    sql.exec(
      "INSERT OR REPLACE INTO deprecated_names (kind, profile, name, target, successor, until) VALUES (?, ?, ?, ?, ?, ?)",
      kind,
      profile ?? "",
      name,
      target,
      successor,
      until,
    );
  }
  sql.exec(
    "DELETE FROM deprecated_names WHERE (kind, profile, name) IN (SELECT kind, profile, name FROM deprecated_names ORDER BY until DESC LIMIT -1 OFFSET ?)",
    MAX_DEPRECATED_NAMES,
  );
  host.record(write.actor, write.action, "document", { before: JSON.parse(row.own), after: write.own });
  return { state: "written", revision: host.incrementRevision(), ...host.propagation() };
}

function closeTenant(host: TenantHost, uid: TenantUid): void {
  host.transaction(() => {
    for (const table of ["tenant", "api_keys", "secrets"]) host.sql.exec(`DELETE FROM ${table}`);
  });
  host.deletion.close(uid);
  host.changes.policy(Number.MAX_SAFE_INTEGER, host.effectiveAt(), {});
}

interface SuspensionRow {
  [column: string]: SqlStorageValue;
  note: string;
  since: string;
  by_operator: number;
}

function suspensionOf(sql: SqlStorage, kind: string, name: string): SuspensionRow | undefined {
  const query = "SELECT note, since, by_operator FROM suspensions WHERE kind = ? AND name = ?";
  return sql.exec<SuspensionRow>(query, kind, name).toArray()[0];
}

/**
 * Bounded because every lease carries them. Suspensions by operators do not count: an emergency stop is never refused.
 */
export const MAX_SUSPENSIONS = 1000;

function hasMaxSuspensions(sql: SqlStorage): boolean {
  const query = "SELECT count(*) AS own FROM suspensions WHERE by_operator = 0";
  return sql.exec<{ own: number }>(query).one().own >= MAX_SUSPENSIONS;
}

function isSameSuspension(
  row: { readonly note: string; readonly by_operator: number },
  note: string,
  { isTenantAdmin }: Suspender,
): boolean {
  // An operator's suspension stays an operator's, with its note to callers.
  if (isTenantAdmin && row.by_operator === 1) return true;
  // A repetition, perhaps because the answer was lost.
  return row.note === note && (row.by_operator === 0) === isTenantAdmin;
}

function suspend(
  host: TenantHost,
  suspension: Omit<Suspension, "since">,
  by: Suspender,
): ReturnType<PolicyMethods["suspend"]> {
  const { kind, name, note } = suspension;
  const revision = host.revision();
  if (revision === 0) return { state: "absent" };
  const row = suspensionOf(host.sql, kind, name);
  if (row && isSameSuspension(row, note, by)) return { state: "unchanged", revision };
  if (!row && by.isTenantAdmin && hasMaxSuspensions(host.sql)) return { state: "full" };
  const before = row ? { kind, name, note: row.note, since: row.since } : null;
  host.sql.exec(
    "INSERT OR REPLACE INTO suspensions (kind, name, note, since, by_operator) VALUES (?, ?, ?, ?, ?)",
    kind,
    name,
    note,
    new Date(host.now()).toISOString(),
    by.isTenantAdmin ? 0 : 1,
  );
  host.record(by, "suspend", `${kind} ${name}`, { before, after: { note } });
  // The alarm syncs the directory: directory-sync-store.ts.
  if (kind === "tenant") host.scheduleAlarm(host.now());
  return { state: "written", revision: host.incrementRevision(revocationFilterOf(suspension)), ...host.propagation() };
}

function resume(
  host: TenantHost,
  { kind, name }: Pick<Suspension, "kind" | "name">,
  by: Suspender,
): ReturnType<PolicyMethods["resume"]> {
  const before = suspensionOf(host.sql, kind, name);
  if (!before) return { state: "unchanged", revision: host.revision() };
  if (before.by_operator === 1 && by.isTenantAdmin) return { state: "forbidden" };
  host.sql.exec("DELETE FROM suspensions WHERE kind = ? AND name = ?", kind, name);
  const { note, since } = before;
  host.record(by, "resume", `${kind} ${name}`, { before: { kind, name, note, since }, after: null });
  if (kind === "tenant") host.scheduleAlarm(host.now());
  return { state: "written", revision: host.incrementRevision(), ...host.propagation() };
}

/** The streams that a suspension ends. A suspended tool ends none. */
function revocationFilterOf({ kind, name }: Pick<Suspension, "kind" | "name">): RevocationFilter | undefined {
  if (kind === "tenant") return {};
  if (kind === "tool") return undefined;
  return kind === "principal" ? { principal: name } : { profile: name };
}
