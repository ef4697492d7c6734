// The methods of policy-tables.ts. On their own, because code in Node calls them and must not load a Durable Object.

import type { BlockMethods } from "./block-methods.ts";
import type { TenantDocument } from "../document/tenant-document.ts";
import type { LeaseMethods } from "./lease-methods.ts";
import type { BackupMethods } from "./backup-methods.ts";
import type { KeyMethods } from "./key-methods.ts";
import type { TenantUid } from "./tenant-uid.ts";
import type { Actor, AuditEntry, BlockList, DeprecatedName, TenantRecord, WriteResult } from "./policy-records.ts";
import type { SecretMethods } from "./secret-methods.ts";
import type { RpcInterface } from "./store.ts";
import type { Suspension } from "../document/visibility.ts";

export interface DocumentWrite {
  readonly own: TenantDocument;
  readonly effective: TenantDocument;
  /** Names that the change takes off the lists. */
  readonly retired: readonly DeprecatedName[];
  /** Writes only if this is still the revision; null: whatever the revision is. */
  readonly ifRevision: number | null;
  readonly actor: Actor;
  readonly action: string;
}

export interface TenantCreation extends Omit<DocumentWrite, "ifRevision" | "retired"> {
  /** As the directory entered it; absent: now. */
  readonly created?: TenantUid;
  /** As the directory answered it when it entered the tenant. */
  readonly blocks?: BlockList;
}

export interface Suspender extends Actor {
  /** Answers for this tenant alone, and lifts nothing that an operator of the platform suspended. */
  readonly isTenantAdmin?: boolean;
}

export interface PolicyMethods extends LeaseMethods, KeyMethods, BackupMethods, BlockMethods, SecretMethods {
  /** "absent": it was deleted before it came into being. */
  create(creation: TenantCreation): WriteResult;
  write(write: DocumentWrite): WriteResult;
  /**
   * Which tenant has the name, or had it last; null: none that is remembered. `inCode`: code declares the tenant, so it
   * exists without having been created.
   */
  tenantUid(inCode: boolean): TenantUid | null;
  /** `inCode`: as for `incarnation`. */
  read(inCode: boolean): TenantRecord | undefined;
  /** From now on no write is made that replaces this revision. Gives the one that is current then. */
  fence(revision: number): number;
  /** "full": a tenant-admin suspended as many things as they may. */
  suspend(suspension: Omit<Suspension, "since">, by: Suspender): WriteResult | { readonly state: "full" };
  /** The tenant, as a rollout brings it: not if it was resumed since, nor where it is suspended already. */
  suspendLate(note: string, by: Actor, order: { readonly version: number; readonly inCode: boolean }): WriteResult;
  /**
   * "forbidden": an operator suspended it, and somebody else may not lift that. `version`: a suspension of the tenant that is on
   * its way with this version, or an older one, comes too late.
   */
  resume(
    kind: Suspension["kind"],
    name: string,
    by: Suspender,
    version?: number,
  ): WriteResult | { readonly state: "forbidden" };
  audit(page: { before: number | null; limit: number }): readonly AuditEntry[];
  /** How long until everything that was withdrawn so far is in force everywhere; milliseconds. */
  leftMs(): number;
  /** Ends the tenant, or its making: from now on no lease is given and nothing is written. Gives `leftMs`. */
  close(uid: TenantUid): number;
  /** Deletes everything that the object stores, unless a tenant took the name after the one that was closed. */
  erase(): Promise<void>;
}

export const policyRpc: RpcInterface<PolicyMethods> = {
  name: "policy",
  methods: {
    lease: { idempotent: true },
    changed: {},
    sealedSecret: { idempotent: true },
    create: {},
    write: {},
    tenantUid: { idempotent: true },
    read: { idempotent: true, ending: true },
    fence: {},
    suspend: { idempotent: true },
    suspendLate: { idempotent: true },
    resume: { idempotent: true },
    audit: { idempotent: true },
    leftMs: { idempotent: true },
    close: { idempotent: true, ending: true },
    erase: { idempotent: true, ending: true },
    keyPage: { idempotent: true },
    key: { idempotent: true },
    countKeys: { idempotent: true },
    addKey: { idempotent: true },
    rotateKey: { idempotent: true },
    // One that is revoked already is waited for all the same.
    revokeKey: { idempotent: true },
    backup: { idempotent: true },
    restore: {},
    // A tenant may be blocked before it is made.
    takeBlocks: { idempotent: true, ending: true },
    secrets: { idempotent: true },
    setSecret: { idempotent: true },
    deleteSecret: { idempotent: true },
  },
};
