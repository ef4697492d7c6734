// Owns signing in at an OpenID provider at which the tenant has one client: Okta, Entra, Google, Keycloak. Refuses an
// answer of another provider, and an ID token that is not for this client and this very sign-in.
// https://openid.net/specs/openid-connect-core-1_0.html#IDTokenValidation

import type { LoginDocument } from "../../tenants/document/tenant-document.ts";
import type { LoginVisit } from "../login-visit.ts";
import { endpointsOf, verifiedBy } from "../issuers/issuer-keys.ts";
import type { IssuerEndpoints } from "../issuers/read-issuer.ts";
import {
  beginCode,
  confirmAt,
  finishCode,
  randomName,
  switchPrompt,
  type CodeProvider,
  type Kept,
} from "./code-flow.ts";
import { awayAt, isRefused, misfitAt, strayAnswer } from "./not-signed-in.ts";
import { askUser, type SignInGround } from "./provider-requests.ts";
import type { NotSignedIn, SignIn } from "./sign-in.ts";
import { signedIn, signedInAt } from "./signed-in.ts";

type Claims = Readonly<Record<string, unknown>> & { readonly sub: string };

/** Google gives a token to ask again with to whoever asks so, and to nobody who asks for a scope. */
const GOOGLE = "https://accounts.google.com";
const OFFLINE = { access_type: "offline" };
/** Entra gives one without it; with it, it asks people for what only their administrator may grant. */
const ENTRA = /^https:\/\/[^/]*(?:microsoftonline|ciamlogin)\.[^/]*\//;

export const oidc: SignIn = {
  begin: async (visit, state, isSwitch = false) => {
    const provider = await providerOf(visit);
    if (isRefused(provider)) return provider;
    const { issuer = "", request: scope = "openid email profile" } = visit.login;
    const offline = issuer === GOOGLE && OFFLINE;
    // https://openid.net/specs/openid-connect-core-1_0.html#OfflineAccess
    const consents = offline || (isOffline(visit.login) && !ENTRA.test(issuer));
    const prompts = [isSwitch && switchPrompt(provider.authorize), consents && "consent"].filter(
      (one) => one !== false,
    );
    const prompt = prompts.join(" ") || undefined;
    return beginCode(visit, provider, state, { ...offline, prompt, scope, nonce: randomName() });
  },
  finish: async (visit, answer, kept) => {
    const provider = await providerOf(visit);
    if (isRefused(provider)) return provider;
    const { issuer = "" } = visit.login;
    // https://datatracker.ietf.org/doc/html/rfc9207#section-2.4
    if ((answer.get("iss") ?? (provider.namesItself ? "" : issuer)) !== issuer) return strayAnswer();
    const given = await finishCode(visit, provider, answer, kept);
    if (isRefused(given)) return given;
    const claims = await claimsOf(visit, given.idToken, kept);
    if (isRefused(claims)) return claims;
    const said = await alsoSaid(visit, provider.user, given.tokens.access, claims);
    if (isRefused(said)) return said;
    if (isOffline(visit.login) && given.tokens.refresh === undefined) {
      const why = "people sign in again when its access token ends";
      visit.ground.onError(new Error(`${issuer} gave no refresh token, though offline_access was asked for: ${why}`));
    }
    return signedInAt(issuer, signedIn(issuer, claims.sub, { ...said, ...claims }), given.tokens);
  },
  confirm: async (visit, tokens, person) => {
    const provider = await providerOf(visit);
    if (isRefused(provider)) return { state: "away" };
    return confirmAt(visit, provider, tokens, async (access, given) => {
      const { issuer, subject } = person;
      const idToken = given?.idToken;
      const claims = idToken === undefined ? { sub: subject } : await claimsOf(visit, idToken);
      if (isRefused(claims) || claims.sub !== subject) return undefined;
      const said = await alsoSaid(visit, provider.user, access, claims, person.claims);
      // Claims that only an ID token has stay as they were where none came.
      const before = idToken === undefined ? person.claims : {};
      return isRefused(said) ? undefined : signedIn(issuer, subject, { ...before, ...said, ...claims });
    });
  },
};

function isOffline({ request = "" }: LoginDocument): boolean {
  return request.split(" ").includes("offline_access");
}

async function providerOf({ ground, login }: SignInGround): Promise<CodeProvider | NotSignedIn> {
  const { issuer = "" } = login;
  const endpoints = await endpointsOf(ground, issuer);
  return endpoints && canSignIn(endpoints) ? endpoints : awayAt(issuer);
}

function canSignIn(endpoints: IssuerEndpoints): endpoints is CodeProvider {
  return endpoints.authorize !== undefined && endpoints.token !== undefined;
}

async function claimsOf({ ground, login }: SignInGround, idToken: unknown, kept?: Kept): Promise<Claims | NotSignedIn> {
  const { issuer = "", clientId = "" } = login;
  if (typeof idToken !== "string") return misfitAt(issuer, "there is no ID token");
  const verified = await verifiedBy(ground, idToken, { issuer, audience: [clientId] });
  if (!verified) return awayAt(issuer);
  if (verified.kind === "verified") return ofThis(verified.claims, login, kept);
  const why = verified.kind === "refused" ? verified.why : "no key of its issuer signed it";
  return misfitAt(issuer, `of the ID token, ${why}`);
}

/** For this client and this sign-in; `kept` undefined: for a refresh, which has no nonce. */
function ofThis(
  claims: Claims,
  { issuer = "", clientId }: LoginDocument,
  kept: Kept | undefined,
): Claims | NotSignedIn {
  const { aud, azp = Array.isArray(aud) && aud.length > 1 ? undefined : clientId, nonce } = claims;
  if (azp !== clientId) return misfitAt(issuer, "the ID token was given to another client");
  return !kept || (nonce !== undefined && nonce === kept["nonce"]) ? claims : strayAnswer();
}

/**
 * What the ID token leaves out that somebody wants to know: groups, at providers that keep it short. `otherwise`: where the user
 * endpoint shows nothing.
 */
async function alsoSaid(
  visit: Pick<LoginVisit, "ground" | "login">,
  url: string | undefined,
  access: string,
  claims: Claims,
  otherwise: Readonly<Record<string, unknown>> = {},
): Promise<Readonly<Record<string, unknown>> | NotSignedIn> {
  const { issuer = "", scopes, claims: shown = [] } = visit.login;
  const wanted = ["name", "email", ...shown, ...(scopes ? [scopes.claim, scopes.claim.split(".")[0] ?? ""] : [])];
  const isWhole = wanted.every((name) => Object.hasOwn(claims, name));
  if (isWhole || url === undefined) return {};
  const user = await askUser(visit, url, access);
  if (!user) return awayAt(issuer);
  // A token that is for an API of the tenant's own shows it nothing.
  if (user.status !== 200) return otherwise;
  return user.body["sub"] === claims.sub ? user.body : misfitAt(issuer, "it says two names for one person");
}
