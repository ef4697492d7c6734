// The RPC interface of policy-store.ts. A separate file, because code in Node calls these methods and must not load a
// Durable Object.

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
  /** Names that the change removes from the lists. */
  readonly deprecatedNames: readonly DeprecatedName[];
  /** Writes only if this is still the revision; null: always writes. */
  readonly ifRevision: number | null;
  readonly actor: Actor;
  readonly action: string;
}

export interface TenantCreation extends Omit<DocumentWrite, "ifRevision" | "deprecatedNames"> {
  /** The uid in the directory; absent: created now. */
  readonly created?: TenantUid;
  /** The block list that the directory returned when the tenant was added. */
  readonly blocks?: BlockList;
}

export interface Suspender extends Actor {
  /** Acts for this tenant alone, and cannot lift a suspension that a platform operator made. */
  readonly isTenantAdmin?: boolean;
}

export interface PolicyMethods extends LeaseMethods, KeyMethods, BackupMethods, BlockMethods, SecretMethods {
  /** "absent": the tenant was deleted before it was created. */
  create(creation: TenantCreation): WriteResult;
  write(write: DocumentWrite): WriteResult;
  /**
   * The uid of the tenant that has the name, or had it last; null: none is remembered. `inCode`: code declares the
   * tenant, so it exists without having been created.
   */
  tenantUid(inCode: boolean): TenantUid | null;
  /** `inCode`: as for `tenantUid`. */
  read(inCode: boolean): TenantRecord | undefined;
  /** Blocks every later write that replaces this revision. Returns the revision that is current then. */
  fence(revision: number): number;
  /** "full": the tenant-admin has reached the limit of suspensions. */
  suspend(suspension: Omit<Suspension, "since">, by: Suspender): WriteResult | { readonly state: "full" };
  /** Suspends the tenant for a rollout. Does nothing if the tenant was resumed since, or is suspended already. */
  suspendLate(note: string, by: Actor, order: { readonly version: number; readonly inCode: boolean }): WriteResult;
  /**
   * "forbidden": an operator made the suspension, and a tenant-admin cannot lift it. `version`: a rollout's suspension
   * of the tenant with this or an older version has no effect after this call.
   */
  resume(
    kind: Suspension["kind"],
    name: string,
    by: Suspender,
    version?: number,
  ): WriteResult | { readonly state: "forbidden" };
  audit(page: { before: number | null; limit: number }): readonly AuditEntry[];
  /** How long until all revocations so far are in effect everywhere, in milliseconds. */
  leftMs(): number;
  /**
   * Closes the tenant, or cancels its creation: no lease is granted and nothing is written from now on. Returns
   * `leftMs`.
   */
  close(uid: TenantUid): number;
  /** Deletes all storage of the object, unless another tenant took the name after the closed one. */
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
    countActiveKeys: { idempotent: true },
    addKey: { idempotent: true },
    rotateKey: { idempotent: true },
    // Revoking a revoked key again also waits until the revocation is in effect.
    revokeKey: { idempotent: true },
    backup: { idempotent: true },
    restore: {},
    // A tenant may be blocked before it is created.
    takeBlocks: { idempotent: true, ending: true },
    secrets: { idempotent: true },
    setSecret: { idempotent: true },
    deleteSecret: { idempotent: true },
  },
};
