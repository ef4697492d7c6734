// `/token` and `/revoke`: authenticates the client, then redeems a code or a refresh token. Of several simultaneous
// requests with one refresh token the first wins, and all get its answer.
// https://datatracker.ietf.org/doc/html/draft-ietf-oauth-v2-1-13#section-4.1.3,
// https://datatracker.ietf.org/doc/html/rfc7009

import { hashToken, createKey } from "../../auth/api-key.ts";
import type { LoginContext } from "../login-context.ts";
import { seal, unseal, type KeyRing } from "../../auth/seal.ts";
import { omitUndefined } from "../../protocol/members.ts";
import { withRetries } from "../../streams/with-retries.ts";
import type { Revalidation, ProviderIdentity, IdentityProviderClient } from "../sign-in/identity-provider-client.ts";
import { IDENTITY_PROVIDERS } from "../sign-in/identity-providers.ts";
import { OAuthError, unavailableError, jsonResponse } from "./oauth-responses.ts";
import { identityIssuerOf } from "./grant-principal.ts";
import { getLoginStub, toTokenError, waitForEnd } from "./login-stub.ts";
import { matchResource, findRepeated, repeatedMessage } from "./authorize.ts";
import { unsealProvider, sealProvider } from "./provider-seal.ts";
import type { ProviderUpdate } from "./login-store.ts";
import type { TokenRefreshRequest, TokenRefreshResult, IssuedTokens, NewTokens } from "./token-rows.ts";
import { findClient } from "./find-client.ts";
import type { LoginClient } from "./login-records.ts";

const ACCESS_MINUTES = 60;
const MINUTE_MS = 60_000;
/** Most time since the provider confirmed the person. */
const REVALIDATE_AFTER_MS = 3_600_000;
const MAX_WAIT_MS = 10_000;
const POLL_MS = 200;
const PURPOSE = "refreshed";

export async function handleToken(context: LoginContext): Promise<Response> {
  const { client, form } = await authenticateClient(context);
  const resourceUrls = form.getAll("resource");
  const resource =
    resourceUrls.length === 0
      ? null
      : matchResource(context.urls, context.tenantContext.document, resourceUrls)?.resource;
  if (resource === undefined) throw new OAuthError("invalid_target", "resource must be an endpoint of this tenant");
  const newTokens = await createTokenPair((context.login.accessMinutes ?? ACCESS_MINUTES) * MINUTE_MS);
  const grantRequest = {
    client: client.id,
    digest: client.digest,
    identityIssuer: identityIssuerOf(context.login),
    resource,
    ...newTokens.hashes,
  };
  const type = form.get("grant_type");
  if (type === "refresh_token") return refreshTokens(context, requireField(form, type), { newTokens, grantRequest });
  if (type !== "authorization_code") {
    throw new OAuthError("unsupported_grant_type", "grant_type must be authorization_code or refresh_token");
  }
  const [code, challenge] = await Promise.all([
    hashToken(requireField(form, "code")),
    // The S256 challenge is the same hash.
    hashToken(requireField(form, "code_verifier")),
  ]);
  const redeemed = await getLoginStub(context).redeem({
    ...grantRequest,
    code,
    challenge,
    redirect: form.get("redirect_uri"),
  });
  if (redeemed.state === "refused") throw await toTokenError(redeemed);
  return tokenResponse(newTokens, redeemed);
}

async function refreshTokens(
  context: LoginContext,
  oldToken: string,
  {
    newTokens,
    grantRequest,
  }: {
    readonly newTokens: NewTokenPair;
    readonly grantRequest: Omit<TokenRefreshRequest, "oldHash" | "sealedTokens" | "maxConfirmedAgeMs">;
  },
): Promise<Response> {
  const ring = await keyRingOf(oldToken);
  const { access, refresh } = newTokens;
  const sealedTokens = await seal(ring, PURPOSE, JSON.stringify({ access, refresh }));
  const identityProvider = IDENTITY_PROVIDERS[context.login.via];
  const refreshRequest = {
    ...grantRequest,
    oldHash: await hashToken(oldToken),
    sealedTokens,
    maxConfirmedAgeMs: identityProvider?.revalidate ? REVALIDATE_AFTER_MS : null,
  };
  const refreshed = await refreshWithRevalidation(context, refreshRequest, identityProvider);
  if (refreshed.state === "refused") throw await toTokenError(refreshed);
  if (refreshed.state === "wait") throw tooManyTokens(refreshed.until);
  const unsealed = await unseal(ring, PURPOSE, refreshed.sealedTokens);
  if (unsealed === undefined) throw new Error("the tokens were not sealed with the token that they replace");
  return tokenResponse(JSON.parse(unsealed) as typeof newTokens, refreshed);
}

