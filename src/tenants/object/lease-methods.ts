// Leases on a tenant's policy, and the row of a tenant in code. policy-store.ts has the tables.

import type { TenantDocument } from "../document/tenant-document.ts";
import { createTenantUid, UNCHANGED, type TenantUid } from "./tenant-uid.ts";
import { isUnexpired } from "../cache/is-unexpired.ts";
import { createLeaseDelta } from "./lease-delta.ts";
import type { LeaseResponse, LeaseRequest } from "./policy-records.ts";
import type { TenantHost } from "./tenant-host.ts";

export interface LeaseMethods {
  lease(request: LeaseRequest): LeaseResponse;
  /**
   * The base documents have changed, so streams check whether they may continue. Returns how long an isolate may serve
   * the old state, in milliseconds.
   */
  changed(): number;
  /** The sealed secret as it is stored; null: there is no secret of this name. */
  sealedSecret(name: string): string | null;
}

/**
 * The last request that got "unchanged". The same request is answered without reading a row, until something is
 * written.
 */
interface UnchangedLease {
  /** The request and the write count of the object as JSON. */
  readonly request: string;
  readonly leaseMs: number;
  readonly until: number;
}

/** Changes by time alone, such as the order of sealing keys, may reach isolates this much later. */
const UNCHANGED_FOR_MS = 60_000;

export function createLeaseMethods(host: TenantHost): LeaseMethods {
  const rows = createTenantRows(host);
  let unchanged: UnchangedLease | undefined;
  return {
    lease: (request) => {
      const now = host.now();
      const requestJson = JSON.stringify([request, host.writes()]);
      if (requestJson === unchanged?.request && isUnexpired(unchanged.until, UNCHANGED_FOR_MS, now)) {
        host.leases.record(unchanged.leaseMs);
        return UNCHANGED;
      }
      // An isolate that still caches the deleted tenant first learns what became of the name.
      const isEnded = request.version !== null && request.version.created === host.deletion.deletedUid();
      const row = request.inCode && !isEnded ? rows.ensure() : rows.find();
      if (!row) return { state: "absent" };
      const document = JSON.parse(row.effective) as TenantDocument;
      const leaseMs = document.maxStalenessMs ?? request.maxStalenessMs;
      host.leases.record(leaseMs);
      const delta = createLeaseDelta(host, request, row, document);
      if (delta) return delta;
      unchanged = { request: requestJson, leaseMs, until: now + UNCHANGED_FOR_MS };
      return UNCHANGED;
    },
    changed: () => {
      if (rows.find()) host.incrementRevision();
      return host.leftMs();
    },
    sealedSecret: (name) =>
      host.sql.exec<{ sealed: string }>("SELECT sealed FROM secrets WHERE name = ?", name).toArray()[0]?.sealed ?? null,
  };
}

export interface TenantRow {
  [column: string]: SqlStorageValue;
  created: TenantUid;
  revision: number;
  own: string;
  effective: string;
}

export interface TenantRows {
  find(): TenantRow | undefined;
  insert(created: TenantUid, own: TenantDocument, effective: TenantDocument): void;
  /**
   * Creates the row of a tenant in code at its first request. If a tenant of this name was deleted before, that
   * deletion ends here: writes from now on are kept.
   */
  ensure(): TenantRow;
}

export function createTenantRows(host: TenantHost): TenantRows {
  const { sql } = host;
  const find = () => sql.exec<TenantRow>("SELECT * FROM tenant").toArray()[0];
  const insert: TenantRows["insert"] = (created, own, effective) => {
    sql.exec(
      "INSERT INTO tenant (one, created, revision, own, effective) VALUES (1, ?, 1, ?, ?)",
      created,
      JSON.stringify(own),
      JSON.stringify(effective),
    );
  };
  return {
    find,
    insert,
    ensure: () => {
      const row = find();
      if (row && !host.deletion.isClosed()) return row;
      return host.transaction(() => {
        if (!row) insert(createTenantUid(host.now()), {}, {});
        host.deletion.reopen();
        return find() as TenantRow;
      });
    },
  };
}
