// The leases on a tenant's policy, and the row of a tenant that code declares. policy-tables.ts has the tables.

import type { TenantDocument } from "../document/tenant-document.ts";
import { createTenantUid, UNCHANGED, type TenantUid } from "./tenant-uid.ts";
import { isUnexpired } from "../cache/is-unexpired.ts";
import { createLeaseDelta } from "./lease-delta.ts";
import type { LeaseResponse, LeaseRequest } from "./policy-records.ts";
import type { TenantHost } from "./tenant-host.ts";

export interface LeaseMethods {
  lease(request: LeaseRequest): LeaseResponse;
  /**
   * What lies under the document has changed: streams look whether they may go on. Gives how long some isolate may
   * serve what was before, milliseconds.
   */
  changed(): number;
  /** A secret as it is stored, sealed; null: there is none of this name. */
  sealedSecret(name: string): string | null;
}

/** An ask to which nothing was new: the same one is answered without reading a row, as long as nothing is written here. */
interface UnchangedLease {
  /** Also says how often something was written here before. */
  readonly request: string;
  readonly leaseMs: number;
  readonly until: number;
}

/** What changes by time alone, as the order of sealing keys, may be told so much later. */
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
      // Who still holds the one that ended here finds out first what became of the name.
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
   * A tenant in code exists without a row until it is first asked for. Where one of this name was deleted before, that
   * one's end is over with it: what is written from now on stays.
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
