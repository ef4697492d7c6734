// The tables of a tenant's own authorization server in the tenant object: consents, codes and tokens, and their end.
// Each method is one transaction. The caller has done every fetch and every hash before.

import { hasFeature } from "../../deployment/registry.ts";
import { useKey } from "../../tenants/object/lease-delta.ts";
import type { Actor, KeyGrant, Propagation, WriteResult } from "../../tenants/object/policy-records.ts";
import type { Store } from "../../tenants/object/store.ts";
import type { TenantHost } from "../../tenants/object/tenant-host.ts";
import { isUnexpired } from "../../tenants/cache/is-unexpired.ts";
import { createClientMethods, type ClientMethods } from "./client-methods.ts";
import { nextGrantTime, deleteEndedGrants, endClient, endGrants, findGrant, findGrants } from "./grant-rows.ts";
import {
  LOGIN_MIGRATIONS,
  toGrant,
  type NewCode,
  type NewGrant,
  type Grant,
  type SignInRecord,
} from "./login-records.ts";
import type { ProviderIdentity } from "../sign-in/identity-provider-client.ts";
import { principalOfGrant } from "./grant-principal.ts";
import {
  redeem,
  refresh,
  type RedeemRequest,
  type RedeemResult,
  type TokenRefreshRequest,
  type TokenRefreshResult,
} from "./token-rows.ts";

const CODE_MS = 60_000;
const MAX_CODES = 1000;
const MAX_SIGN_INS = 1000;
/** So that a few people cannot displace everyone else. */
const MAX_SIGN_INS_PER_PERSON = 4;
/** How long a redeemed code is remembered: a second use ends the grant and its tokens. */
const REDEEMED_RETENTION_MS = 600_000;
const MAX_GRANTS_PER_PERSON = 50;
const MAX_GRANTS = 100_000;
/** A full tenant counts its grants at this interval and not at every request. */
const COUNT_CACHE_MS = 60_000;
/** Longer than the wait for a provider's tokens, keys and user endpoint together. */
const CLAIM_MS = 60_000;
/** Expired rows are deleted together with those that expire within this time. */
const PRUNE_INTERVAL_MS = 600_000;
/** Grants, and tokens, per deletion: leases wait meanwhile. */
const PRUNE_BATCH = 100;

/**
 * A grant that has just ended is "absent" too. A caller that repeats the request after a lost answer waits just as
 * long.
 */
export type EndResult = WriteResult | ({ readonly state: "absent" } & Propagation);

export type ProviderClaim =
  /** Only the claimant may use the tokens, until it saves them or the claim expires. null: there are none. */
  | { readonly state: "claimed"; readonly provider: string | null; readonly person: ProviderIdentity }
  | { readonly state: "busy" }
  | { readonly state: "absent" };

/** Undefined members stay as they are. */
export interface ProviderUpdate {
  readonly provider?: string | null;
  /** The provider confirmed the person. */
  readonly revalidation?: true;
  readonly person?: ProviderIdentity;
}

export interface LoginMethods extends ClientMethods {
  /** The tenant object's record of a pasted key. */
  findKey(hash: string): KeyGrant | null;
  /**
   * Stored until `expires`, or until 4 newer ones of the person or 1,000 newer ones in total displace it. `nonce`: of
   * the sign-in's transaction.
   */
  addSignIn(nonce: string, record: SignInRecord, expires: number): "added" | "full";
  getSignIn(nonce: string): SignInRecord | null;
  addGrant(grant: NewGrant, code: NewCode): "added" | "full";
  redeem(request: RedeemRequest): RedeemResult;
  refresh(request: TokenRefreshRequest): TokenRefreshResult;
  /** By the hash of an access token or a refresh token. */
  revoke(hash: string, client: string): EndResult;
  /** A grant's provider tokens, for use; null: there are none. */
  getProvider(grant: string): string | null;
  /** The same tokens, with an exclusive claim to renew them. */
  claimProvider(grant: string): ProviderClaim;
  saveProvider(grant: string, update: ProviderUpdate): boolean;
  /** A page of all grants, or of one principal's grants, by id, starting after `after`. */
  grants(after: string, most: number, principal?: string): readonly Grant[];
  grantsOf(principal: string): readonly Grant[];
  /** With `principal`, the grant must belong to it. */
  endGrant(id: string, actor: Actor, principal?: string): EndResult;
  endClient(client: string, actor: Actor): WriteResult;
  endPrincipal(principal: string, actor: Actor): WriteResult;
}

