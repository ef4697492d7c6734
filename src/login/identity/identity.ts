// `ctx.identity`: tokens with which a handler calls the tenant's own API as the calling person. The isolate caches each
// until shortly before it expires, under everything that it was requested with. An audience that the document does not
// name is rejected.

import type { Identity, TokenRequest } from "../../handlers/request-scope.ts";
import type { OAuthPrincipal } from "../../auth/principal.ts";
import { canonicalJson, digest } from "../../auth/seal.ts";
import type { IdentityContext, RefreshContext } from "../../deployment/deployment.ts";
import { LruMap } from "../../limits/lru-map.ts";
import { isUnexpired } from "../../tenants/cache/is-unexpired.ts";
import { exchangeToken } from "./exchange-token.ts";
import { IdentityError } from "./identity-error.ts";
import { identitySettingsOf } from "./identity-settings.ts";
import { getProviderToken } from "./provider-token.ts";
import { createSignedToken } from "./signed-token.ts";
import type { IdentityTokenRequest, IdentityToken } from "./identity-token-request.ts";

/** A token that expires in transit is rejected by the API. */
const EXPIRY_MARGIN_MS = 30_000;
const MAX_CACHE_MS = 3_600_000;
const MAX_SCOPES = 50;
/** https://datatracker.ietf.org/doc/html/rfc6749#section-3.3 */
const SCOPE_TOKEN = /^[\x21\x23-\x5b\x5d-\x7e]{1,200}$/;

const tokenCache = new LruMap<IdentityToken>(500);

export function createIdentity(context: IdentityContext): Identity {
  return { token: (tokenRequest) => getToken(context, tokenRequest) };
}

async function getToken(context: IdentityContext, { audience, scopes = [] }: TokenRequest): Promise<string> {
  const { principal, document, credential } = context;
  if (principal.kind !== "oauth") throw new IdentityError(principal.kind);
  const person = principal as OAuthPrincipal;
  const settings = identitySettingsOf(document, person);
  if (!settings) throw new IdentityError("unset");
  if (!settings.audiences.includes(audience)) throw new IdentityError("audience");
  if (scopes.length > MAX_SCOPES || !scopes.every((scope) => SCOPE_TOKEN.test(scope)))
    throw new IdentityError("scopes");
  if (person.expires <= Date.now()) throw new IdentityError("ended");
  const request = { context, tenantContext: toRefreshContext(context), person, settings, audience, scopes };
  // The key covers everything that determines the token, so that two callers never share one.
  const key = await digest(canonicalJson([context.storageKey, person, credential, settings, audience, scopes]));
  const cached = tokenCache.get(key);
  if (cached && isUnexpired(cached.expires, MAX_CACHE_MS, Date.now())) return cached.token;
  const { token, expires: until } = await requestToken(request);
  const life = until - Date.now();
  tokenCache.set(key, {
    token,
    expires: Date.now() + Math.min(Math.max(life - EXPIRY_MARGIN_MS, life / 2), MAX_CACHE_MS),
  });
  return token;
}

function requestToken(request: IdentityTokenRequest): Promise<IdentityToken> {
  const { settings, person, context } = request;
  if (settings.via === "signed") return createSignedToken(request);
  if (settings.via === "provider") return getProviderToken(request);
  if (person.grant !== undefined)
    return getProviderToken({ ...request, scopes: [] }).then(({ token }) => exchangeToken(request, token));
  const { credential } = context;
  if (credential.kind !== "unrecognized") throw new IdentityError("stored");
  return exchangeToken(request, credential.token);
}

function toRefreshContext(context: IdentityContext): RefreshContext {
  const { tenant, document, env, context: requestContext, cachedPolicy } = context;
  return {
    tenant,
    placement: requestContext.placement,
    created: cachedPolicy.created,
    revision: cachedPolicy.version,
    document,
    sectionHashes: cachedPolicy.sections,
    server: requestContext.deployment.catalog.server,
    env: env as RefreshContext["env"],
    stub: () => context.stub(),
    secret: (name) => context.secret(name),
    onError: (error) => {
      context.onError(error);
    },
  };
}
