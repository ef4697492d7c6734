// Authenticates callers with tokens of authorization servers, and anonymous callers in the mode `mixed`. An isolate
// verifies each token once. Rejections say where to get a token. A tenant that takes only tokens accepts no keys.

import { keyIdOf } from "../auth/api-key.ts";
import type { Credential } from "../auth/credential.ts";
import { insecureTransportError } from "../auth/origin.ts";
import { peekIssuer, type JwtClaims } from "../auth/jwt.ts";
import { ANONYMOUS, type OAuthPrincipal, type Principal } from "../auth/principal.ts";
import type { CallerContext } from "../deployment/deployment.ts";
import { failure, type Failure } from "../protocol/errors.ts";
import { isFailure } from "../protocol/methods/params.ts";
import {
  issuersOf,
  acceptsTokens,
  type IssuerDocument,
  type TenantDocument,
} from "../tenants/document/tenant-document.ts";
import { principalFromClaims } from "./claims.ts";
import { verifyWithIssuer } from "./issuers/issuer-keys.ts";
import { initialScopesOf } from "./oauth-scopes.ts";
import { createChallenge, tenantIssuerOf, endpointUrlsOf, type EndpointUrls } from "./protected-resource.ts";

/** Tokens that an isolate caches per tenant; the one verified first is evicted first. */
const MAX_TOKENS = 1000;
/** Total length of the cached tokens: an attacker's issuer may write long ones, and other tenants share the memory. */
const MAX_TOKEN_CHARACTERS = 2_000_000;

type TokenCache = Map<string, OAuthPrincipal>;
/** The key in a cached policy's derived values. */
const TOKEN_CACHE = Symbol("tokens");
type AuthenticationResult = Principal | Failure;

export async function authenticateBearer(callerContext: CallerContext): Promise<AuthenticationResult> {
  const { principalResult, document, context } = callerContext;
  const { credential } = context.target;
  const { mode, auth } = document;
  if (!acceptsTokens(mode) || !auth) return principalResult;
  if (credential.kind === "storedPrincipal") return recheckPerson(credential.person, issuersOf(document));
  if (credential.kind === "app")
    return isFailure(principalResult) ? principalResult : withAnonymousScopes(principalResult, document);
  const endpointUrls = requestedEndpointUrls(context);
  if (credential.kind === "unrecognized") return authenticateToken(credential.token, endpointUrls, callerContext);
  if (isFailure(principalResult))
    return principalResult.error === "unauthorized" ? rejectCredential(callerContext, credential) : principalResult;
  return isForOtherEndpoint(principalResult, credential.kind, endpointUrls)
    ? unauthorizedFailure(callerContext, WRONG_AUDIENCE)
    : withAnonymousScopes(principalResult, document);
}

/** For a caller without a credential, or with a key or token of ours that is not one of this tenant. */
function rejectCredential(callerContext: CallerContext, credential: Credential): AuthenticationResult {
  const { document } = callerContext;
  const { mode } = document;
  if (credential.kind === "none")
    return mode === "mixed"
      ? { ...ANONYMOUS, scopes: anonymousScopesOf(document) }
      : unauthorizedFailure(callerContext);
  if (credential.kind === "key" && keyIdOf(credential.token) === undefined)
    return unauthorizedFailure(callerContext, "it has expired or was revoked");
  return unauthorizedFailure(
    callerContext,
    mode === "oauth" ? "this tenant does not accept API keys" : "it is not a key of this tenant",
  );
}

const WRONG_AUDIENCE = "it is for another audience";

/**
 * A token of ours is for one endpoint. For a call that outlives its request, this was checked when the request came.
 */
function isForOtherEndpoint(principal: Principal, kind: string, { canonical }: EndpointUrls): boolean {
  const { resource = canonical } = principal as Partial<OAuthPrincipal>;
  return kind === "key" && resource !== canonical;
}

/** Scopes of the tenant that need no credential; empty outside the mode `mixed`. */
function anonymousScopesOf({ mode, auth }: TenantDocument): readonly string[] {
  return mode === "mixed" ? (auth?.anonymous?.scopes ?? []) : [];
}

/** A signed-in person also has the anonymous scopes; a key has only its own. */
function withAnonymousScopes(principal: Principal, document: TenantDocument): Principal {
  const { kind, scopes } = principal;
  const more = anonymousScopesOf(document);
  return kind !== "key" && scopes && more.length > 0
    ? { ...principal, scopes: [...new Set([...more, ...scopes])] }
    : principal;
}

/** The URLs of the endpoint that the request is for. */
export function requestedEndpointUrls({ target, request, deployment }: CallerContext["context"]): EndpointUrls {
  return endpointUrlsOf(request, deployment.path, target.path);
}