export const loginStore: Store<LoginMethods, TenantHost> = {
  name: "login",
  // Calls through login-stub.ts are retried there, and for longer.
  methods: {
    getClient: {},
    clients: { idempotent: true },
    saveClient: {},
    findKey: {},
    addSignIn: {},
    getSignIn: {},
    addGrant: {},
    redeem: {},
    refresh: {},
    revoke: {},
    getProvider: {},
    claimProvider: {},
    saveProvider: {},
    grants: { idempotent: true },
    grantsOf: {},
    endGrant: { idempotent: true },
    endClient: { idempotent: true },
    endPrincipal: { idempotent: true },
  },
  migrations: LOGIN_MIGRATIONS,
  open: (host) => {
    // In a Worker without the feature, tokens issued before are not accepted.
    host.grantOf = (hash, document) => (hasFeature("login") ? principalOfGrant(host, hash, document) : null);
    return { methods: createLoginMethods(host), alarm: async (now) => pruneLogin(host, now) };
  },
};

function createLoginMethods(host: TenantHost): LoginMethods {
  const { sql } = host;
  const end = (where: string, bindings: readonly string[], actor: Actor): EndResult =>
    host.transaction(() => {
      const ended = endGrants(host, findGrants(host, where, ...bindings), actor);
      return ended.state === "absent" ? { ...ended, ...host.propagation() } : ended;
    });
  const takeSlot = createGrantSlots(host);
  return {
    ...createClientMethods(host),
    findKey: (hash) => useKey(host, hash),
    addSignIn: (...signIn) => host.transaction(() => addSignIn(host, ...signIn)),
    getSignIn: (nonce) => {
      const found = "SELECT record FROM login_sign_ins WHERE nonce = ? AND expires > ?";
      const [row] = sql.exec<{ record: string }>(found, nonce, host.now()).toArray();
      return row ? (JSON.parse(row.record) as SignInRecord) : null;
    },
    addGrant: (grant, code) => host.transaction(() => addGrant(host, grant, code, takeSlot)),
    redeem: (request) => host.transaction(() => redeem(host, request)),
    refresh: (request) => host.transaction(() => refresh(host, request)),
    revoke: (hash, client) => {
      const tokens = `SELECT grant_id FROM login_access_tokens WHERE hash = ?1 UNION SELECT grant_id FROM login_refresh_tokens WHERE hash = ?1`;
      // The plus makes SQLite look up by the token: a client may have many grants.
      return end(`id IN (${tokens}) AND +client = ?2`, [hash, client], { name: client });
    },
    getProvider: (id) => findGrant(host, "id = ?", id)?.provider ?? null,
    claimProvider: (id) =>
      host.transaction(() => {
        const row = findGrant(host, "id = ?", id);
        if (!row) return { state: "absent" };
        if (isUnexpired(row.claimed_until, CLAIM_MS, host.now())) return { state: "busy" };
        sql.exec("UPDATE login_grants SET claimed_until = ? WHERE id = ?", host.now() + CLAIM_MS, id);
        return { state: "claimed", provider: row.provider, person: toGrant(row).person };
      }),
    saveProvider: (id, { provider, revalidation: confirmed, person }) =>
      host.transaction(() => {
        const row = findGrant(host, "id = ?", id);
        if (!row) return false;
        sql.exec(
          "UPDATE login_grants SET provider = ?, person = ?, confirmed_at = ?, claimed_until = 0 WHERE id = ?",
          provider === undefined ? row.provider : provider,
          person ? JSON.stringify(person) : row.person,
          confirmed ? host.now() : row.confirmed_at,
          id,
        );
        return true;
      }),
    // Skips ended grants, so that a page that is not full is the last.
    grants: (after, most, principal) => {
      const whose = principal === undefined ? "" : "AND principal = ?";
      const bindings = [after, host.now(), principal ?? [], most].flat();
      return findGrants(host, `id > ? AND expires > ? ${whose} ORDER BY id LIMIT ?`, ...bindings).map(toGrant);
    },
    grantsOf: (principal) => findGrants(host, "principal = ? ORDER BY used_at DESC", principal).map(toGrant),
    endGrant: (id, actor, principal) =>
      end(principal === undefined ? "id = ?" : "id = ? AND principal = ?", [id, principal ?? []].flat(), actor),
    endClient: (client, actor) => host.transaction(() => endClient(host, client, actor)),
    endPrincipal: (principal, actor) => end("principal = ?", [principal], actor),
  };
}

/**
 * Returns a function that takes a slot for one more grant; false if there is none. Grants are counted again when the
 * counted slots are used up.
 */
function createGrantSlots(host: TenantHost): () => boolean {
  let freeSlots = 0;
  let countedUntil = 0;
  return () => {
    if (freeSlots === 0 && !isUnexpired(countedUntil, COUNT_CACHE_MS, host.now())) {
      const { count } = host.sql.exec<{ count: number }>("SELECT count(*) AS count FROM login_grants").one();
      freeSlots = Math.max(0, MAX_GRANTS - count);
      countedUntil = host.now() + COUNT_CACHE_MS;
    }
    const isFree = freeSlots > 0;
    if (isFree) freeSlots -= 1;
    return isFree;
  };
}