/** Only a holder of the old token can derive this key. */
async function keyRingOf(oldToken: string): Promise<KeyRing> {
  const text = new TextEncoder().encode(`answer ${oldToken}`);
  return [{ id: "old", secret: new Uint8Array(await crypto.subtle.digest("SHA-256", text)) }];
}

function tooManyTokens(until: number): OAuthError {
  const seconds = Math.max(1, Math.ceil((until - Date.now()) / 1000));
  const why = "too many access tokens are valid at once: use one until it expires";
  return new OAuthError("temporarily_unavailable", why, 429, { "retry-after": String(seconds) });
}

/** The parts of a login context that a revalidation needs. */
type RevalidationContext = Parameters<NonNullable<IdentityProviderClient["revalidate"]>>[0] &
  Pick<LoginContext, "waitUntil">;
type FinalTokenRefresh = Exclude<TokenRefreshResult, { readonly state: "confirm" }>;

/** `identityProvider` is undefined if there is none to ask. */
export async function refreshWithRevalidation(
  context: RevalidationContext,
  refreshRequest: TokenRefreshRequest,
  identityProvider: IdentityProviderClient | undefined,
): Promise<FinalTokenRefresh> {
  const loginStub = getLoginStub(context);
  for (const deadline = Date.now() + MAX_WAIT_MS; Date.now() < deadline;) {
    const refreshed = await loginStub.refresh(refreshRequest);
    if (refreshed.state !== "confirm") return refreshed;
    const { grant } = refreshed;
    const claim = await loginStub.claimProvider(grant);
    if (claim.state === "claimed" && claim.provider !== null && identityProvider) {
      const revalidation = revalidateGrant(context, identityProvider, {
        grant,
        sealed: claim.provider,
        person: claim.person,
      });
      // The request may end before the provider answers, and a provider issues a new refresh token only once.
      context.waitUntil(revalidation.catch(() => {}));
      await Promise.race([revalidation, scheduler.wait(deadline - Date.now())]);
    } else await scheduler.wait(POLL_MS);
  }
  throw providerUnavailableError();
}

function providerUnavailableError(): OAuthError {
  return unavailableError("the identity provider cannot be reached right now: try again", 30);
}

interface SealedProviderTokens {
  readonly grant: string;
  readonly sealed: string;
  readonly person: ProviderIdentity;
}

/** Returns undefined if the provider's tokens cannot be unsealed. */
async function revalidatePerson(
  context: RevalidationContext,
  identityProvider: IdentityProviderClient,
  { grant, sealed, person }: SealedProviderTokens,
): Promise<Revalidation | undefined> {
  try {
    const provider = await unsealProvider(context.tenantContext, grant, sealed);
    return provider && (await identityProvider.revalidate?.(context, provider, person));
  } catch (error) {
    context.tenantContext.onError(error);
    return { state: "away" };
  }
}

