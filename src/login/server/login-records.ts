// Types and tables of a tenant's own authorization server: records as Workers see them, the rows in the tenant object,
// and the conversion. Tokens and codes are stored as hashes only.

import type { ToolRestrictions } from "../../auth/principal.ts";
import type { ProviderIdentity } from "../sign-in/identity-provider-client.ts";

/** A client as the authorization server knows it, registered or with a document. */
export interface LoginClient {
  /** Generated for a registered client; otherwise the URL of the client's document. */
  readonly id: string;
  readonly kind: "registered" | "document";
  readonly name: string;
  readonly site: string | undefined;
  /** Compared exactly. A loopback URI matches any port. */
  readonly redirects: readonly string[];
  readonly method: "none" | "client_secret_basic" | "client_secret_post";
  /** `hashToken` of the secret; null if it has none. */
  readonly secretHash: string | null;
  /** Digest of the metadata: a person who consented to other metadata is asked again. */
  readonly digest: string;
}

/** A person who signed in and has not decided yet. */
export interface SignInRecord {
  /** The id of the principal. */
  readonly principal: string;
  readonly person: ProviderIdentity;
  /** Sealed tokens of the provider; null: there are none. */
  readonly provider: string | null;
  /** Hash of the pasted key; null: none was pasted. */
  readonly keyHash: string | null;
}

/** A person's consent for one client. */
export interface Grant {
  readonly id: string;
  readonly client: Pick<LoginClient, "id" | "name" | "digest">;
  /** The id of the principal: `oauth ISSUER SUBJECT`, or `key ID` for a pasted key. */
  readonly principal: string;
  readonly person: ProviderIdentity;
  /** The endpoint's URL. `profile` is its profile or null. */
  readonly resource: string;
  readonly profile: string | null;
  /** Names of the tenant's scopes; null: no limit on the person. */
  readonly scopes: readonly string[] | null;
  /** The client asked for `offline_access`. */
  readonly offline?: boolean;
  readonly narrowing: ToolRestrictions;
  /** Milliseconds since the epoch. */
  readonly created: number;
  readonly usedAt: number;
  /** Time of the provider's last confirmation of the person. */
  readonly confirmedAt: number;
  readonly expires: number;
}

export const LOGIN_MIGRATIONS: readonly string[] = [
  `CREATE TABLE login_clients (id TEXT PRIMARY KEY, metadata TEXT NOT NULL, fresh_until INTEGER NOT NULL,
     used_at INTEGER NOT NULL) WITHOUT ROWID`,
  `CREATE TABLE login_grants (id TEXT PRIMARY KEY, client TEXT NOT NULL, client_name TEXT NOT NULL, client_digest TEXT NOT NULL,
     principal TEXT NOT NULL, person TEXT NOT NULL, provider TEXT, key_hash TEXT, tenant_issuer TEXT NOT NULL, resource TEXT NOT NULL,
     profile TEXT, scopes TEXT, narrowing TEXT NOT NULL, created INTEGER NOT NULL, used_at INTEGER NOT NULL,
     confirmed_at INTEGER NOT NULL, expires INTEGER NOT NULL, sign_in_until INTEGER NOT NULL,
     claimed_until INTEGER NOT NULL DEFAULT 0, offline INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID`,
  "CREATE INDEX login_grants_principal ON login_grants (principal, used_at)",
  "CREATE INDEX login_grants_client ON login_grants (client, created)",
  "CREATE INDEX login_grants_expires ON login_grants (expires)",
  `CREATE TABLE login_codes (hash TEXT PRIMARY KEY, grant_id TEXT NOT NULL, redirect TEXT NOT NULL, challenge TEXT NOT NULL,
     expires INTEGER NOT NULL, redeemed INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID`,
  "CREATE TABLE login_access_tokens (hash TEXT PRIMARY KEY, grant_id TEXT NOT NULL, expires INTEGER NOT NULL) WITHOUT ROWID",
  "CREATE INDEX login_access_tokens_grant ON login_access_tokens (grant_id)",
  `CREATE TABLE login_refresh_tokens (hash TEXT PRIMARY KEY, grant_id TEXT NOT NULL, created INTEGER NOT NULL, used_at INTEGER,
     sealed_tokens TEXT) WITHOUT ROWID`,
  "CREATE INDEX login_refresh_tokens_grant ON login_refresh_tokens (grant_id, created)",
  "CREATE INDEX login_access_tokens_expires ON login_access_tokens (expires)",
  // A removed client's grants are invalid from then on and are deleted later: those with `created` up to `removed_at`.
  "CREATE TABLE login_removed_clients (client TEXT PRIMARY KEY, removed_at INTEGER NOT NULL) WITHOUT ROWID",
  `CREATE VIEW login_active_grants AS SELECT * FROM login_grants AS g
     WHERE NOT EXISTS (SELECT 1 FROM login_removed_clients AS r WHERE r.client = g.client AND g.created <= r.removed_at)`,
  `CREATE TABLE login_sign_ins (nonce TEXT PRIMARY KEY, principal TEXT NOT NULL, record TEXT NOT NULL,
     expires INTEGER NOT NULL)`,
  "CREATE INDEX login_sign_ins_principal ON login_sign_ins (principal, expires, nonce)",
  "CREATE INDEX login_sign_ins_expires ON login_sign_ins (expires, nonce)",
];

export interface GrantRow {
  [column: string]: SqlStorageValue;
  id: string;
  client: string;
  client_name: string;
  client_digest: string;
  principal: string;
  person: string;
  provider: string | null;
  key_hash: string | null;
  tenant_issuer: string;
  resource: string;
  profile: string | null;
  scopes: string | null;
  offline: number;
  narrowing: string;
  created: number;
  used_at: number;
  confirmed_at: number;
  expires: number;
  sign_in_until: number;
  claimed_until: number;
}

/** A grant to be added: `LoginMethods.addGrant` fills in the rest. */
export interface NewGrant extends Omit<Grant, "created" | "usedAt" | "confirmedAt"> {
  /** The tenant's own issuer, under the URL at which the person reached it. */
  readonly tenantIssuer: string;
  /** Sealed tokens of the provider; null: there are none. */
  readonly provider: string | null;
  /** Hash of the pasted key, with which the grant ends; null: none was pasted. */
  readonly keyHash: string | null;
}

export interface NewCode {
  readonly hash: string;
  readonly redirect: string;
  /** S256 of the verifier. */
  readonly challenge: string;
}

export function toGrant(row: GrantRow): Grant {
  return {
    id: row.id,
    client: { id: row.client, name: row.client_name, digest: row.client_digest },
    principal: row.principal,
    person: JSON.parse(row.person) as Grant["person"],
    resource: row.resource,
    profile: row.profile,
    scopes: row.scopes === null ? null : (JSON.parse(row.scopes) as string[]),
    offline: row.offline === 1,
    narrowing: JSON.parse(row.narrowing) as Grant["narrowing"],
    created: row.created,
    usedAt: row.used_at,
    confirmedAt: row.confirmed_at,
    expires: row.sign_in_until,
  };
}
