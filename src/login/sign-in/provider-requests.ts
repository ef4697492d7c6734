// Owns what a provider is asked beside the browser, and how much of its answers is read: tokens, and who they are for.
// Refuses redirects, which would carry secrets to another place, and whatever is no JSON, or no form where one may be.

import type { TendGround } from "../../deployment/deployment.ts";
import { wholeSecret } from "../../gateway/upstream-rules.ts";
import { ASKED_AS, membersIn, tokenIn, tokenRequest } from "../../outbound/token-endpoint.ts";
import type { LoginDocument } from "../../tenants/document/tenant-document.ts";
import { workerSecretOf } from "../../tenants/document/secret-name.ts";
import { loginDoor } from "../issuers/read-issuer.ts";
import { codeIn, hostOf } from "./not-signed-in.ts";
import type { ProviderTokens } from "./sign-in.ts";

const WITHIN_MS = 10_000;
/** Of a refresh: what is given up may be done yet, and its answer has the only token that is good from then on. */
const REFRESH_WITHIN_MS = 30_000;
const MOST_BYTES = 64 * 1024;

type Members = Readonly<Record<string, unknown>>;

export interface SignInGround {
  readonly ground: TendGround;
  readonly login: LoginDocument;
}

/** What was refused has a status from 400 on, and perhaps nothing to read. */
export interface UserAnswer {
  readonly status: number;
  readonly body: Members;
}

/** undefined: it is away. */
async function ask(
  { ground }: SignInGround,
  url: string,
  init: Pick<RequestInit, "method" | "body"> & { readonly headers: Readonly<Record<string, string>> },
  withinMs = WITHIN_MS,
): Promise<UserAnswer | undefined> {
  const door = loginDoor(ground.tenant, ground.env, withinMs);
  try {
    const headers = { ...ASKED_AS, ...init.headers };
    const response = await door.fetch(url, { ...init, headers, redirect: "error", maxBytes: MOST_BYTES });
    const { status } = response;
    const body = membersIn(await response.text(), response.headers.get("content-type"));
    if (status < 500 && status !== 429 && (body || status >= 400)) return { status, body: body ?? {} };
    ground.onError(new Error(`signing in: ${hostOf(url)} answered ${status}${body ? "" : ", and no JSON"}`));
  } catch (error) {
    ground.onError(error);
  } finally {
    door.close();
  }
  return undefined;
}

export type TokenAnswer =
  | { readonly kind: "tokens"; readonly tokens: ProviderTokens; readonly idToken: unknown }
  /** `code`: that of the provider, or one of ours. */
  | { readonly kind: "refused"; readonly code: string }
  | { readonly kind: "away" };

/** https://datatracker.ietf.org/doc/html/rfc6749#section-5 */
export async function askTokens(
  asking: SignInGround,
  { token, takesBasic }: { readonly token: string; readonly takesBasic: boolean },
  form: Readonly<Record<string, string>>,
): Promise<TokenAnswer> {
  const { clientId = "", clientSecret } = asking.login;
  const secret = await secretOf(asking, clientSecret);
  if (clientSecret !== undefined && secret === undefined)
    return { kind: "refused", code: "its secret is not set here" };
  const request = tokenRequest({ id: clientId, secret, isBasic: takesBasic }, form);
  const withinMs = form["grant_type"] === "refresh_token" ? REFRESH_WITHIN_MS : WITHIN_MS;
  const answer = await ask(asking, token, request, withinMs);
  return answer ? tokensIn(answer.status, answer.body) : { kind: "away" };
}

function tokensIn(status: number, body: Members): TokenAnswer {
  if (status !== 200 || body["error"] !== undefined) return { kind: "refused", code: codeIn(body["error"]) };
  const given = tokenIn(body);
  if (!given) return { kind: "refused", code: "it gave no bearer token" };
  const { seconds = 0, idToken, ...tokens } = given;
  return {
    kind: "tokens",
    tokens: seconds > 0 ? { ...tokens, expires: Date.now() + seconds * 1000 } : tokens,
    idToken,
  };
}

/** Who the token was given for, as the provider says it. */
export function askUser(asking: SignInGround, url: string, access: string): Promise<UserAnswer | undefined> {
  return ask(asking, url, { headers: { authorization: `Bearer ${access}` } });
}

/** undefined: the document names none, or neither the tenant nor the Worker has it. */
export async function secretOf({ ground }: SignInGround, text = ""): Promise<string | undefined> {
  const name = wholeSecret(text);
  return name === undefined
    ? undefined
    : ((await ground.secret(name)) ?? workerSecretOf(ground.env, ground.tenant, name));
}
