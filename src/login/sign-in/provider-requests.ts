// Server-side requests to a provider: tokens, and the user endpoint. Responses are limited in size. Rejects redirects,
// which would carry secrets elsewhere, and bodies that are neither JSON nor, for tokens, a form.

import type { RefreshContext } from "../../deployment/deployment.ts";
import { parseSecretReference } from "../../gateway/upstream-rules.ts";
import { ACCEPT_JSON, parseTokenBody, parseTokenResponse, createTokenRequest } from "../../outbound/token-endpoint.ts";
import type { LoginDocument } from "../../tenants/document/tenant-document.ts";
import { workerSecretOf } from "../../tenants/document/secret-name.ts";
import { createLoginFetch } from "../issuers/read-issuer.ts";
import { errorCodeOf, hostOf } from "./sign-in-failure.ts";
import type { ProviderTokens } from "./identity-provider-client.ts";

const TIMEOUT_MS = 10_000;
/**
 * For a refresh, which may succeed after this Worker gives up. Its answer then has the only token that is still valid.
 */
const REFRESH_TIMEOUT_MS = 30_000;
const MAX_BYTES = 64 * 1024;

type Members = Readonly<Record<string, unknown>>;

export interface SignInContext {
  readonly tenantContext: RefreshContext;
  readonly login: LoginDocument;
}

/** A rejection has a status from 400 on, and may have an empty body. */
export interface ProviderUserResponse {
  readonly status: number;
  readonly body: Members;
}

/** Returns undefined if the provider is unavailable. */
async function requestJson(
  { tenantContext }: SignInContext,
  url: string,
  init: Pick<RequestInit, "method" | "body"> & { readonly headers: Readonly<Record<string, string>> },
  timeoutMs = TIMEOUT_MS,
): Promise<ProviderUserResponse | undefined> {
  const guardedFetch = createLoginFetch(tenantContext.tenant, tenantContext.env, timeoutMs);
  try {
    const headers = { ...ACCEPT_JSON, ...init.headers };
    const response = await guardedFetch.fetch(url, { ...init, headers, redirect: "error", maxBytes: MAX_BYTES });
    const { status } = response;
    const body = parseTokenBody(await response.text(), response.headers.get("content-type"));
    if (status < 500 && status !== 429 && (body || status >= 400)) return { status, body: body ?? {} };
    tenantContext.onError(new Error(`sign-in: ${hostOf(url)} answered ${status}${body ? "" : " without JSON"}`));
  } catch (error) {
    tenantContext.onError(error);
  } finally {
    guardedFetch.close();
  }
  return undefined;
}

export type ProviderTokenResponse =
  | { readonly kind: "tokens"; readonly tokens: ProviderTokens; readonly idToken: unknown }
  /** `code`: the provider's error code, or one of ours. */
  | { readonly kind: "refused"; readonly code: string }
  | { readonly kind: "away" };

/** https://datatracker.ietf.org/doc/html/rfc6749#section-5 */
export async function requestTokens(
  context: SignInContext,
  { token, takesBasic }: { readonly token: string; readonly takesBasic: boolean },
  form: Readonly<Record<string, string>>,
): Promise<ProviderTokenResponse> {
  const { clientId = "", clientSecret } = context.login;
  const secret = await resolveSecret(context, clientSecret);
  if (clientSecret !== undefined && secret === undefined)
    return { kind: "refused", code: "the client secret is not set" };
  const request = createTokenRequest({ id: clientId, secret, isBasic: takesBasic }, form);
  const timeoutMs = form["grant_type"] === "refresh_token" ? REFRESH_TIMEOUT_MS : TIMEOUT_MS;
  const answer = await requestJson(context, token, request, timeoutMs);
  return answer ? parseTokens(answer.status, answer.body) : { kind: "away" };
}

function parseTokens(status: number, body: Members): ProviderTokenResponse {
  if (status !== 200 || body["error"] !== undefined) return { kind: "refused", code: errorCodeOf(body["error"]) };
  const token = parseTokenResponse(body);
  if (!token) return { kind: "refused", code: "it issued no bearer token" };
  const { seconds = 0, idToken, ...tokens } = token;
  return {
    kind: "tokens",
    tokens: seconds > 0 ? { ...tokens, expires: Date.now() + seconds * 1000 } : tokens,
    idToken,
  };
}

/** The person of the token, as the provider describes them. */
export function requestUser(
  context: SignInContext,
  url: string,
  access: string,
): Promise<ProviderUserResponse | undefined> {
  return requestJson(context, url, { headers: { authorization: `Bearer ${access}` } });
}

/** Returns undefined if the document names none, or if neither the tenant nor the Worker has it. */
export async function resolveSecret({ tenantContext }: SignInContext, text = ""): Promise<string | undefined> {
  const name = parseSecretReference(text);
  return name === undefined
    ? undefined
    : ((await tenantContext.secret(name)) ?? workerSecretOf(tenantContext.env, tenantContext.tenant, name));
}
