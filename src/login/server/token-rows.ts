// Codes and refresh tokens in the tenant object: each can be redeemed once. A second use ends the grant and its tokens,
// except for a refresh that was sent twice at about the same time, which gets the same answer.

import { useKey } from "../../tenants/object/lease-delta.ts";
import type { WriteResult } from "../../tenants/object/policy-records.ts";
import type { TenantHost } from "../../tenants/object/tenant-host.ts";
import { isUnexpired } from "../../tenants/cache/is-unexpired.ts";
import { endGrants, findGrant } from "./grant-rows.ts";
import { toGrant, type GrantRow, type Grant } from "./login-records.ts";

/** Within this time a used refresh token gets the same answer again. */
const REPLAY_WINDOW_MS = 30_000;
/** Most valid access tokens per grant. A client that refreshes too often waits until one expires. */
const MAX_ACCESS_TOKENS = 16;
/** Number of used refresh tokens to remember: the reuse of one reveals theft. */
const MAX_USED_TOKENS = 200;

/** The hashes of new tokens, and the lifetime of the access token in milliseconds. */
export interface NewTokens {
  readonly access: string;
  readonly refresh: string;
  readonly accessMs: number;
}

/** The client, and what it asks for. */
interface GrantRequest extends NewTokens {
  readonly client: string;
  /** Digest of the client's current metadata: a person who consented to other metadata is asked again. */
  readonly digest: string;
  /** The issuer of the document's current login. */
  readonly identityIssuer: string | undefined;
  /** The requested resource; null if none was given. */
  readonly resource: string | null;
}

export interface RedeemRequest extends GrantRequest {
  readonly code: string;
  /** null: the client did not repeat the redirect URI. The verifier makes up for that. */
  readonly redirect: string | null;
  /** S256 of the verifier in the request. */
  readonly challenge: string;
}

export interface IssuedTokens {
  readonly grant: Grant;
  /** Remaining lifetime of the access token. A duration, because the caller's clock may differ. */
  readonly expiresInMs: number;
}

export interface TokenRejection {
  readonly state: "refused";
  readonly error: "invalid_grant" | "invalid_target";
  /** For the client's developer. */
  readonly why: string;
  /** Result of ending the grant, if the rejection ended it. */
  readonly endResult?: WriteResult;
}

export type RedeemResult = ({ readonly state: "issued" } & IssuedTokens) | TokenRejection;

export interface TokenRefreshRequest extends GrantRequest {
  readonly oldHash: string;
  /** The new tokens, sealed with a key that only a holder of the old token can derive. */
  readonly sealedTokens: string;
  /** Most time since the provider confirmed the person; null: the provider is not asked. */
  readonly maxConfirmedAgeMs: number | null;
}

export type TokenRefreshResult =
  /** `sealedTokens` of the first of several simultaneous requests. */
  | ({ readonly state: "issued"; readonly sealedTokens: string } & IssuedTokens)
  /** The provider must be asked first. */
  | { readonly state: "confirm"; readonly grant: string }
  | { readonly state: "wait"; readonly until: number }
  | TokenRejection;

const rejectToken = (why: string, error: TokenRejection["error"] = "invalid_grant"): TokenRejection => ({
  state: "refused",
  error,
  why,
});

/** One of two holders has no right to the token, and the server cannot tell which. */
function endStolenGrant(host: TenantHost, row: GrantRow, why: string): TokenRejection {
  return { ...rejectToken(why), endResult: endGrants(host, [row], { name: row.client }) };
}

/** Checks for codes and refresh tokens alike. */
function checkGrant(
  host: TenantHost,
  row: GrantRow,
  { digest, resource, identityIssuer: voucher }: GrantRequest,
): TokenRejection | undefined {
  if (toGrant(row).person.issuer !== voucher || (row.key_hash !== null && !useKey(host, row.key_hash))) {
    return rejectToken("the person must sign in again: their key or sign-in method is no longer valid");
  }
  if (digest !== row.client_digest) return rejectToken("the client has changed since the person allowed it");
  if (resource !== null && resource !== row.resource)
    return rejectToken("resource differs from the authorization request", "invalid_target");
  return undefined;
}

interface CodeRow {
  [column: string]: SqlStorageValue;
  grant_id: string;
  redirect: string;
  challenge: string;
  expires: number;
  redeemed: number;
}