async function revalidateGrant(
  context: RevalidationContext,
  identityProvider: IdentityProviderClient,
  sealedTokens: SealedProviderTokens,
): Promise<void> {
  const loginStub = getLoginStub(context);
  const { grant } = sealedTokens;
  const revalidation = await revalidatePerson(context, identityProvider, sealedTokens);
  const tokens = revalidation && "provider" in revalidation ? revalidation.provider : undefined;
  const provider = tokens && (await sealProvider(context.tenantContext, grant, tokens));
  // The provider may issue a refresh token only once, so an overloaded object is retried.
  const saveUpdate = (more: ProviderUpdate) =>
    withRetries(() => loginStub.saveProvider(grant, { ...omitUndefined({ provider }), ...more }), true);
  if (revalidation?.state === "confirmed") {
    await saveUpdate({ ...omitUndefined({ person: revalidation.person }), revalidation: true });
  } else if (revalidation?.state === "away") {
    await saveUpdate({});
    throw providerUnavailableError();
  } else {
    await waitForEnd(await loginStub.endGrant(grant, { name: "tenantry" }));
    throw new OAuthError("invalid_grant", "the identity provider no longer accepts the person");
  }
}

export async function handleRevoke(context: LoginContext): Promise<Response> {
  const { client, form } = await authenticateClient(context);
  // For its client, an unknown token is as good as revoked.
  await waitForEnd(await getLoginStub(context).revoke(await hashToken(requireField(form, "token")), client.id));
  return new Response(null, { headers: { "cache-control": "no-store" } });
}

/** Created before the call to the tenant object, which only gets their hashes. */
interface NewTokenPair {
  readonly access: string;
  readonly refresh: string;
  readonly hashes: NewTokens;
}

async function createTokenPair(accessMs: number): Promise<NewTokenPair> {
  const [access, refresh] = await Promise.all([createKey("access"), createKey("refresh")]);
  const hashes = { access: access.hash, refresh: refresh.hash, accessMs };
  return { access: access.token, refresh: refresh.token, hashes };
}

function requireField(form: URLSearchParams, name: string): string {
  const value = form.get(name);
  if (value === null) throw new OAuthError("invalid_request", `${name} is missing`);
  return value;
}

function tokenResponse(
  { access, refresh }: Pick<NewTokenPair, "access" | "refresh">,
  { grant: { scopes, offline }, expiresInMs: lastsMs }: IssuedTokens,
): Response {
  // A client may reject a scope that it did not ask for.
  const scope = [...(scopes ?? []), ...(offline ? ["offline_access"] : [])].join(" ");
  return jsonResponse({
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

async function authenticateClient(context: LoginContext): Promise<ClientForm> {
  const form = new URLSearchParams(context.body);
  const repeated = findRepeated(form);
  if (repeated !== undefined) throw new OAuthError("invalid_request", repeatedMessage(repeated));
  const basic = parseBasicAuth(context.request.headers.get("authorization"));
  const [id, secret] = basic ?? [form.get("client_id"), form.get("client_secret")];
  const invalidClient = (why: string) =>
    new OAuthError("invalid_client", why, 401, basic ? { "www-authenticate": 'Basic realm="tenantry"' } : {});
  if (id === null) throw invalidClient("client_id is missing");
  if (basic && (form.get("client_id") ?? id) !== id) throw invalidClient("the request names two different clients");
  const client = await findClient(context, id);
  if (client.kind === "clientRefusal") throw invalidClient(client.why);
  const { secretHash } = client;
  if (secretHash !== null && !timingSafeEqual(secretHash, await hashToken(secret ?? "")))
    throw invalidClient("the client secret is wrong");
  return { client, form };
}

function parseBasicAuth(authorization: string | null): readonly [id: string, secret: string] | undefined {
  const [, encoded] = /^Basic +([\w+/-]+=*) *$/i.exec(authorization ?? "") ?? [];
  if (encoded === undefined) return undefined;
  try {
    const [id = "", ...secret] = atob(encoded).split(":");
    return [formDecode(id), formDecode(secret.join(":"))];
  } catch {
    return undefined;
  }
}

/** Both parts are form-encoded (RFC 6749, section 2.3.1). */
function formDecode(text: string): string {
  return decodeURIComponent(text.replaceAll("+", " "));
}

/** Takes the same time wherever the texts differ. */
function timingSafeEqual(a: string, b: string): boolean {
  let differs = a.length ^ b.length;
  for (let at = 0; at < a.length; at += 1) differs |= a.charCodeAt(at) ^ b.charCodeAt(at);
  return differs === 0;
}
