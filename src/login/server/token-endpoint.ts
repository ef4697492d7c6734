// `/token` and `/revoke`: which client sends the form, and what becomes of a code or a refresh token. Of all who bring one refresh token
// at about the same time the first wins, and all have its answer.
// https://datatracker.ietf.org/doc/html/draft-ietf-oauth-v2-1-13#section-4.1.3, https://datatracker.ietf.org/doc/html/rfc7009

import { hashToken, createKey } from "../../auth/api-key.ts";
import type { LoginVisit } from "../login-visit.ts";
import { seal, unseal, type KeyRing } from "../../auth/seal.ts";
import { given } from "../../protocol/members.ts";
import { persistently } from "../../streams/persistently.ts";
import type { Confirmed, SignedIn, SignIn } from "../sign-in/sign-in.ts";
import { WAYS } from "../sign-in/ways.ts";
import { OAuthError, awayFor, answerJson } from "./answers.ts";
import { voucherOf } from "./grant-bearer.ts";
import { loginOf, refusalOfToken, untilEnded } from "./login-door.ts";
import { resourceOf, repeatedIn } from "./authorize.ts";
import { openProvider, sealProvider } from "./provider-seal.ts";
import type { KeptProvider } from "./login-tables.ts";
import type { TokenRefreshAsk, Refreshed, TokensGiven, NewTokens } from "./token-rows.ts";
import { findClient } from "./find-client.ts";
import type { LoginClient } from "./login-records.ts";

const ACCESS_MINUTES = 60;
const MINUTE_MS = 60_000;
/** How old the provider's word may be. */
const CONFIRMED_MS = 3_600_000;
const WAITS_MS = 10_000;
const LOOKS_EVERY_MS = 200;
const PURPOSE = "refreshed";

export async function answerToken(visit: LoginVisit): Promise<Response> {
  const { client, form } = await clientForm(visit);
  const named = form.getAll("resource");
  const resource = named.length === 0 ? null : resourceOf(visit.urls, visit.ground.document, named)?.resource;
  if (resource === undefined) throw new OAuthError("invalid_target", "resource names no endpoint of this tenant");
  const fresh = await freshTokens((visit.login.accessMinutes ?? ACCESS_MINUTES) * MINUTE_MS);
  const by = { client: client.id, digest: client.digest, voucher: voucherOf(visit.login), resource, ...fresh.hashes };
  const type = form.get("grant_type");
  if (type === "refresh_token") return refreshTokens(visit, memberOf(form, type), { fresh, by });
  if (type !== "authorization_code") {
    throw new OAuthError("unsupported_grant_type", "grant_type is authorization_code or refresh_token");
  }
  const [code, challenge] = await Promise.all([
    hashToken(memberOf(form, "code")),
    // As S256 has it.
    hashToken(memberOf(form, "code_verifier")),
  ]);
  const redeemed = await loginOf(visit).redeem({ ...by, code, challenge, redirect: form.get("redirect_uri") });
  if (redeemed.state === "refused") throw await refusalOfToken(redeemed);
  return answerTokens(fresh, redeemed);
}

async function refreshTokens(
  visit: LoginVisit,
  old: string,
  { fresh, by }: { readonly fresh: FreshTokens; readonly by: Omit<TokenRefreshAsk, "old" | "answer" | "confirmedMs"> },
): Promise<Response> {
  const ring = await ringOf(old);
  const { access, refresh } = fresh;
  const answer = await seal(ring, PURPOSE, JSON.stringify({ access, refresh }));
  const way = WAYS[visit.login.via];
  const ask = { ...by, old: await hashToken(old), answer, confirmedMs: way?.confirm ? CONFIRMED_MS : null };
  const refreshed = await confirmedRefresh(visit, ask, way);
  if (refreshed.state === "refused") throw await refusalOfToken(refreshed);
  if (refreshed.state === "wait") throw tooMany(refreshed.until);
  const winners = await unseal(ring, PURPOSE, refreshed.answer);
  if (winners === undefined) throw new Error("an answer was sealed by another token than its own");
  return answerTokens(JSON.parse(winners) as typeof fresh, refreshed);
}

/** Only who has the old token can open what is sealed so. */
async function ringOf(old: string): Promise<KeyRing> {
  const text = new TextEncoder().encode(`answer ${old}`);
  return [{ id: "old", secret: new Uint8Array(await crypto.subtle.digest("SHA-256", text)) }];
}

function tooMany(until: number): OAuthError {
  const seconds = Math.max(1, Math.ceil((until - Date.now()) / 1000));
  const why = "too many access tokens are good at once: use one until it ends";
  return new OAuthError("temporarily_unavailable", why, 429, { "retry-after": String(seconds) });
}

/** What of a visit it takes to ask. */
type Confirming = Parameters<NonNullable<SignIn["confirm"]>>[0] & Pick<LoginVisit, "waitUntil">;
type Settled = Exclude<Refreshed, { readonly state: "confirm" }>;

/** `way`: how the person signed in; undefined: nobody can be asked. */
export async function confirmedRefresh(
  visit: Confirming,
  ask: TokenRefreshAsk,
  way: SignIn | undefined,
): Promise<Settled> {
  const tables = loginOf(visit);
  for (const until = Date.now() + WAITS_MS; Date.now() < until;) {
    const refreshed = await tables.refresh(ask);
    if (refreshed.state !== "confirm") return refreshed;
    const { grant } = refreshed;
    const claim = await tables.claimProvider(grant);
    if (claim.state === "claimed" && claim.provider !== null && way) {
      const asked = askProvider(visit, way, { grant, sealed: claim.provider, person: claim.person });
      // The request may end before the provider answers, and a new refresh token is given once.
      visit.waitUntil(asked.catch(() => {}));
      await Promise.race([asked, scheduler.wait(until - Date.now())]);
    } else await scheduler.wait(LOOKS_EVERY_MS);
  }
  throw away();
}

