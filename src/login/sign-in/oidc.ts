// Sign-in at an OpenID provider at which the tenant has a client: Okta, Entra, Google, Keycloak. Rejects an answer of
// another provider, and an ID token for another client or another sign-in.
// https://openid.net/specs/openid-connect-core-1_0.html#IDTokenValidation

import type { LoginDocument } from "../../tenants/document/tenant-document.ts";
import type { LoginContext } from "../login-context.ts";
import { getIssuerEndpoints, verifyWithIssuer } from "../issuers/issuer-keys.ts";
import type { IssuerEndpoints } from "../issuers/read-issuer.ts";
import {
  beginCodeFlow,
  revalidateWithProvider,
  finishCodeFlow,
  createRandomToken,
  type CodeProvider,
  type SignInState,
} from "./code-flow.ts";
import { providerUnavailable, isSignInFailure, unusableAnswer, unexpectedAnswer } from "./sign-in-failure.ts";
import { quirksOf, switchPromptOf } from "./provider-quirks.ts";
import { requestUser, type SignInContext } from "./provider-requests.ts";
import type { SignInFailure, IdentityProviderClient } from "./identity-provider-client.ts";
import { toProviderIdentity, toSignInSuccess } from "./provider-identity.ts";

type AnyClaims = Readonly<Record<string, unknown>>;
type Claims = AnyClaims & { readonly sub: string };

export const oidc: IdentityProviderClient = {
  begin: async (context, state, isSwitch = false) => {
    const provider = await providerOf(context);
    if (isSignInFailure(provider)) return provider;
    const { issuer = "", request: scope = "openid email profile" } = context.login;
    const { offlineParameters, refreshesWithoutConsent = false } = quirksOf(issuer);
    // https://openid.net/specs/openid-connect-core-1_0.html#OfflineAccess
    const asksConsent =
      offlineParameters !== undefined || (wantsOfflineAccess(context.login) && !refreshesWithoutConsent);
    const prompts = [isSwitch && switchPromptOf(provider.authorize), asksConsent && "consent"].filter(
      (one) => one !== false,
    );
    const prompt = prompts.join(" ") || undefined;
    return beginCodeFlow(context, provider, state, { ...offlineParameters, prompt, scope, nonce: createRandomToken() });
  },
  finish: async (context, answer, providerState) => {
    const provider = await providerOf(context);
    if (isSignInFailure(provider)) return provider;
    const { issuer = "" } = context.login;
    // https://datatracker.ietf.org/doc/html/rfc9207#section-2.4
    if ((answer.get("iss") ?? (provider.namesItself ? "" : issuer)) !== issuer) return unexpectedAnswer();
    const response = await finishCodeFlow(context, provider, answer, providerState);
    if (isSignInFailure(response)) return response;
    const claims = await readIdToken(context, response.idToken, providerState);
    if (isSignInFailure(claims)) return claims;
    const userClaims = await fetchUserClaims(context, provider.user, response.tokens.access, claims);
    if (isSignInFailure(userClaims)) return userClaims;
    if (wantsOfflineAccess(context.login) && response.tokens.refresh === undefined) {
      const why = "people must sign in again when its access token expires";
      context.tenantContext.onError(
        new Error(`${issuer} issued no refresh token, although offline_access was requested: ${why}`),
      );
    }
    return toSignInSuccess(
      issuer,
      toProviderIdentity(issuer, claims.sub, { ...userClaims, ...claims }),
      response.tokens,
    );
  },
  revalidate: async (context, tokens, person) => {
    const provider = await providerOf(context);
    if (isSignInFailure(provider)) return { state: "away" };
    return revalidateWithProvider(context, provider, tokens, async (access, response) => {
      const { issuer, subject } = person;
      const idToken = response?.idToken;
      const claims = idToken === undefined ? { sub: subject } : await readIdToken(context, idToken);
      if (isSignInFailure(claims) || claims.sub !== subject) return undefined;
      const userClaims = await fetchUserClaims(context, provider.user, access, claims, person.claims);
      // Without a new ID token, claims that only an ID token has stay as they were.
      const earlierClaims = idToken === undefined ? person.claims : {};
      return isSignInFailure(userClaims)
        ? undefined
        : toProviderIdentity(issuer, subject, {
            ...earlierClaims,
            ...userClaims,
            ...claims,
            ...verificationOf(userClaims, claims, person.claims),
          });
    });
  },
};