function addSignIn(host: TenantHost, nonce: string, record: SignInRecord, expires: number): "added" | "full" {
  const { sql } = host;
  if (!host.hasCapacity() || host.revision() === 0) return "full";
  const deleteOlder = (whose: string) =>
    `DELETE FROM login_sign_ins WHERE nonce IN (SELECT nonce FROM login_sign_ins ${whose} ORDER BY expires DESC LIMIT -1 OFFSET ?)`;
  sql.exec(deleteOlder("WHERE principal = ?"), record.principal, MAX_SIGN_INS_PER_PERSON - 1);
  sql.exec(deleteOlder(""), MAX_SIGN_INS - 1);
  const added = "INSERT OR REPLACE INTO login_sign_ins (nonce, principal, record, expires) VALUES (?, ?, ?, ?)";
  sql.exec(added, nonce, record.principal, JSON.stringify(record), expires);
  host.scheduleAlarm(expires);
  return "added";
}

/** The grant expires with its code until the code is redeemed. */
function addGrant(host: TenantHost, grant: NewGrant, code: NewCode, takeSlot: () => boolean): "added" | "full" {
  const { sql } = host;
  const now = host.now();
  // A repeated call after a lost answer. The grant may have ended since.
  if (sql.exec("SELECT 1 FROM login_grants WHERE id = ?", grant.id).toArray().length > 0) return "added";
  if (!takeSlot() || !host.hasCapacity() || host.revision() === 0) return "full";
  const { client, principal } = grant;
  const olderGrants =
    "id IN (SELECT id FROM login_active_grants WHERE principal = ?1 ORDER BY used_at DESC LIMIT -1 OFFSET ?2)";
  endGrants(host, findGrants(host, olderGrants, principal, MAX_GRANTS_PER_PERSON - 1), { name: "tenantry" }, false);
  const row = {
    id: grant.id,
    client: client.id,
    client_name: client.name,
    client_digest: client.digest,
    principal,
    person: JSON.stringify(grant.person),
    provider: grant.provider,
    key_hash: grant.keyHash,
    tenant_issuer: grant.tenantIssuer,
    resource: grant.resource,
    profile: grant.profile,
    scopes: grant.scopes && JSON.stringify(grant.scopes),
    offline: grant.offline ? 1 : 0,
    narrowing: JSON.stringify(grant.narrowing),
    created: nextGrantTime(host, client.id),
    used_at: now,
    confirmed_at: now,
    expires: now + CODE_MS,
    sign_in_until: grant.expires,
  };
  const names = Object.keys(row);
  sql.exec(
    `INSERT INTO login_grants (${names.join(", ")}) VALUES (${names.map(() => "?").join(", ")})`,
    ...Object.values(row),
  );
  sql.exec(
    "DELETE FROM login_codes WHERE hash IN (SELECT hash FROM login_codes ORDER BY expires DESC LIMIT -1 OFFSET ?)",
    MAX_CODES - 1,
  );
  sql.exec(
    "INSERT INTO login_codes (hash, grant_id, redirect, challenge, expires) VALUES (?, ?, ?, ?, ?)",
    code.hash,
    grant.id,
    code.redirect,
    code.challenge,
    now + CODE_MS,
  );
  host.record({ name: principal }, "grant.create", `grant ${grant.id}`, {
    before: null,
    after: { client: client.id, resource: grant.resource, scopes: grant.scopes },
  });
  host.scheduleAlarm(now + PRUNE_INTERVAL_MS);
  return "added";
}

/**
 * Deletes expired rows, of which no Worker needs to be told, because none accepts them any more. Returns the time of
 * the next expiry.
 */
function pruneLogin(host: TenantHost, now: number): number | undefined {
  const { sql } = host;
  const deleted = host.transaction(() => {
    const grantCount = deleteEndedGrants(host, now, PRUNE_BATCH);
    // Access tokens of a deleted grant are worthless and expire soon.
    const expired = "SELECT hash FROM login_access_tokens WHERE expires <= ? LIMIT ?";
    const tokens = sql
      .exec(`DELETE FROM login_access_tokens WHERE hash IN (${expired}) RETURNING hash`, now, PRUNE_BATCH)
      .toArray();
    sql.exec("DELETE FROM login_codes WHERE expires <= ?", now - REDEEMED_RETENTION_MS);
    sql.exec("DELETE FROM login_sign_ins WHERE expires <= ?", now);
    return Math.max(grantCount, tokens.length);
  });
  if (deleted === PRUNE_BATCH) return now;
  const ends = `SELECT min(expires) AS at FROM login_grants UNION ALL SELECT min(expires) FROM login_access_tokens
    UNION ALL SELECT min(expires) + ${REDEEMED_RETENTION_MS} FROM login_codes UNION ALL SELECT min(expires) FROM login_sign_ins`;
  const { next } = sql.exec<{ next: number | null }>(`SELECT min(at) AS next FROM (${ends})`).one();
  return next === null ? undefined : Math.max(next, now + PRUNE_INTERVAL_MS);
}
