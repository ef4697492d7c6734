// A client that a person allowed at a tenant's own authorization server, as far as a test of what comes after needs
// one: it registers, they paste their key and decide, it has tokens.

import { createHash, randomBytes } from "node:crypto";
import { LoginBrowser, type Page } from "./login-browser.ts";
import type { Json } from "./mcp-client.ts";

export const CALLBACK = "http://127.0.0.1:4567/callback";

export interface AuthorizedClient {
  readonly id: string;
  readonly access: string;
  readonly refresh: string;
}

export interface Asking {
  /** `{base}/login/TENANT`. */
  readonly issuer: string;
  readonly name?: string;
  readonly redirect?: string;
}

export interface Begun {
  readonly id: string;
  readonly verifier: string;
  readonly redirect: string;
  /** Where the client sends the browser. */
  readonly url: string;
}

export async function beginLogin({ issuer, name = "A client", redirect = CALLBACK }: Asking): Promise<Begun> {
  const { client_id: id } = await postTo(`${issuer}/register`, {
    body: JSON.stringify({ client_name: name, redirect_uris: [redirect], token_endpoint_auth_method: "none" }),
    headers: { "content-type": "application/json" },
  });
  const verifier = randomBytes(32).toString("base64url");
  const query = new URLSearchParams({
    response_type: "code",
    client_id: String(id),
    redirect_uri: redirect,
    code_challenge: createHash("sha256").update(verifier).digest("base64url"),
    code_challenge_method: "S256",
    state: "as it was",
  });
  return { id: String(id), verifier, redirect, url: `${issuer}/authorize?${query}` };
}

export async function tokensOf(issuer: string, { id, verifier, redirect }: Begun, location: string): Promise<Json> {
  const code = new URL(location).searchParams.get("code") ?? "";
  const body = {
    grant_type: "authorization_code",
    client_id: id,
    code_verifier: verifier,
    redirect_uri: redirect,
    code,
  };
  return postTo(`${issuer}/token`, { body: new URLSearchParams(body) });
}

/** `decide`: what of the consent's form is said otherwise than by pressing Allow. */
export async function authorizeClient(
  asking: Asking,
  key: string,
  decide: Record<string, string | readonly string[]> = {},
): Promise<AuthorizedClient> {
  const browser = new LoginBrowser();
  const begun = await beginLogin(asking);
  const consent = await signInOn(browser, await browser.go(begun.url), key);
  const { location, text } = await browser.submit(consent, { decision: "allow", ...decide });
  if (location === null) throw new Error(`no redirect: ${text}`);
  const { access_token: access, refresh_token: refresh } = await tokensOf(asking.issuer, begun, location);
  return { id: begun.id, access: String(access), refresh: String(refresh) };
}

export function signInOn(browser: LoginBrowser, page: Page, key: string): Promise<Page> {
  return browser.submit(page, { key });
}

async function postTo(url: string, init: RequestInit): Promise<Json> {
  const response = await fetch(url, { method: "POST", ...init });
  const text = await response.text();
  if (!response.ok) throw new Error(`${url}: ${response.status} ${text}`);
  return JSON.parse(text) as Json;
}
