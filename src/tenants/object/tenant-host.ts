// Owns what every domain with tables in a tenant's object may use beyond its rows: making leases learn of a change, and the
// audit log. So no domain reaches into another's tables.

import type { TenantDocument } from "../document/tenant-document.ts";
import { recordAudit } from "./audit-log.ts";
import type { RevocationFilter } from "./changes.ts";
import { trackKeyUses, type KeyUses } from "./key-uses.ts";
import { trackLeases, type LeaseTracker } from "./lease-tracker.ts";
import { storageKey, type TenantUid } from "./tenant-uid.ts";
import type { Actor, Propagation, KeyGrant } from "./policy-records.ts";
import type { TenantEvent } from "./tenant-events.ts";
import { setSection } from "./section-hash-store.ts";
import type { StoreHost } from "./store.ts";

interface DatedAuditChange {
  readonly before: unknown;
  readonly after: unknown;
  /** When it was, milliseconds since the epoch; absent: now. */
  readonly at?: number;
}

export interface TenantHost extends StoreHost {
  readonly leases: LeaseTracker;
  readonly keyUses: KeyUses;
  /** When no lease that was given before now is valid any more; milliseconds since the epoch. */
  effectiveAt(): number;
  /** How long that is from now, milliseconds: for others, whose clocks may be ahead of this one or behind. */
  leftMs(): number;
  /** The same as a part of an answer, at least `leastMs`. */
  propagation(minMs?: number): Propagation;
  /** The policy's revision; 0 where there is no tenant. */
  revision(): number;
  /** When the tenant was made, which tells it from others of its name; undefined where there is none. */
  created(): TenantUid | undefined;
  /** Raises the policy's revision, so that leases learn of a change; gives it. `close`: whose streams end now. */
  incrementRevision(close?: RevocationFilter): number;
  /** In the audit log. */
  record(actor: Actor, action: string, target: string, change: DatedAuditChange): void;
  /**
   * The section has a body with this hash now; null: there is no such section any more. Streams are told when that is
   * in force, and each compares what it sees. false: it had this hash before, so nobody is told anything.
   */
  definitionsChanged(section: string, hash: string | null): boolean;
  /** Set by the one domain that tells people what happens. Called within a transaction. */
  emitEvent?: (event: TenantEvent) => void;
  /** Set by the one domain whose rows are credentials too: what is asked for no key is looked for there, by its hash. */
  grantOf?: (hash: string, document: TenantDocument) => KeyGrant | null;
}

export function createTenantHost(base: StoreHost): TenantHost {
  const { sql } = base;
  const leases = trackLeases(base);
  const effectiveAt = () => leases.effectiveAt();
  const row = () =>
    sql.exec<{ revision: number; created: string }>("SELECT revision, created FROM tenant").toArray()[0];
  const revision = () => row()?.revision ?? 0;
  const incrementRevision = (close?: RevocationFilter) => {
    const update = "UPDATE tenant SET revision = revision + 1 RETURNING revision";
    const next = sql.exec<{ revision: number }>(update).one();
    base.changes.policy(next.revision, effectiveAt(), close);
    return next.revision;
  };
  const created = () => row()?.created;
  return {
    ...base,
    leases,
    keyUses: trackKeyUses(base),
    storageKey: () => storageKey(base.tenant, created() ?? base.deletion.deletedUid() ?? ""),
    effectiveAt,
    leftMs: () => effectiveAt() - base.now(),
    propagation: (minMs = 0) => ({ leftMs: Math.max(minMs, effectiveAt() - base.now()) }),
    revision,
    created,
    incrementRevision,
    record: (actor, action, target, { at, ...change }) => {
      recordAudit(at === undefined ? base : { ...base, now: () => at }, actor, [action, target], change);
    },
    definitionsChanged: (section, hash) => {
      if (!setSection(sql, section, hash)) return false;
      // A tenant that is being made right now has no policy yet, so there is nothing to announce.
      if (revision() > 0) incrementRevision();
      return true;
    },
  };
}
