// The types that travel between a tenant object and its callers: leases, records and the results of writes.

import type { OAuthPrincipal } from "../../auth/principal.ts";
import type { KeyRing } from "../../auth/seal.ts";
import type { TenantDocument } from "../document/tenant-document.ts";
import type { Suspension } from "../document/visibility.ts";

/** The rights of an API key. `scopes` null: not limited. `profile` null: valid for all profiles. */
export interface KeyGrant {
  readonly id: string;
  readonly name: string;
  readonly scopes: readonly string[] | null;
  readonly profile: string | null;
  /** Milliseconds since the epoch. */
  readonly expires: number | null;
  /** The person, if the credential is an access token of the tenant's own authorization server. */
  readonly person?: OAuthPrincipal;
}

export interface KeyRecord extends KeyGrant {
  readonly created: string;
  readonly lastUsed: string | null;
  /** When the key ends because a rotation replaced it, in milliseconds since the epoch; null if none did. */
  readonly retires: number | null;
}

/** A name that is no longer listed, and until when it can still be called. */
export interface DeprecatedName {
  readonly kind: "tools" | "prompts";
  readonly profile: string | null;
  readonly name: string;
  /** The name that the source uses. */
  readonly target: string;
  /** The name under which the same thing is listed now. */
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

/** A list with a higher version replaces one with a lower version. */
export interface BlockList {
  readonly version: number;
  readonly blocks: readonly BlockedTool[];
}

/** The leased state of a tenant, without keys and sections. */
export interface Policy {
  readonly document: TenantDocument;
  readonly suspensions: readonly Suspension[];
  readonly deprecatedNames: readonly DeprecatedName[];
}

/** Large data that is leased beside the policy: hashes by name. */
export type Sections = readonly (readonly [name: string, hash: string])[];

export interface LeaseRequest {
  /**
   * The policy version that the isolate has; null: none. `created` is included because a recreated tenant counts from 1
   * again.
   */
  readonly version: { readonly number: number; readonly created: string } | null;
  /** How long the isolate serves from the answer, in milliseconds, if the document does not say. */
  readonly maxStalenessMs: number;
  /** The tenant is declared in code, and exists without having been created. */
  readonly inCode: boolean;
  /** The ids of the sealing keys that the isolate has, in order; absent: it has none. */
  readonly ring?: string | undefined;
  /** The hash of a key that the isolate asks about; null: none. */
  readonly keyHash: string | null;
  /** The isolate's `cursor` of ended sessions. null: it knows none. Absent: it does not want any. */
  readonly endedAfter?: number | null;
}

/** Sessions that their clients ended since the isolate's cursor. */
export interface EndedSessionsDelta {
  /** The value of `endedAfter` for the next request. */
  readonly cursor: number;
  readonly nonces: readonly string[];
  /** Milliseconds since the epoch. Sessions that ended before this time may be missing. 0: none is missing. */
  readonly since: number;
}

export interface GrantedLease {
  readonly state: "granted";
  readonly version: number;
  /** When the tenant was created, ISO 8601. */
  readonly created: string;
  /** null: the isolate's policy is current. */
  readonly policy: Policy | null;
  /** Hashes of the sections, by name; null if `policy` is null. */
  readonly sections: Sections | null;
  readonly ring: KeyRing;
  /** Whether the tenant's seed content was stored. */
  readonly seeded: boolean;
  /** The grant of the requested key; null: none was requested, or there is no such key. */
  readonly key: KeyGrant | null;
  /** null: none ended since, or none were requested. */
  readonly endedSessions: EndedSessionsDelta | null;
}

/**
 * `unchanged`: a lease on the state that the isolate has. Used if the request names the isolate's sealing keys and
 * everything is current.
 */
export type LeaseResponse = GrantedLease | { readonly state: "absent" } | { readonly state: "unchanged" };

/** The author of a change, for the audit log. */
export interface Actor {
  readonly name: string;
}

/** `leftMs`: how long an isolate may still serve the state before the change, in milliseconds from the answer. */
export interface Propagation {
  readonly leftMs: number;
}

/** `absent`: there is no such tenant, or no such thing to change. */
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
  /** With its base documents. */
  readonly effective: TenantDocument;
  /** The tenant's own suspensions. Blocks are separate. */
  readonly suspensions: readonly Suspension[];
  readonly blocks: BlockList;
  /** The suspensions that operators made. */
  readonly operatorSuspensions: readonly Pick<Suspension, "kind" | "name">[];
  readonly deprecatedNames: readonly DeprecatedName[];
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
