// Owns a tenant's own authorization server in its object: who consented to what, which codes and tokens came of it, and how
// that ends. Each method is one transaction; whoever calls has done every fetch and every hash before.

import { hasFeature } from "../../deployment/registry.ts";
import { useKey } from "../../tenants/authority/leases.ts";
import type { Actor, KeyGrant, TakingEffect, WriteResult } from "../../tenants/authority/policy-records.ts";
import type { Tables } from "../../tenants/authority/tables.ts";
import type { TenantHost } from "../../tenants/authority/tenant-host.ts";
import { lasts } from "../../tenants/isolate/lasting.ts";
import { clientMethods, type ClientMethods } from "./client-tables.ts";
import { createdNow, deleteEnded, endClient, endGrants, grantWhere, keptGrants } from "./grant-rows.ts";
import {
  LOGIN_MIGRATIONS,
  grantIn,
  type NewCode,
  type NewGrant,
  type Grant,
  type SignInRecord,
} from "./login-records.ts";
import type { SignedIn } from "../sign-in/sign-in.ts";
import { bearerOfGrant } from "./grant-bearer.ts";
import { redeem, refresh, type RedeemAsk, type Redeemed, type TokenRefreshAsk, type Refreshed } from "./token-rows.ts";

const CODE_MS = 60_000;
const MOST_CODES = 1000;
const MOST_SIGN_INS = 1000;
/** So that few people take nobody's place. */
const MOST_SIGN_INS_EACH = 4;
/** That a code was redeemed is known for so long: whoever brings it again ends what came of it. */
const REDEEMED_MS = 600_000;
const MOST_OF_A_PERSON = 50;
const MOST_GRANTS = 100_000;
/** A tenant that is full counts its grants so often, and not whenever somebody asks. */
const COUNTED_MS = 60_000;
/** Longer than a provider is waited for: its tokens, its keys and its user endpoint. */
const CLAIM_MS = 60_000;
/** What ended is deleted in one go with what ends so soon after it. */
const TIDY_MS = 600_000;
/** Grants, and tokens, that are deleted at once: leases are not given meanwhile. */
const MOST_TIDIED = 100;

/** What ended a moment ago is absent, too: who asks again because the answer was lost waits as long. */
export type Ended = WriteResult | ({ readonly state: "absent" } & TakingEffect);

export type ProviderClaim =
  /** Only who asked may use them, until they are given back or the claim ends. null: there are none. */
  | { readonly state: "claimed"; readonly provider: string | null; readonly person: SignedIn }
  | { readonly state: "busy" }
  | { readonly state: "absent" };

/** What is undefined stays as it is. */
export interface KeptProvider {
  readonly provider?: string | null;
  /** The provider lets the person in. */
  readonly confirmed?: true;
  readonly person?: SignedIn;
}

export interface LoginMethods extends ClientMethods {
  /** What the authority knows of a key that somebody pasted. */
  pasted(hash: string): KeyGrant | null;
  /** Until `expires`, or until 4 later ones of the person, or 1,000 of all, took its place. `nonce`: of the transaction in which they signed in. */
  addSignIn(nonce: string, record: SignInRecord, expires: number): "added" | "full";
  signIn(nonce: string): SignInRecord | null;
  addGrant(grant: NewGrant, code: NewCode): "added" | "full";
  redeem(ask: RedeemAsk): Redeemed;
  refresh(ask: TokenRefreshAsk): Refreshed;
  /** By the hash of either token. */
  revoke(hash: string, client: string): Ended;
  /** A grant's provider tokens, for who uses them; null: there are none. */
  providerOf(grant: string): string | null;
  /** The same, for the one who may renew them. */
  claimProvider(grant: string): ProviderClaim;
  keepProvider(grant: string, kept: KeptProvider): boolean;
  /** A page of all grants, or of one principal's, by id, from the one after `after`. */
  grants(after: string, most: number, principal?: string): readonly Grant[];
  grantsOf(principal: string): readonly Grant[];
  /** `principal`: it has to be this one's. */
  endGrant(id: string, actor: Actor, principal?: string): Ended;
  endClient(client: string, actor: Actor): WriteResult;
  endPrincipal(principal: string, actor: Actor): WriteResult;
}