export function redeem(host: TenantHost, request: RedeemRequest): RedeemResult {
  const { sql } = host;
  const query = "SELECT grant_id, redirect, challenge, expires, redeemed FROM login_codes WHERE hash = ?";
  const [code] = sql.exec<CodeRow>(query, request.code).toArray();
  const row = code && findGrant(host, "id = ?", code.grant_id);
  if (!row || row.client !== request.client) return rejectToken("the code is unknown or has expired");
  // An attacker with only the code, for example from a log, must not be able to end the grant.
  if (code.challenge !== request.challenge) return rejectToken("code_verifier does not match code_challenge");
  if (code.redeemed) {
    // A caller that repeats the request after a lost answer created these tokens, which no other party knows.
    const same = "SELECT expires FROM login_access_tokens WHERE hash = ? AND grant_id = ?";
    const [issued] = sql.exec<{ expires: number }>(same, request.access, row.id).toArray();
    if (issued) return { state: "issued", grant: toGrant(row), expiresInMs: issued.expires - host.now() };
    return endStolenGrant(host, row, "the code was already used, so its tokens are revoked");
  }
  if (code.expires <= host.now()) return rejectToken("the code is unknown or has expired");
  if (request.redirect !== null && code.redirect !== request.redirect) {
    return rejectToken("redirect_uri differs from the authorization request");
  }
  const rejection = checkGrant(host, row, request);
  if (rejection) return rejection;
  sql.exec("UPDATE login_codes SET redeemed = 1 WHERE hash = ?", request.code);
  sql.exec("UPDATE login_grants SET expires = sign_in_until WHERE id = ?", row.id);
  return { state: "issued", ...issueTokens(host, row, request) };
}

interface RefreshRow {
  [column: string]: SqlStorageValue;
  grant_id: string;
  used_at: number | null;
  sealed_tokens: string | null;
}

export function refresh(host: TenantHost, request: TokenRefreshRequest): TokenRefreshResult {
  const { sql } = host;
  const now = host.now();
  const query = "SELECT grant_id, used_at, sealed_tokens FROM login_refresh_tokens WHERE hash = ?";
  const [token] = sql.exec<RefreshRow>(query, request.oldHash).toArray();
  const row = token && findGrant(host, "id = ?", token.grant_id);
  if (!row || row.client !== request.client) return rejectToken("the refresh token is unknown or has expired");
  const rejection = checkGrant(host, row, request);
  if (rejection) return rejection;
  if (token.used_at !== null) return repeatRefresh(host, row, token, request);
  if (
    request.maxConfirmedAgeMs !== null &&
    row.provider !== null &&
    row.confirmed_at + request.maxConfirmedAgeMs < now
  ) {
    return { state: "confirm", grant: row.id };
  }
  sql.exec("DELETE FROM login_access_tokens WHERE grant_id = ? AND expires <= ?", row.id, now);
  const accessTokens = sql
    .exec<{ expires: number }>("SELECT expires FROM login_access_tokens WHERE grant_id = ? ORDER BY expires", row.id)
    .toArray();
  const [firstToEnd] = accessTokens;
  if (firstToEnd && accessTokens.length >= MAX_ACCESS_TOKENS) return { state: "wait", until: firstToEnd.expires };
  sql.exec(
    "UPDATE login_refresh_tokens SET used_at = ?, sealed_tokens = ? WHERE hash = ?",
    now,
    request.sealedTokens,
    request.oldHash,
  );
  return { state: "issued", sealedTokens: request.sealedTokens, ...issueTokens(host, row, request) };
}

function repeatRefresh(
  host: TenantHost,
  row: GrantRow,
  { used_at: at, sealed_tokens: sealedTokens }: RefreshRow,
  request: TokenRefreshRequest,
): TokenRefreshResult {
  if (at !== null && sealedTokens !== null && isUnexpired(at + REPLAY_WINDOW_MS, REPLAY_WINDOW_MS, host.now() - 1)) {
    const lastsMs = Math.min(at + request.accessMs, row.sign_in_until) - host.now();
    return { state: "issued", sealedTokens, grant: toGrant(row), expiresInMs: lastsMs };
  }
  return endStolenGrant(host, row, "the refresh token was already used, so its tokens are revoked");
}

function issueTokens(
  host: TenantHost,
  row: GrantRow,
  { access, refresh: newRefresh, accessMs }: NewTokens,
): IssuedTokens {
  const { sql } = host;
  const now = host.now();
  const expires = Math.min(now + accessMs, row.sign_in_until);
  sql.exec("UPDATE login_grants SET used_at = ? WHERE id = ?", now, row.id);
  sql.exec("INSERT INTO login_access_tokens (hash, grant_id, expires) VALUES (?, ?, ?)", access, row.id, expires);
  sql.exec("INSERT INTO login_refresh_tokens (hash, grant_id, created) VALUES (?, ?, ?)", newRefresh, row.id, now);
  // Their sealed tokens are no longer valid for any caller.
  sql.exec(
    "UPDATE login_refresh_tokens SET sealed_tokens = NULL WHERE grant_id = ? AND used_at < ? AND sealed_tokens IS NOT NULL",
    row.id,
    now - REPLAY_WINDOW_MS,
  );
  sql.exec(
    `DELETE FROM login_refresh_tokens WHERE hash IN (SELECT hash FROM login_refresh_tokens WHERE grant_id = ? AND used_at IS NOT NULL
       ORDER BY used_at DESC LIMIT -1 OFFSET ?)`,
    row.id,
    MAX_USED_TOKENS,
  );
  host.scheduleAlarm(expires);
  return { grant: { ...toGrant(row), usedAt: now }, expiresInMs: expires - now };
}