/** A new address without `email_verified`, from a provider that said it before, is not verified. */
function verificationOf(userClaims: AnyClaims, claims: AnyClaims, earlierClaims: AnyClaims): AnyClaims {
  const source = claims["email"] === undefined ? userClaims : claims;
  const isNew = source["email"] !== undefined && source["email"] !== earlierClaims["email"];
  const isSilent = Object.hasOwn(earlierClaims, "email_verified") && !Object.hasOwn(source, "email_verified");
  return isNew && isSilent ? { email_verified: false } : {};
}

function wantsOfflineAccess({ request = "" }: LoginDocument): boolean {
  return request.split(" ").includes("offline_access");
}

async function providerOf({ tenantContext, login }: SignInContext): Promise<CodeProvider | SignInFailure> {
  const { issuer = "" } = login;
  const endpoints = await getIssuerEndpoints(tenantContext, issuer);
  return endpoints && canSignIn(endpoints) ? endpoints : providerUnavailable(issuer);
}

function canSignIn(endpoints: IssuerEndpoints): endpoints is CodeProvider {
  return endpoints.authorize !== undefined && endpoints.token !== undefined;
}

async function readIdToken(
  { tenantContext, login }: SignInContext,
  idToken: unknown,
  providerState?: SignInState,
): Promise<Claims | SignInFailure> {
  const { issuer = "", clientId = "" } = login;
  if (typeof idToken !== "string") return unusableAnswer(issuer, "the ID token is missing");
  const verified = await verifyWithIssuer(tenantContext, idToken, { issuer, audience: [clientId] });
  if (!verified) return providerUnavailable(issuer);
  if (verified.kind === "verified") return checkIdToken(verified.claims, login, providerState);
  const why = verified.kind === "refused" ? verified.why : "its signature matches no key of its issuer";
  return unusableAnswer(issuer, `the ID token is invalid: ${why}`);
}

/**
 * Checks that the token is for this client and this sign-in. `providerState` undefined: for a refresh, which has no
 * nonce.
 */
function checkIdToken(
  claims: Claims,
  { issuer = "", clientId }: LoginDocument,
  providerState: SignInState | undefined,
): Claims | SignInFailure {
  const { aud, azp = Array.isArray(aud) && aud.length > 1 ? undefined : clientId, nonce } = claims;
  if (azp !== clientId) return unusableAnswer(issuer, "the ID token is for another client");
  return !providerState || (nonce !== undefined && nonce === providerState["nonce"]) ? claims : unexpectedAnswer();
}

/**
 * Reads needed claims that the ID token omits, such as groups at providers that keep it short. `fallback`: for a user
 * endpoint that shows nothing.
 */
async function fetchUserClaims(
  context: Pick<LoginContext, "tenantContext" | "login">,
  url: string | undefined,
  access: string,
  claims: Claims,
  fallback: Readonly<Record<string, unknown>> = {},
): Promise<Readonly<Record<string, unknown>> | SignInFailure> {
  const { issuer = "", scopes, claims: visibleNames = [] } = context.login;
  const neededClaims = [
    "name",
    "email",
    ...visibleNames,
    ...(scopes ? [scopes.claim, scopes.claim.split(".")[0] ?? ""] : []),
  ];
  const isComplete = neededClaims.every((name) => Object.hasOwn(claims, name));
  if (isComplete || url === undefined) return {};
  const user = await requestUser(context, url, access);
  if (!user) return providerUnavailable(issuer);
  // A token for an API of the tenant's own cannot read the user endpoint.
  if (user.status !== 200) return fallback;
  return user.body["sub"] === claims.sub
    ? user.body
    : unusableAnswer(issuer, "its user endpoint describes another person than the ID token");
}
