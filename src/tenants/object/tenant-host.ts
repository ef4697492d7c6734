// The host of every store in a tenant object. Besides its rows, a store can make leases learn of a change, and write the
// audit log. So no store reads another store's tables.

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
  /** When the change happened, in milliseconds since the epoch; absent: now. */
  readonly at?: number;
}

export interface TenantHost extends StoreHost {
  readonly leases: LeaseTracker;
  readonly keyUses: KeyUses;
  /** When no lease that was granted before now is valid any more; milliseconds since the epoch. */
  effectiveAt(): number;
  /** The same as a duration in milliseconds, for callers whose clocks may differ. */
  leftMs(): number;
  /** The same as part of an answer, at least `minMs`. */
  propagation(minMs?: number): Propagation;
  /** The policy's revision; 0 if there is no tenant. */
  revision(): number;
  /** When the tenant was created, which distinguishes it from others of its name; undefined if there is none. */
  created(): TenantUid | undefined;
  /**
   * Raises the policy's revision, so that leases learn of a change, and returns it. `close`: the streams that end now.
   */
  incrementRevision(close?: RevocationFilter): number;
  record(actor: Actor, action: string, target: string, change: DatedAuditChange): void;
  /**
   * Sets the hash of the section's body; null removes the section. Streams are notified when the change is in effect,
   * and compare what they see. Returns false if the hash is unchanged; then no stream is notified.
   */
  definitionsChanged(section: string, hash: string | null): boolean;
  /** Set by the one store that delivers events. Called within a transaction. */
  emitEvent?: (event: TenantEvent) => void;
  /** Set by the one store whose rows are also credentials. A hash that belongs to no key is looked up there. */
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
      // A tenant that is being created has no policy yet, so there is nothing to announce.
      if (revision() > 0) incrementRevision();
      return true;
    },
  };
}