export const loginTables: Tables<LoginMethods, TenantHost> = {
  name: "login",
  // What login-door.ts calls is called again there, and for longer.
  methods: {
    client: {},
    clients: { idempotent: true },
    keepClient: {},
    pasted: {},
    addSignIn: {},
    signIn: {},
    addGrant: {},
    redeem: {},
    refresh: {},
    revoke: {},
    providerOf: {},
    claimProvider: {},
    keepProvider: {},
    grants: { idempotent: true },
    grantsOf: {},
    endGrant: { idempotent: true },
    endClient: { idempotent: true },
    endPrincipal: { idempotent: true },
  },
  migrations: LOGIN_MIGRATIONS,
  open: (host) => {
    // Tokens that were given out before a Worker lost the feature let nobody in.
    host.grantOf = (hash, document) => (hasFeature("login") ? bearerOfGrant(host, hash, document) : null);
    return { methods: loginMethods(host), alarm: async (now) => tidy(host, now) };
  },
};

function loginMethods(host: TenantHost): LoginMethods {
  const { sql } = host;
  const end = (where: string, by: readonly string[], actor: Actor): Ended =>
    host.transaction(() => {
      const ended = endGrants(host, keptGrants(host, where, ...by), actor);
      return ended.state === "absent" ? { ...ended, ...host.inForce() } : ended;
    });
  const hasPlace = placesOf(host);
  return {
    ...clientMethods(host),
    pasted: (hash) => useKey(host, hash),
    addSignIn: (...signIn) => host.transaction(() => addSignIn(host, ...signIn)),
    signIn: (nonce) => {
      const found = "SELECT record FROM login_sign_ins WHERE nonce = ? AND expires > ?";
      const [row] = sql.exec<{ record: string }>(found, nonce, host.now()).toArray();
      return row ? (JSON.parse(row.record) as SignInRecord) : null;
    },
    addGrant: (grant, code) => host.transaction(() => addGrant(host, grant, code, hasPlace)),
    redeem: (ask) => host.transaction(() => redeem(host, ask)),
    refresh: (ask) => host.transaction(() => refresh(host, ask)),
    revoke: (hash, client) => {
      const tokens = `SELECT grant_id FROM login_access WHERE hash = ?1 UNION SELECT grant_id FROM login_refresh WHERE hash = ?1`;
      // The plus has it found by the token: a client may have many grants.
      return end(`id IN (${tokens}) AND +client = ?2`, [hash, client], { name: client });
    },
    providerOf: (id) => grantWhere(host, "id = ?", id)?.provider ?? null,
    claimProvider: (id) =>
      host.transaction(() => {
        const row = grantWhere(host, "id = ?", id);
        if (!row) return { state: "absent" };
        if (lasts(row.claimed_until, CLAIM_MS, host.now())) return { state: "busy" };
        sql.exec("UPDATE login_grants SET claimed_until = ? WHERE id = ?", host.now() + CLAIM_MS, id);
        return { state: "claimed", provider: row.provider, person: grantIn(row).person };
      }),
    keepProvider: (id, { provider, confirmed, person }) =>
      host.transaction(() => {
        const row = grantWhere(host, "id = ?", id);
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
    // Without what ended, so that a page that is not full is the last.
    grants: (after, most, principal) => {
      const whose = principal === undefined ? "" : "AND principal = ?";
      const by = [after, host.now(), principal ?? [], most].flat();
      return keptGrants(host, `id > ? AND expires > ? ${whose} ORDER BY id LIMIT ?`, ...by).map(grantIn);
    },
    grantsOf: (principal) => keptGrants(host, "principal = ? ORDER BY used_at DESC", principal).map(grantIn),
    endGrant: (id, actor, principal) =>
      end(principal === undefined ? "id = ?" : "id = ? AND principal = ?", [id, principal ?? []].flat(), actor),
    endClient: (client, actor) => host.transaction(() => endClient(host, client, actor)),
    endPrincipal: (principal, actor) => end("principal = ?", [principal], actor),
  };
}

/** Takes a place for one more grant; false: there is none. They are counted when those that were counted are taken. */
function placesOf(host: TenantHost): () => boolean {
  let left = 0;
  let countedUntil = 0;
  return () => {
    if (left === 0 && !lasts(countedUntil, COUNTED_MS, host.now())) {
      const { count } = host.sql.exec<{ count: number }>("SELECT count(*) AS count FROM login_grants").one();
      left = Math.max(0, MOST_GRANTS - count);
      countedUntil = host.now() + COUNTED_MS;
    }
    const isFree = left > 0;
    if (isFree) left -= 1;
    return isFree;
  };
}

function addSignIn(host: TenantHost, nonce: string, record: SignInRecord, expires: number): "added" | "full" {
  const { sql } = host;
  if (!host.hasRoom() || host.revision() === 0) return "full";
  const older = (whose: string) =>
    `DELETE FROM login_sign_ins WHERE nonce IN (SELECT nonce FROM login_sign_ins ${whose} ORDER BY expires DESC LIMIT -1 OFFSET ?)`;
  sql.exec(older("WHERE principal = ?"), record.principal, MOST_SIGN_INS_EACH - 1);
  sql.exec(older(""), MOST_SIGN_INS - 1);
  const added = "INSERT OR REPLACE INTO login_sign_ins (nonce, principal, record, expires) VALUES (?, ?, ?, ?)";
  sql.exec(added, nonce, record.principal, JSON.stringify(record), expires);
  host.wakeAt(expires);
  return "added";
}

/** It ends with its code until that is redeemed. */
function addGrant(host: TenantHost, grant: NewGrant, code: NewCode, hasPlace: () => boolean): "added" | "full" {
  const { sql } = host;
  const now = host.now();
  // Asked again, because the answer was lost on its way. It may have ended meanwhile.
  if (sql.exec("SELECT 1 FROM login_grants WHERE id = ?", grant.id).toArray().length > 0) return "added";
  if (!hasPlace() || !host.hasRoom() || host.revision() === 0) return "full";
  const { client, principal } = grant;
  const older = "id IN (SELECT id FROM login_kept WHERE principal = ?1 ORDER BY used_at DESC LIMIT -1 OFFSET ?2)";
  endGrants(host, keptGrants(host, older, principal, MOST_OF_A_PERSON - 1), { name: "tenantry" }, false);
  const row = {
    id: grant.id,
    client: client.id,
    client_name: client.name,
    digest: client.digest,
    principal,
    person: JSON.stringify(grant.person),
    provider: grant.provider,
    key_hash: grant.keyHash,
    home: grant.home,
    resource: grant.resource,
    profile: grant.profile,
    scopes: grant.scopes && JSON.stringify(grant.scopes),
    offline: grant.offline ? 1 : 0,
    narrowing: JSON.stringify(grant.narrowing),
    created: createdNow(host, client.id),
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
    MOST_CODES - 1,
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
  host.wakeAt(now + TIDY_MS);
  return "added";
}

/** What ended needs nobody to be told: no Worker takes it any more. Gives when the next thing ends. */
function tidy(host: TenantHost, now: number): number | undefined {
  const { sql } = host;
  const deleted = host.transaction(() => {
    const gone = deleteEnded(host, now, MOST_TIDIED);
    // Those of a grant that is gone are worth nothing, and end soon.
    const old = "SELECT hash FROM login_access WHERE expires <= ? LIMIT ?";
    const tokens = sql
      .exec(`DELETE FROM login_access WHERE hash IN (${old}) RETURNING hash`, now, MOST_TIDIED)
      .toArray();
    sql.exec("DELETE FROM login_codes WHERE expires <= ?", now - REDEEMED_MS);
    sql.exec("DELETE FROM login_sign_ins WHERE expires <= ?", now);
    return Math.max(gone, tokens.length);
  });
  if (deleted === MOST_TIDIED) return now;
  const ends = `SELECT min(expires) AS at FROM login_grants UNION ALL SELECT min(expires) FROM login_access
    UNION ALL SELECT min(expires) + ${REDEEMED_MS} FROM login_codes UNION ALL SELECT min(expires) FROM login_sign_ins`;
  const { next } = sql.exec<{ next: number | null }>(`SELECT min(at) AS next FROM (${ends})`).one();
  return next === null ? undefined : Math.max(next, now + TIDY_MS);
}