/** A person in a browser has opened a URL that is meant for a client. */
function browserHint({ headers }: Request): string | undefined {
  const isBrowser = headers.get("accept")?.includes("text/html");
  return isBrowser
    ? "Authorization required: add this URL to an MCP client, which opens the page to sign in"
    : undefined;
}

/** Without an error if no credential came: https://datatracker.ietf.org/doc/html/rfc6750#section-3.1 */
export function unauthorizedFailure(
  { context, document: { auth } }: Pick<CallerContext, "context" | "document">,
  why?: string,
): Failure {
  const insecure = insecureTransportError(context.request);
  if (insecure) return insecure;
  const message = why === undefined ? browserHint(context.request) : `Invalid credential: ${why}`;
  const challengeError = why === undefined ? undefined : ({ error: "invalid_token", why } as const);
  const challenge = createChallenge(requestedEndpointUrls(context), auth ? initialScopesOf(auth) : [], challengeError);
  return { ...failure("unauthorized", message), challenge };
}

/** The token is valid until it expires, while its issuer is one of the tenant's. */
function recheckPerson(person: OAuthPrincipal, issuers: readonly IssuerDocument[]): AuthenticationResult {
  const isTrusted = issuers.some(({ issuer }) => issuer === person.issuer);
  return isTrusted && Date.now() < person.expires
    ? person
    : failure("unauthorized", "The token of this call is no longer valid");
}

async function authenticateToken(
  token: string,
  endpointUrls: EndpointUrls,
  callerContext: CallerContext,
): Promise<AuthenticationResult> {
  const { memo } = callerContext;
  const cache = (memo.get(TOKEN_CACHE) as TokenCache | undefined) ?? new Map<string, OAuthPrincipal>();
  memo.set(TOKEN_CACHE, cache);
  // A token is valid for some endpoints of a tenant only.
  const key = `${endpointUrls.canonical} ${token}`;
  const person = cache.get(key);
  if (person) {
    if (Date.now() < person.expires) return person;
    cache.delete(key);
    return unauthorizedFailure(callerContext, "it has expired");
  }
  const verified = await verifyToken(token, endpointUrls, callerContext);
  if ("kind" in verified && verified.kind === "failure") return verified;
  const principal = { ...verified, tenantIssuer: tenantIssuerOf(callerContext.context) };
  cacheToken(cache, key, principal);
  return principal;
}

/** The newest token stays cached whatever its length. */
export function cacheToken(cache: TokenCache, key: string, person: OAuthPrincipal): void {
  cache.set(key, person);
  let characters = 0;
  for (const { length } of cache.keys()) characters += length;
  for (const oldest of cache.keys()) {
    if ((cache.size <= MAX_TOKENS && characters <= MAX_TOKEN_CHARACTERS) || oldest === key) break;
    cache.delete(oldest);
    characters -= oldest.length;
  }
}

async function verifyToken(
  token: string,
  endpointUrls: EndpointUrls,
  callerContext: CallerContext,
): Promise<OAuthPrincipal | Failure> {
  const claimedName = peekIssuer(token);
  const issuer = issuersOf(callerContext.document).find((one) => one.issuer === claimedName);
  if (!issuer)
    return unauthorizedFailure(
      callerContext,
      claimedName === undefined ? "it is neither a key nor a token" : "it has another issuer",
    );
  const claims = await claimsOf(token, issuer, { endpointUrls, callerContext });
  if (isFailure(claims)) return claims;
  return principalFromClaims(issuer, claims, anonymousScopesOf(callerContext.document));
}

interface ClaimsRequest {
  readonly endpointUrls: EndpointUrls;
  readonly callerContext: CallerContext;
}

async function claimsOf(
  token: string,
  issuer: IssuerDocument,
  { endpointUrls, callerContext }: ClaimsRequest,
): Promise<JwtClaims | Failure> {
  const refreshContext = callerContext.createRefreshContext();
  const audience = audienceOf(issuer, endpointUrls, callerContext);
  try {
    const verified = await verifyWithIssuer(refreshContext, token, { issuer: issuer.issuer, audience });
    if (verified?.kind === "verified") return verified.claims;
    if (verified)
      return unauthorizedFailure(
        callerContext,
        verified.kind === "refused" ? verified.why : "its signature matches no key of its issuer",
      );
  } catch (error) {
    refreshContext.onError(error);
  }
  // Not 401: clients would make the person log in again, to no effect.
  const why = "Service unavailable: the authorization server of this token cannot be reached right now";
  return { ...failure("unavailable", why), retryAfter: 5 };
}

/** An audience set by an operator is for the tenant without a profile: it does not identify a profile. */
function audienceOf(
  { audience }: IssuerDocument,
  { canonical, asSent }: EndpointUrls,
  { context }: CallerContext,
): readonly string[] {
  return context.target.profile === null && audience ? audience : [canonical, asSent];
}
