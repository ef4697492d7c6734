// Owns what becomes of codes and refresh tokens in a tenant's object: each is redeemed once. Who brings one a second time
// ends all that came of it, but for a refresh that was sent twice at about the same time, which has the same answer.

import { useKey } from "../../tenants/authority/leases.ts";
import type { WriteResult } from "../../tenants/authority/policy-records.ts";
import type { TenantHost } from "../../tenants/authority/tenant-host.ts";
import { lasts } from "../../tenants/isolate/lasting.ts";
import { endGrants, grantWhere } from "./grant-rows.ts";
import { grantIn, type GrantRow, type Grant } from "./login-records.ts";

/** Within this time the same old refresh token has the same answer. */
const SAME_ANSWER_MS = 30_000;
/** More are not good at once: whoever refreshes so often waits until one ends. */
const MOST_ACCESS = 16;
/** Of refresh tokens that were used: by one of them theft is seen. */
const MOST_USED = 200;

/** The hashes of new tokens, and how long the access token is good, milliseconds. */
export interface NewTokens {
  readonly access: string;
  readonly refresh: string;
  readonly accessMs: number;
}

/** Who asks, and for what. */
interface Asked extends NewTokens {
  readonly client: string;
  /** Of its metadata, as they are now: who consented to others is asked again. */
  readonly digest: string;
  /** Who vouches for people by the document, as it is now. */
  readonly voucher: string | undefined;
  /** As it was asked for; null: it was not. */
  readonly resource: string | null;
}

export interface RedeemAsk extends Asked {
  readonly code: string;
  /** null: it was not said again, which the verifier makes up for. */
  readonly redirect: string | null;
  /** S256 of the verifier that was brought. */
  readonly challenge: string;
}

export interface TokensGiven {
  readonly grant: Grant;
  /** How long the access token is good from now: the clock of whoever asked may be another. */
  readonly lastsMs: number;
}

export interface TokenRefused {
  readonly state: "refused";
  readonly error: "invalid_grant" | "invalid_target";
  /** For the client's developer. */
  readonly why: string;
  /** What it ended. */
  readonly ended?: WriteResult;
}

export type Redeemed = ({ readonly state: "given" } & TokensGiven) | TokenRefused;

export interface TokenRefreshAsk extends Asked {
  readonly old: string;
  /** The new tokens, sealed by a key that only who has the old one can make. */
  readonly answer: string;
  /** How old the provider's word may be; null: it is not asked. */
  readonly confirmedMs: number | null;
}

export type Refreshed =
  /** `answer`: whoever was the first made it. */
  | ({ readonly state: "given"; readonly answer: string } & TokensGiven)
  /** The provider is to be asked first. */
  | { readonly state: "confirm"; readonly grant: string }
  | { readonly state: "wait"; readonly until: number }
  | TokenRefused;

const refused = (why: string, error: TokenRefused["error"] = "invalid_grant"): TokenRefused => ({
  state: "refused",
  error,
  why,
});

/** One of the two who have it has no right to it, and nobody knows which. */
function theft(host: TenantHost, row: GrantRow, why: string): TokenRefused {
  return { ...refused(why), ended: endGrants(host, [row], { name: row.client }) };
}

