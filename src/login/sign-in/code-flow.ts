// The authorization code flow with PKCE at a provider: the redirect there, the checks on return, and later
// revalidation. oidc.ts and oauth2.ts identify the person. https://datatracker.ietf.org/doc/html/rfc9700

import { hashToken } from "../../auth/api-key.ts";
import { digest, toBase64Url } from "../../auth/seal.ts";
import { getSecretsRing } from "../../auth/secrets-key.ts";
import type { IssuerEndpoints } from "../issuers/read-issuer.ts";
import type { LoginUrls, LoginContext } from "../login-context.ts";
import {
  providerUnavailable,
  errorCodeOf,
  accessDenied,
  unusableAnswer,
  unexpectedAnswer,
  notConfigured,
} from "./sign-in-failure.ts";
import {
  requestTokens,
  requestUser,
  resolveSecret,
  type SignInContext,
  type ProviderTokenResponse,
  type ProviderUserResponse,
} from "./provider-requests.ts";
import type {
  Revalidation,
  SignInFailure,
  CurrentPerson,
  ProviderTokens,
  SignInStart,
} from "./identity-provider-client.ts";
import { MAX_IDENTITY_CHARACTERS } from "./provider-identity.ts";

/** A provider at which people can sign in. */
export type CodeProvider = IssuerEndpoints & { readonly authorize: string; readonly token: string };

export type SignInState = Readonly<Record<string, string>>;

export function createRandomToken(): string {
  return toBase64Url(crypto.getRandomValues(new Uint8Array(32)));
}

/** `providerState` stores only a digest of the state. */
export async function startSignInAt(
  url: string,
  parameters: Readonly<Record<string, string | undefined>>,
  state: string,
  providerState: SignInState = {},
): Promise<SignInStart> {
  const location = new URL(url);
  for (const [name, value] of Object.entries(parameters))
    if (value !== undefined) location.searchParams.set(name, value);
  return { kind: "begun", location: location.href, providerState: { ...providerState, state: await digest(state) } };
}

/** Returns undefined if the answer belongs to this browser's request and is not an error. */
export async function checkCallback(
  url: string,
  answer: URLSearchParams,
  { state }: SignInState,
): Promise<SignInFailure | undefined> {
  if ((await digest(answer.get("state") ?? "")) !== state) return unexpectedAnswer();
  const error = answer.get("error");
  if (error === null) return undefined;
  if (/^(access_denied|.+_required)$/.test(error)) return accessDenied(url);
  return error === "temporarily_unavailable" ? providerUnavailable(url) : unusableAnswer(url, errorCodeOf(error));
}

/** `extraParameters`: parameters of this kind of provider. */
export async function beginCodeFlow(
  context: LoginContext,
  { authorize }: CodeProvider,
  state: string,
  extraParameters: Readonly<Record<string, string | undefined>>,
): Promise<SignInStart | SignInFailure> {
  const { tenantContext, login, urls } = context;
  // Checked first: the provider's tokens are sealed with this key, and a person must not go there in vain.
  const ring = await getSecretsRing(tenantContext.env);
  if (typeof ring === "string") return notConfigured(authorize, `the Worker's SECRETS_KEY is ${ring}`);
  const { clientSecret } = login;
  if (clientSecret !== undefined && (await resolveSecret(context, clientSecret)) === undefined)
    return notConfigured(authorize, `the client secret ${clientSecret} is not set`);
  const verifier = createRandomToken();
  const parameters = {
    ...extraParameters,
    response_type: "code",
    client_id: login.clientId,
    redirect_uri: callbackUrlOf(urls),
    state,
    code_challenge: await hashToken(verifier),
    code_challenge_method: "S256",
  };
  return startSignInAt(authorize, parameters, state, {
    verifier,
    ...(extraParameters["nonce"] !== undefined && { nonce: extraParameters["nonce"] }),
  });
}

export type CodeTokens = Extract<ProviderTokenResponse, { kind: "tokens" }>;

export async function finishCodeFlow(
  context: SignInContext & Pick<LoginContext, "urls">,
  provider: CodeProvider,
  answer: URLSearchParams,
  providerState: SignInState,
): Promise<CodeTokens | SignInFailure> {
  const { authorize } = provider;
  const failure = await checkCallback(authorize, answer, providerState);
  if (failure) return failure;
  const form = {
    grant_type: "authorization_code",
    code: answer.get("code") ?? "",
    redirect_uri: callbackUrlOf(context.urls),
    code_verifier: providerState["verifier"] ?? "",
  };
  const response = await requestTokens(context, provider, form);
  if (response.kind === "tokens") return response;
  if (response.kind === "away") return providerUnavailable(authorize);
  // The code was redeemed before, has expired, or belongs to another client.
  return /^(invalid_grant|bad_verification_code)$/.test(response.code)
    ? unexpectedAnswer()
    : unusableAnswer(authorize, response.code);
}

function callbackUrlOf({ issuer }: LoginUrls): string {
  return `${issuer}/callback`;
}

/** Reads the provider's current description of the person with this access token. */
type FetchPerson = (access: string, tokens?: CodeTokens, user?: ProviderUserResponse) => Promise<CurrentPerson>;

/** Uses the refresh token if there is one. It may be valid only once, so its result is always returned. */
export async function revalidateWithProvider(
  context: SignInContext,
  provider: CodeProvider,
  { access, refresh }: ProviderTokens,
  fetchPerson: FetchPerson,
): Promise<Revalidation> {
  if (refresh === undefined) {
    if (provider.user === undefined) return { state: "ended" };
    const user = await requestUser(context, provider.user, access);
    if (user?.status !== 200) return { state: user?.status === 401 ? "ended" : "away" };
    return revalidatePersonWith(context, () => fetchPerson(access, undefined, user));
  }
  const response = await requestTokens(context, provider, { grant_type: "refresh_token", refresh_token: refresh });
  if (response.kind === "tokens") {
    const revalidation = await revalidatePersonWith(context, () => fetchPerson(response.tokens.access, response));
    return { ...revalidation, provider: { refresh, ...response.tokens } };
  }
  const hasEnded = response.kind === "refused" && /^(invalid_grant|bad_refresh_token|.+_required)$/.test(response.code);
  return { state: hasEnded ? "ended" : "away" };
}

type PersonRevalidation = Extract<Revalidation, { state: "confirmed" | "away" }>;

/** An unreadable description confirms nothing: it may take rights away. */
async function revalidatePersonWith(
  { tenantContext }: SignInContext,
  fetchPerson: () => Promise<CurrentPerson>,
): Promise<PersonRevalidation> {
  try {
    const person = await fetchPerson();
    if (person === "silent") return { state: "confirmed" };
    if (person && JSON.stringify(person).length <= MAX_IDENTITY_CHARACTERS) return { state: "confirmed", person };
  } catch (error) {
    tenantContext.onError(error);
  }
  return { state: "away" };
}
