// Owns the shapes that cross between a tenant's authority and those who ask it: leases, records, and what a write ends in.

import type { KeyRing } from "../../auth/seal.ts";
import type { TenantDocument } from "../document/tenant-document.ts";
import type { Suspension } from "../document/visibility.ts";

/** What the hot path needs of one API key. */
export interface KeyGrant {
  readonly id: string;
  readonly name: string;
  readonly scopes: readonly string[] | null;
  readonly profile: string | null;
  /** Milliseconds since the epoch. */
  readonly expires: number | null;
}

export interface KeyRecord extends KeyGrant {
  readonly created: string;
  readonly lastUsed: string | null;
  /** Set by rotation: until then the old key works beside the new one. */
  readonly retires: number | null;
}

/** A name that is listed no more, and until when it can still be called. */
export interface RetiredName {
  readonly kind: "tools" | "prompts";
  readonly profile: string | null;
  readonly name: string;
  /** The name in code. */
  readonly target: string;
  /** Under which name it is listed now; null when under none. */
  readonly successor: string | null;
  readonly until: number;
}

/** Everything about a tenant that is leased, apart from keys. */
export interface Policy {
  readonly document: TenantDocument;
  readonly suspensions: readonly Suspension[];
  readonly retired: readonly RetiredName[];
}

/** What is leased beside the policy, because it is large: its hash by its name. */
export type Sections = readonly (readonly [name: string, hash: string])[];

export interface LeaseAsk {
  /** Which policy the isolate holds; null for none. A name that was deleted and made again counts from 1 again. */
  readonly version: { readonly number: number; readonly created: string } | null;
  /** How long the isolate will serve from the answer, milliseconds, when the document does not say. */
  readonly maxStalenessMs: number;
  /** The tenant is declared in code and exists without having been created. */
  readonly inCode: boolean;
  /** Hash of a key that the isolate wants to know about. */
  readonly keyHash: string | null;
  /** Up to which ended session the isolate knows them; null for none, absent: it does not want to. */
  readonly endedAfter?: number | null;
}

/** Sessions that their clients ended. */
export interface EndedSession {
  /** What to say next time. */
  readonly cursor: number;
  readonly nonces: readonly string[];
  /** All that ended after this are known now, with those that were before; milliseconds since the epoch. */
  readonly since: number;
}

export interface LeaseGranted {
  readonly state: "granted";
  readonly version: number;
  /** When the tenant was made, ISO 8601. */
  readonly created: string;
  /** null: the one that the isolate holds is current. */
  readonly policy: Policy | null;
  /** Hashes of what is leased beside the policy, by name; null with it. */
  readonly sections: Sections | null;
  readonly ring: KeyRing;
  readonly seeded: boolean;
  /** Only when a key was asked for; null: there is no such key. */
  readonly key: KeyGrant | null;
  /** null: none since. */
  readonly ended: EndedSession | null;
}

export type LeaseAnswer = LeaseGranted | { readonly state: "absent" };

/** Who changes something, for the audit log. */
export interface Actor {
  readonly name: string;
}

/** `effectiveAt`: from then on no isolate can serve what was before; milliseconds since the epoch. */
export type WriteResult =
  | { readonly state: "written"; readonly revision: number; readonly effectiveAt: number }
  | { readonly state: "unchanged"; readonly revision: number }
  | { readonly state: "conflict"; readonly revision: number }
  | { readonly state: "absent" };

export interface TenantRecord {
  readonly id: string;
  readonly created: string;
  readonly revision: number;
  /** As its operators wrote it. */
  readonly own: TenantDocument;
  /** With its base documents under it. */
  readonly effective: TenantDocument;
  readonly suspensions: readonly Suspension[];
  readonly retired: readonly RetiredName[];
  readonly sections: Sections;
}

export interface AuditEntry {
  readonly sequence: number;
  /** ISO 8601. */
  readonly at: string;
  readonly actor: string;
  readonly action: string;
  readonly target: string;
  readonly before: unknown;
  readonly after: unknown;
}
