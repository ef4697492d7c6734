// A strict client of a tenant's own authorization server: from the challenge of a 401 to tokens, with a browser for the
// person who pastes their key.

import * as oauth from "oauth4webapi";
import { LoginBrowser } from "./login-browser.ts";
import { listAs } from "./login-tenant.ts";
import type { Json } from "./mcp-client.ts";

export const REDIRECT = "http://127.0.0.1:4567/callback";
export const insecure = { [oauth.allowInsecureRequests]: true } as const;

/** From the challenge of a 401 to the metadata of the first server that it leads to. */
export async function discover(url: string): Promise<{ server: oauth.AuthorizationServer; resource: string }> {
  const { headers } = await listAs(url, "2026-07-28");
  const metadata = /resource_metadata="([^"]+)"/.exec(String(headers["www-authenticate"]))?.[1] ?? "";
  const said = await oauth.processResourceDiscoveryResponse(new URL(url), await fetch(metadata));
  const issuer = new URL(said.authorization_servers?.[0] ?? "");
  const response = await oauth.discoveryRequest(issuer, { algorithm: "oauth2", ...insecure });
  return { server: await oauth.processDiscoveryResponse(issuer, response), resource: said.resource };
}

export async function register(server: oauth.AuthorizationServer, metadata: Json = {}): Promise<oauth.Client> {
  const registration = {
    client_name: "A client",
    redirect_uris: [REDIRECT],
    token_endpoint_auth_method: "none",
    ...metadata,
  };
  const response = await oauth.dynamicClientRegistrationRequest(server, registration, insecure);
  return oauth.processDynamicClientRegistrationResponse(response);
}

export interface LoggingIn {
  readonly server: oauth.AuthorizationServer;
  readonly client: oauth.Client;
  readonly resource: string;
  readonly verifier: string;
  readonly state: string;
}

export async function authorizeUrl(
  { server, client, resource, verifier, state }: LoggingIn,
  more: Record<string, string> = {},
) {
  const url = new URL(server.authorization_endpoint ?? "");
  const query = {
    client_id: client.client_id,
    redirect_uri: REDIRECT,
    response_type: "code",
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: "S256",
    resource,
    state,
    ...more,
  };
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
  return url.href;
}

export async function beginning(url: string, metadata: Json = {}): Promise<LoggingIn> {
  const { server, resource } = await discover(url);
  const verifier = oauth.generateRandomCodeVerifier();
  return { server, resource, client: await register(server, metadata), verifier, state: oauth.generateRandomState() };
}

/** The redirect with which the browser goes back to the client. */
export async function signIn(login: LoggingIn, key: string, more: Record<string, string> = {}): Promise<string> {
  const browser = new LoginBrowser();
  const asked = await browser.go(await authorizeUrl(login, more));
  const consent = await browser.submit(asked, { key });
  const answered = await browser.submit(consent, { decision: "allow" });
  return answered.location ?? `no redirect: ${answered.text}`;
}

export async function redeem(login: LoggingIn, location: string, verifier = login.verifier) {
  const { server, client, state, resource } = login;
  const answer = oauth.validateAuthResponse(server, client, new URL(location), state);
  const how = { ...insecure, additionalParameters: { resource } };
  const response = await oauth.authorizationCodeGrantRequest(
    server,
    client,
    oauth.None(),
    answer,
    REDIRECT,
    verifier,
    how,
  );
  return oauth.processAuthorizationCodeResponse(server, client, response);
}

export async function refresh({ server, client }: LoggingIn, token = "") {
  const response = await oauth.refreshTokenGrantRequest(server, client, oauth.None(), token, insecure);
  return oauth.processRefreshTokenResponse(server, client, response);
}

export const errorOf = (work: Promise<unknown>) =>
  work.then(
    () => "none",
    (error: Error & { error?: string }) => error.error ?? error.message,
  );
