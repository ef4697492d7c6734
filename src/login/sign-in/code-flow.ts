// Owns the code flow at a provider, with PKCE: where the browser is sent, what may come back, and whether the provider
// still knows somebody. Refuses to say who it is: OpenID and OAuth 2 have a file each.
// https://datatracker.ietf.org/doc/html/rfc9700

import { hashToken } from "../../auth/api-key.ts";
import { digest, toBase64Url } from "../../auth/seal.ts";
import { secretsRing } from "../../auth/secrets-key.ts";
import type { IssuerEndpoints } from "../issuers/read-issuer.ts";
import type { LoginUrls, LoginVisit } from "../login-visit.ts";
import { awayAt, codeIn, deniedAt, misfitAt, strayAnswer, unsetFor } from "./not-signed-in.ts";
import {
  askTokens,
  askUser,
  secretOf,
  type SignInGround,
  type TokenAnswer,
  type UserAnswer,
} from "./provider-requests.ts";
import type { Confirmed, NotSignedIn, PersonNow, ProviderTokens, SignInBegun } from "./sign-in.ts";
import { MOST_SAID } from "./signed-in.ts";

/** A provider at which people can sign in. */
export type CodeProvider = IssuerEndpoints & { readonly authorize: string; readonly token: string };

export type Kept = Readonly<Record<string, string>>;

export function randomName(): string {
  return toBase64Url(crypto.getRandomValues(new Uint8Array(32)));
}

/** `kept` holds no more of the state than tells it again. */
export async function begunAt(
  url: string,
  parameters: Readonly<Record<string, string | undefined>>,
  state: string,
  kept: Kept = {},
): Promise<SignInBegun> {
  const location = new URL(url);
  for (const [name, value] of Object.entries(parameters))
    if (value !== undefined) location.searchParams.set(name, value);
  return { kind: "begun", location: location.href, kept: { ...kept, state: await digest(state) } };
}

/** undefined: it answers what this browser was sent there with, and says yes. */
export async function refusedIn(
  url: string,
  answer: URLSearchParams,
  { state }: Kept,
): Promise<NotSignedIn | undefined> {
  if ((await digest(answer.get("state") ?? "")) !== state) return strayAnswer();
  const error = answer.get("error");
  if (error === null) return undefined;
  if (/^(access_denied|.+_required)$/.test(error)) return deniedAt(url);
  return error === "temporarily_unavailable" ? awayAt(url) : misfitAt(url, codeIn(error));
}

/** A session at the provider signs nobody in. Google and GitHub know no `login`. */
export function switchPrompt(authorize: string): string {
  return /^https:\/\/(?:accounts\.google|github)\.com\//.test(authorize) ? "select_account" : "login";
}

/** `asked`: what goes with every request of this kind. */
export async function beginCode(
  visit: LoginVisit,
  { authorize }: CodeProvider,
  state: string,
  asked: Readonly<Record<string, string | undefined>>,
): Promise<SignInBegun | NotSignedIn> {
  const { ground, login, urls } = visit;
  // The provider's tokens are stored sealed by it, and nobody shall go there for nothing.
  const ring = await secretsRing(ground.env);
  if (typeof ring === "string") return unsetFor(authorize, `the Worker's SECRETS_KEY is ${ring}`);
  const { clientSecret } = login;
  if (clientSecret !== undefined && (await secretOf(visit, clientSecret)) === undefined)
    return unsetFor(authorize, `its secret is not set here, ${clientSecret}`);
  const verifier = randomName();
  const parameters = {
    ...asked,
    response_type: "code",
    client_id: login.clientId,
    redirect_uri: callbackOf(urls),
    state,
    code_challenge: await hashToken(verifier),
    code_challenge_method: "S256",
  };
  return begunAt(authorize, parameters, state, {
    verifier,
    ...(asked["nonce"] !== undefined && { nonce: asked["nonce"] }),
  });
}

export type CodeTokens = Extract<TokenAnswer, { kind: "tokens" }>;

export async function finishCode(
  visit: SignInGround & Pick<LoginVisit, "urls">,
  provider: CodeProvider,
  answer: URLSearchParams,
  kept: Kept,
): Promise<CodeTokens | NotSignedIn> {
  const { authorize } = provider;
  const refused = await refusedIn(authorize, answer, kept);
  if (refused) return refused;
  const form = {
    grant_type: "authorization_code",
    code: answer.get("code") ?? "",
    redirect_uri: callbackOf(visit.urls),
    code_verifier: kept["verifier"] ?? "",
  };
  const given = await askTokens(visit, provider, form);
  if (given.kind === "tokens") return given;
  if (given.kind === "away") return awayAt(authorize);
  // One that was redeemed, has ended, or is another client's.
  return /^(invalid_grant|bad_verification_code)$/.test(given.code) ? strayAnswer() : misfitAt(authorize, given.code);
}

function callbackOf({ issuer }: LoginUrls): string {
  return `${issuer}/callback`;
}

/** The person as the provider describes them now, by this access token. */
type AskPerson = (access: string, given?: CodeTokens, user?: UserAnswer) => Promise<PersonNow>;

/** By a refresh where there is a token for it, which may be good for one: what comes of it is never lost. */
export async function confirmAt(
  asking: SignInGround,
  provider: CodeProvider,
  { access, refresh }: ProviderTokens,
  askPerson: AskPerson,
): Promise<Confirmed> {
  if (refresh === undefined) {
    if (provider.user === undefined) return { state: "ended" };
    const user = await askUser(asking, provider.user, access);
    if (user?.status !== 200) return { state: user?.status === 401 ? "ended" : "away" };
    return confirmedAs(asking, () => askPerson(access, undefined, user));
  }
  const given = await askTokens(asking, provider, { grant_type: "refresh_token", refresh_token: refresh });
  if (given.kind === "tokens") {
    const confirmed = await confirmedAs(asking, () => askPerson(given.tokens.access, given));
    return { ...confirmed, provider: { refresh, ...given.tokens } };
  }
  const isOver = given.kind === "refused" && /^(invalid_grant|bad_refresh_token|.+_required)$/.test(given.code);
  return { state: isOver ? "ended" : "away" };
}

type Described = Extract<Confirmed, { state: "confirmed" | "away" }>;

/** A description that cannot be read confirms nobody: it may take rights away. */
async function confirmedAs({ ground }: SignInGround, askPerson: () => Promise<PersonNow>): Promise<Described> {
  try {
    const person = await askPerson();
    if (person === "silent") return { state: "confirmed" };
    if (person && JSON.stringify(person).length <= MOST_SAID) return { state: "confirmed", person };
  } catch (error) {
    ground.onError(error);
  }
  return { state: "away" };
}
