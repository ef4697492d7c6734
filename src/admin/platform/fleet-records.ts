// Owns the shapes of a fleet run as the platform's object tells them. Types alone.

import type { Change, TenantDocument } from "../../tenants/document/tenant-document.ts";
import type { Incarnation } from "../../tenants/authority/incarnation.ts";

export interface NewRun {
  readonly base: string;
  readonly document: TenantDocument;
  readonly dryRun: boolean;
  readonly wave: number;
  readonly continueOnError: boolean;
  /** How many tenants one invocation takes. */
  readonly step?: number;
}

export interface RejectedField {
  readonly field: string;
  readonly rule: string;
}

/** How one tenant of a run came out. */
export type RunResult =
  | { readonly tenant: string; readonly state: "done"; readonly changes: readonly Change[] }
  | {
      readonly tenant: string;
      readonly state: "failed";
      readonly error: string;
      readonly errors: readonly RejectedField[];
    };

export interface RunRecord extends NewRun {
  /** Later runs have larger ones. */
  readonly id: number;
  readonly state: "running" | "done" | "stopped";
  /** ISO 8601. */
  readonly created: string;
  /** Milliseconds since the epoch; the latest of all tenants so far. */
  readonly effectiveAt: number;
  /** How long until then, milliseconds: the clock of whoever reads it may be another. */
  readonly leftMs: number;
  readonly total: number;
  readonly done: number;
  readonly step: number;
  /** Who began it, or went on with it last. */
  readonly actor: string;
  readonly failed: readonly {
    readonly tenant: string;
    readonly error: string;
    readonly errors: readonly RejectedField[];
  }[];
  readonly changes: readonly { readonly tenant: string; readonly changes: readonly Change[] }[];
}

/** A tenant of a run. */
export interface WaitingTenant {
  readonly tenant: string;
  /** On which revision of each tenant of the name a write is based that may yet make it extend the base. */
  readonly uses: readonly { readonly created: Incarnation; readonly basis: number }[];
}
