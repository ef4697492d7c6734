// The leases on a tenant's policy, and the row of a tenant that code declares. policy-tables.ts has the tables.

import type { TenantDocument } from "../document/tenant-document.ts";
import { newIncarnation, UNCHANGED, type Incarnation } from "./incarnation.ts";
import { lasts } from "../isolate/lasting.ts";
import { newsFor } from "./leases.ts";
import type { LeaseAnswer, LeaseAsk } from "./policy-records.ts";
import type { TenantHost } from "./tenant-host.ts";

export interface LeaseMethods {
  lease(ask: LeaseAsk): LeaseAnswer;
  /**
   * What lies under the document has changed: streams look whether they may go on. Gives how long some isolate may
   * serve what was before, milliseconds.
   */
  changed(): number;
  /** A secret as it is stored, sealed; null: there is none of this name. */
  sealedSecret(name: string): string | null;
}

/** An ask to which nothing was new: the same one is answered without reading a row, as long as nothing is written here. */
interface Told {
  /** Also says how often something was written here before. */
  readonly asked: string;
  readonly leaseMs: number;
  readonly until: number;
}

/** What changes by time alone, as the order of sealing keys, may be told so much later. */
const TOLD_MS = 60_000;

export function leaseMethods(host: TenantHost): LeaseMethods {
  const rows = tenantRows(host);
  let told: Told | undefined;
  return {
    lease: (ask) => {
      const now = host.now();
      const asked = JSON.stringify([ask, host.writes()]);
      if (asked === told?.asked && lasts(told.until, TOLD_MS, now)) {
        host.leases.note(told.leaseMs);
        return UNCHANGED;
      }
      // Who still holds the one that ended here finds out first what became of the name.
      const isEnded = ask.version !== null && ask.version.created === host.closure.incarnation();
      const found = ask.inCode && !isEnded ? rows.ensure() : rows.find();
      if (!found) return { state: "absent" };
      const document = JSON.parse(found.effective) as TenantDocument;
      const leaseMs = document.maxStalenessMs ?? ask.maxStalenessMs;
      host.leases.note(leaseMs);
      const news = newsFor(host, ask, found, document);
      if (news) return news;
      told = { asked, leaseMs, until: now + TOLD_MS };
      return UNCHANGED;
    },
    changed: () => {
      if (rows.find()) host.bump();
      return host.leftMs();
    },
    sealedSecret: (name) =>
      host.sql.exec<{ sealed: string }>("SELECT sealed FROM secrets WHERE name = ?", name).toArray()[0]?.sealed ?? null,
  };
}

export interface TenantRow {
  [column: string]: SqlStorageValue;
  created: Incarnation;
  revision: number;
  own: string;
  effective: string;
}

export interface TenantRows {
  find(): TenantRow | undefined;
  insert(created: Incarnation, own: TenantDocument, effective: TenantDocument): void;
  /**
   * A tenant in code exists without a row until it is first asked for. Where one of this name was deleted before, that
   * one's end is over with it: what is written from now on stays.
   */
  ensure(): TenantRow;
}

export function tenantRows(host: TenantHost): TenantRows {
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
      const found = find();
      if (found && !host.closure.isClosed()) return found;
      return host.transaction(() => {
        if (!found) insert(newIncarnation(host.now()), {}, {});
        host.closure.reopen();
        return find() as TenantRow;
      });
    },
  };
}
