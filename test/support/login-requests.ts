// Signs in as a known client does, request by request, from the refusal of a call to tokens: no library stands between
// a test and what is sent.

import { createHash, randomBytes } from "node:crypto";
import type { KnownClient } from "./known-clients.ts";
import { LoginBrowser, type Page } from "./login-browser.ts";
import { listAs } from "./login-tenant.ts";
import type { Json } from "./mcp-client.ts";

const REVISION = "2026-07-28";

export interface Discovered {
  readonly resource: string;
  /** The authorization server's own metadata. */
  readonly server: Readonly<Record<string, string>>;
}

/** As a client that was refused: the metadata of the endpoint, then that of its first authorization server. */
export async function discover(url: string): Promise<Discovered> {
  const { headers } = await listAs(url, REVISION);
  const metadata = /resource_metadata="([^"]+)"/.exec(String(headers["www-authenticate"]))?.[1] ?? "";
  const { resource, authorization_servers: servers } = await jsonAt(metadata);
  const [issuer = ""] = servers as string[];
  const { origin, pathname } = new URL(issuer);
  const server = await jsonAt(`${origin}/.well-known/oauth-authorization-server${pathname}`);
  return { resource: String(resource), server: server as Record<string, string> };
}

async function jsonAt(url: string): Promise<Json> {
  return (await (await fetch(url)).json()) as Json;
}

export interface Sent {
  readonly status: number;
  readonly headers: Headers;
  readonly answer: Json;
}

export async function sendJson(url: string, body: unknown, headers: Record<string, string> = {}): Promise<Sent> {
  const sent = {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  };
  const response = await fetch(url, sent);
  return { status: response.status, headers: response.headers, answer: (await response.json()) as Json };
}

export async function sendForm(url: string, form: Record<string, string>): Promise<Sent> {
  const response = await fetch(url, { method: "POST", body: new URLSearchParams(form) });
  return { status: response.status, headers: response.headers, answer: (await response.json()) as Json };
}

export interface Asking {
  readonly found: Discovered;
  readonly id: string;
  readonly redirect: string;
  readonly verifier: string;
  readonly state: string;
}

export function newAsking(found: Discovered, id: string, redirect: string): Asking {
  return {
    found,
    id,
    redirect,
    verifier: randomBytes(32).toString("base64url"),
    state: randomBytes(8).toString("hex"),
  };
}

/** `more`: what else is asked for, and as often as it stands there. */
export function authorizeUrl(
  { found, id, redirect, verifier, state }: Asking,
  more: readonly (readonly [string, string])[] = [["resource", found.resource]],
): string {
  const query = new URLSearchParams({
    response_type: "code",
    client_id: id,
    redirect_uri: redirect,
    code_challenge: createHash("sha256").update(verifier).digest("base64url"),
    code_challenge_method: "S256",
    state,
  });
  for (const [name, value] of more) query.append(name, value);
  return `${found.server["authorization_endpoint"]}?${query}`;
}

/** The person pastes their key. The page that asks for consent, with the browser that shows it. */
export async function toConsent(url: string, key: string): Promise<{ browser: LoginBrowser; page: Page }> {
  const browser = new LoginBrowser();
  return { browser, page: await browser.submit(await browser.go(url), { key }) };
}

/** Where the browser goes once the person has allowed it, with these fields of the form in place of its own. */
export async function allow(url: string, key: string, fields: Record<string, string | string[]> = {}): Promise<URL> {
  const { browser, page } = await toConsent(url, key);
  const { location, text } = await browser.submit(page, { decision: "allow", ...fields });
  if (location === null) throw new Error(`no redirect: ${text}`);
  return new URL(location);
}

export function redeem({ found, id, redirect, verifier }: Asking, code: string, more: Record<string, string> = {}) {
  const form = {
    grant_type: "authorization_code",
    code,
    redirect_uri: redirect,
    code_verifier: verifier,
    client_id: id,
  };
  return sendForm(found.server["token_endpoint"] ?? "", { ...form, ...more });
}

export function refresh({ found, id }: Asking, token: string, more: Record<string, string> = {}): Promise<Sent> {
  const form = { grant_type: "refresh_token", refresh_token: token, client_id: id };
  return sendForm(found.server["token_endpoint"] ?? "", { ...form, ...more });
}

/** What a client writes for the endpoint. */
export function resourceAs(how: KnownClient["resource"], resource: string): Record<string, string> {
  return how === "absent" ? {} : { resource: how === "slash" ? `${resource}/` : resource };
}