function away(): OAuthError {
  return awayFor("who signed the person in cannot be asked right now: try again", 30);
}

interface Held {
  readonly grant: string;
  readonly sealed: string;
  readonly person: SignedIn;
}

/** undefined: nobody can open what they would be asked by. */
async function confirmedBy(
  visit: Confirming,
  way: SignIn,
  { grant, sealed, person }: Held,
): Promise<Confirmed | undefined> {
  try {
    const provider = await openProvider(visit.ground, grant, sealed);
    return provider && (await way.confirm?.(visit, provider, person));
  } catch (error) {
    visit.ground.onError(error);
    return { state: "away" };
  }
}

async function askProvider(visit: Confirming, way: SignIn, held: Held): Promise<void> {
  const tables = loginOf(visit);
  const { grant } = held;
  const confirmed = await confirmedBy(visit, way, held);
  const tokens = confirmed && "provider" in confirmed ? confirmed.provider : undefined;
  const provider = tokens && (await sealProvider(visit.ground, grant, tokens));
  // The provider may give a refresh token only once, so an overloaded object is asked again.
  const keep = (more: KeptProvider) =>
    persistently(() => tables.keepProvider(grant, { ...given({ provider }), ...more }), true);
  if (confirmed?.state === "confirmed") {
    await keep({ ...given({ person: confirmed.person }), confirmed: true });
  } else if (confirmed?.state === "away") {
    await keep({});
    throw away();
  } else {
    await untilEnded(await tables.endGrant(grant, { name: "tenantry" }));
    throw new OAuthError("invalid_grant", "who signed the person in does not let them in any more");
  }
}

export async function answerRevoke(visit: LoginVisit): Promise<Response> {
  const { client, form } = await clientForm(visit);
  // A token that is none has been revoked already, as far as its client can tell.
  await untilEnded(await loginOf(visit).revoke(await hashToken(memberOf(form, "token")), client.id));
  return new Response(null, { headers: { "cache-control": "no-store" } });
}

/** Made before the authority is asked, which learns their hashes. */
interface FreshTokens {
  readonly access: string;
  readonly refresh: string;
  readonly hashes: NewTokens;
}

async function freshTokens(accessMs: number): Promise<FreshTokens> {
  const [access, refresh] = await Promise.all([createKey("access"), createKey("refresh")]);
  const hashes = { access: access.hash, refresh: refresh.hash, accessMs };
  return { access: access.token, refresh: refresh.token, hashes };
}

function memberOf(form: URLSearchParams, name: string): string {
  const value = form.get(name);
  if (value === null) throw new OAuthError("invalid_request", `${name} is missing`);
  return value;
}

function answerTokens(
  { access, refresh }: Pick<FreshTokens, "access" | "refresh">,
  { grant: { scopes, offline }, lastsMs }: TokensGiven,
): Response {
  // A client may refuse a name that it did not ask for.
  const scope = [...(scopes ?? []), ...(offline ? ["offline_access"] : [])].join(" ");
  return answerJson({
    access_token: access,
    token_type: "Bearer",
    expires_in: Math.max(1, Math.floor(lastsMs / 1000)),
    refresh_token: refresh,
    ...(scope !== "" && { scope }),
  });
}

interface ClientForm {
  readonly client: LoginClient;
  readonly form: URLSearchParams;
}

async function clientForm(visit: LoginVisit): Promise<ClientForm> {
  const form = new URLSearchParams(visit.body);
  const twice = repeatedIn(form);
  if (twice !== undefined) throw new OAuthError("invalid_request", `${twice} is there twice`);
  const basic = basicOf(visit.request.headers.get("authorization"));
  const [id, secret] = basic ?? [form.get("client_id"), form.get("client_secret")];
  const wrong = (why: string) =>
    new OAuthError("invalid_client", why, 401, basic ? { "www-authenticate": 'Basic realm="tenantry"' } : {});
  if (id === null) throw wrong("client_id is missing");
  if (basic && (form.get("client_id") ?? id) !== id) throw wrong("there are two clients in one request");
  const client = await findClient(visit, id);
  if (client.kind === "clientRefusal") throw wrong(client.why);
  const { secretHash } = client;
  if (secretHash !== null && !isSame(secretHash, await hashToken(secret ?? ""))) throw wrong("the secret is wrong");
  return { client, form };
}

function basicOf(authorization: string | null): readonly [id: string, secret: string] | undefined {
  const [, encoded] = /^Basic +([\w+/-]+=*) *$/i.exec(authorization ?? "") ?? [];
  if (encoded === undefined) return undefined;
  try {
    const [id = "", ...secret] = atob(encoded).split(":");
    return [decoded(id), decoded(secret.join(":"))];
  } catch {
    return undefined;
  }
}

/** Both are form-encoded before. */
function decoded(text: string): string {
  return decodeURIComponent(text.replaceAll("+", " "));
}

/** In the same time, wherever they differ. */
function isSame(a: string, b: string): boolean {
  let differs = a.length ^ b.length;
  for (let at = 0; at < a.length; at += 1) differs |= a.charCodeAt(at) ^ b.charCodeAt(at);
  return differs === 0;
}