/** What holds for a code and for a refresh token. */
function mismatch(host: TenantHost, row: GrantRow, { digest, resource, voucher }: Asked): TokenRefused | undefined {
  if (grantIn(row).person.issuer !== voucher || (row.key_hash !== null && !useKey(host, row.key_hash))) {
    return refused("the way in which the person signed in is closed: they have to sign in again");
  }
  if (digest !== row.digest) return refused("the client has changed since the person allowed it");
  if (resource !== null && resource !== row.resource) return refused("it is for another resource", "invalid_target");
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

export function redeem(host: TenantHost, ask: RedeemAsk): Redeemed {
  const { sql } = host;
  const query = "SELECT grant_id, redirect, challenge, expires, redeemed FROM login_codes WHERE hash = ?";
  const [code] = sql.exec<CodeRow>(query, ask.code).toArray();
  const row = code && grantWhere(host, "id = ?", code.grant_id);
  if (!row || row.client !== ask.client) return refused("the code is not known, or has ended");
  // Whoever has the code alone, out of a log, ends nothing by it.
  if (code.challenge !== ask.challenge) return refused("code_verifier is not the one of code_challenge");
  if (code.redeemed) {
    // Whoever asks again because the answer was lost on its way made these tokens, which nobody else knows.
    const same = "SELECT expires FROM login_access WHERE hash = ? AND grant_id = ?";
    const [given] = sql.exec<{ expires: number }>(same, ask.access, row.id).toArray();
    if (given) return { state: "given", grant: grantIn(row), lastsMs: given.expires - host.now() };
    return theft(host, row, "the code was redeemed before, which ends what came of it");
  }
  if (code.expires <= host.now()) return refused("the code is not known, or has ended");
  if (ask.redirect !== null && code.redirect !== ask.redirect) {
    return refused("redirect_uri is not the one of the authorization request");
  }
  const wrong = mismatch(host, row, ask);
  if (wrong) return wrong;
  sql.exec("UPDATE login_codes SET redeemed = 1 WHERE hash = ?", ask.code);
  sql.exec("UPDATE login_grants SET expires = sign_in_until WHERE id = ?", row.id);
  return { state: "given", ...give(host, row, ask) };
}

interface RefreshRow {
  [column: string]: SqlStorageValue;
  grant_id: string;
  claimed_at: number | null;
  answer: string | null;
}

export function refresh(host: TenantHost, ask: TokenRefreshAsk): Refreshed {
  const { sql } = host;
  const now = host.now();
  const query = "SELECT grant_id, claimed_at, answer FROM login_refresh WHERE hash = ?";
  const [token] = sql.exec<RefreshRow>(query, ask.old).toArray();
  const row = token && grantWhere(host, "id = ?", token.grant_id);
  if (!row || row.client !== ask.client) return refused("the refresh token is not known, or has ended");
  const wrong = mismatch(host, row, ask);
  if (wrong) return wrong;
  if (token.claimed_at !== null) return refreshAgain(host, row, token, ask);
  if (ask.confirmedMs !== null && row.provider !== null && row.confirmed_at + ask.confirmedMs < now) {
    return { state: "confirm", grant: row.id };
  }
  sql.exec("DELETE FROM login_access WHERE grant_id = ? AND expires <= ?", row.id, now);
  const ends = sql
    .exec<{ expires: number }>("SELECT expires FROM login_access WHERE grant_id = ? ORDER BY expires", row.id)
    .toArray();
  const [first] = ends;
  if (first && ends.length >= MOST_ACCESS) return { state: "wait", until: first.expires };
  sql.exec("UPDATE login_refresh SET claimed_at = ?, answer = ? WHERE hash = ?", now, ask.answer, ask.old);
  return { state: "given", answer: ask.answer, ...give(host, row, ask) };
}

function refreshAgain(
  host: TenantHost,
  row: GrantRow,
  { claimed_at: at, answer }: RefreshRow,
  ask: TokenRefreshAsk,
): Refreshed {
  if (at !== null && answer !== null && lasts(at + SAME_ANSWER_MS, SAME_ANSWER_MS, host.now() - 1)) {
    const lastsMs = Math.min(at + ask.accessMs, row.sign_in_until) - host.now();
    return { state: "given", answer, grant: grantIn(row), lastsMs };
  }
  return theft(host, row, "the refresh token was used before, which ends what came of it");
}

function give(host: TenantHost, row: GrantRow, { access, refresh: next, accessMs }: NewTokens): TokensGiven {
  const { sql } = host;
  const now = host.now();
  const expires = Math.min(now + accessMs, row.sign_in_until);
  sql.exec("UPDATE login_grants SET used_at = ? WHERE id = ?", now, row.id);
  sql.exec("INSERT INTO login_access (hash, grant_id, expires) VALUES (?, ?, ?)", access, row.id, expires);
  sql.exec("INSERT INTO login_refresh (hash, grant_id, created) VALUES (?, ?, ?)", next, row.id, now);
  // Their answers are good for nobody any more.
  sql.exec(
    "UPDATE login_refresh SET answer = NULL WHERE grant_id = ? AND claimed_at < ? AND answer IS NOT NULL",
    row.id,
    now - SAME_ANSWER_MS,
  );
  sql.exec(
    `DELETE FROM login_refresh WHERE hash IN (SELECT hash FROM login_refresh WHERE grant_id = ? AND claimed_at IS NOT NULL
       ORDER BY claimed_at DESC LIMIT -1 OFFSET ?)`,
    row.id,
    MOST_USED,
  );
  host.wakeAt(expires);
  return { grant: { ...grantIn(row), usedAt: now }, lastsMs: expires - now };
}
