// Owns the shapes that cross between a tenant's authority and whoever asks it: leases, records, and the ends of writes.

import type { OAuthPrincipal } from "../../auth/principal.ts";
import type { KeyRing } from "../../auth/seal.ts";
import type { TenantDocument } from "../document/tenant-document.ts";
import type { Suspension } from "../document/visibility.ts";

/** What a request needs to know of its API key. `scopes` null: nothing limits it; `profile` null: good for all. */
export interface KeyGrant {
  readonly id: string;
  readonly name: string;
  readonly scopes: readonly string[] | null;
  readonly profile: string | null;
  /** Milliseconds since the epoch. */
  readonly expires: number | null;
  /** It is an access token of the tenant's own authorization server: whose. */
  readonly person?: OAuthPrincipal;
}

export interface KeyRecord extends KeyGrant {
  readonly created: string;
  readonly lastUsed: string | null;
  /** When the key ends because another one took its place; milliseconds since the epoch, null if none did. */
  readonly retires: number | null;
}

/** A name that is listed no more, and until when it can still be called. */
export interface DeprecatedName {
  readonly kind: "tools" | "prompts";
  readonly profile: string | null;
  readonly name: string;
  /** The name under which its source has it. */
  readonly target: string;
  /** The name under which the same thing was listed after the change. */
  readonly successor: string;
  /** Milliseconds since the epoch. */
  readonly until: number;
}

/** A tool that is blocked in every tenant. */
export interface BlockedTool {
  readonly name: string;
  readonly note: string;
  /** ISO 8601. */
  readonly since: string;
}

/** A list with a higher version replaces one with a lower. */
export interface BlockList {
  readonly version: number;
  readonly blocks: readonly BlockedTool[];
}

/** Everything about a tenant that is leased, apart from keys and sections. */
export interface Policy {
  readonly document: TenantDocument;
  readonly suspensions: readonly Suspension[];
  readonly retired: readonly DeprecatedName[];
}

/** What is leased beside the policy, because it is large: its hash by its name. */
export type Sections = readonly (readonly [name: string, hash: string])[];

export interface LeaseRequest {
  /** Which policy the isolate holds; null: none. A tenant that is made again counts from 1 again, hence `created`. */
  readonly version: { readonly number: number; readonly created: string } | null;
  /** How long the isolate will serve from the answer, milliseconds, when the document does not say. */
  readonly maxStalenessMs: number;
  /** The tenant is declared in code and exists without having been created. */
  readonly inCode: boolean;
  /** The ids of the sealing keys that the isolate has, in their order; absent: it has none. */
  readonly ring?: string | undefined;
  /** Hash of a key that the isolate wants to know about. */
  readonly keyHash: string | null;
  /** The `cursor` of the ended sessions that the isolate knows; null: it knows none; absent: it wants none. */
  readonly endedAfter?: number | null;
}

/** Sessions that their clients ended, beyond those that the isolate knows. */
export interface EndedSessionsDelta {
  /** What `endedAfter` shall be in the next ask. */
  readonly cursor: number;
  readonly nonces: readonly string[];
  /** Milliseconds since the epoch; sessions that ended before may be missing. 0: none is. */
  readonly since: number;
}

export interface GrantedLease {
  readonly state: "granted";
  readonly version: number;
  /** When the tenant was made, ISO 8601. */
  readonly created: string;
  /** null: the one that the isolate holds is current. */
  readonly policy: Policy | null;
  /** Hashes of what is leased beside the policy, by name; null where `policy` is. */
  readonly sections: Sections | null;
  readonly ring: KeyRing;
  /** Whether the first content of the tenant was stored. */
  readonly seeded: boolean;
  /** The key that was asked for; null: none was, or there is no such key. */
  readonly key: KeyGrant | null;
  /** null: none ended since, or none were asked for. */
  readonly endedSessions: EndedSessionsDelta | null;
}

/** `unchanged`: a lease on what the isolate has, where it said which sealing keys it has and nothing of all this is new. */
export type LeaseResponse = GrantedLease | { readonly state: "absent" } | { readonly state: "unchanged" };

/** Who changes something, for the audit log. */
export interface Actor {
  readonly name: string;
}

/** `leftMs`: how long some isolate may serve what was before, in milliseconds from when it was answered. */
export interface Propagation {
  readonly leftMs: number;
}

/** `absent`: there is no such tenant, or not the thing to be changed. */
export type WriteResult =
  | ({ readonly state: "written"; readonly revision: number } & Propagation)
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
  /** The tenant's own: what is blocked in every tenant is apart from them. */
  readonly suspensions: readonly Suspension[];
  readonly blocks: BlockList;
  /** Those of the suspensions that operators made. */
  readonly stops: readonly Pick<Suspension, "kind" | "name">[];
  readonly retired: readonly DeprecatedName[];
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
