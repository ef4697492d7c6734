// A tenant whose people sign in at an identity provider on this machine, and what one of them does until their client
// has a token of the tenant's own authorization server.

import { createHash, randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { onTestFinished } from "vitest";
import { identityProvider, type IdentityProvider } from "./identity-provider.ts";
import { LoginBrowser } from "./login-browser.ts";
import type { Json } from "./mcp-client.ts";

const REDIRECT = "http://127.0.0.1:4567/callback";

/** Over HTTP, for the client `us` of the tenant with this issuer. Stops after the test. */
export async function startIdentityProvider(issuer: () => string): Promise<IdentityProvider> {
  let provider: IdentityProvider | undefined;
  const server = createServer((request, response) => {
    void (async () => {
      const { method = "GET", url = "" } = request;
      const body = method === "POST" ? { body: await buffer(request) } : {};
      const headers = new Headers(request.headers as Record<string, string>);
      const answer = await provider?.answer(new Request(origin + url, { method, headers, ...body }));
      response.writeHead(answer?.status ?? 500, Object.fromEntries(answer?.headers ?? []));
      response.end(await answer?.text());
    })();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const clients = {
    get us() {
      return { redirect: `${issuer()}/callback` };
    },
  };
  provider = await identityProvider({ origin, clients });
  return provider;
}

/** The access token that a client gets when this person signs in and allows everything. */
export async function signInAs(person: string, issuer: string, provider: IdentityProvider): Promise<string> {
  const browser = new LoginBrowser();
  const metadata = { client_name: "A client", redirect_uris: [REDIRECT], token_endpoint_auth_method: "none" };
  const { client_id: client } = await posted(`${issuer}/register`, JSON.stringify(metadata), "application/json");
  const verifier = randomUUID() + randomUUID();
  const query = new URLSearchParams({
    client_id: String(client),
    redirect_uri: REDIRECT,
    response_type: "code",
    code_challenge: createHash("sha256").update(verifier).digest("base64url"),
    code_challenge_method: "S256",
    state: "s",
  });
  const begun = await browser.go(`${issuer}/authorize?${query}`);
  provider.atBrowser = person;
  const back = await provider.visit(begun.location ?? `no redirect: ${begun.text}`);
  const consent = await browser.go(back.href);
  const answered = await browser.submit(consent, { decision: "allow" });
  const code = new URL(answered.location ?? `no redirect: ${answered.text}`).searchParams.get("code") ?? "";
  const form = { grant_type: "authorization_code", code, client_id: String(client), redirect_uri: REDIRECT };
  const body = new URLSearchParams({ ...form, code_verifier: verifier }).toString();
  const { access_token: token } = await posted(`${issuer}/token`, body, "application/x-www-form-urlencoded");
  return String(token);
}

async function posted(url: string, body: string, type: string): Promise<Json> {
  const response = await fetch(url, { method: "POST", headers: { "content-type": type }, body });
  const text = await response.text();
  if (!response.ok) throw new Error(`${url}: ${response.status} ${text}`);
  return JSON.parse(text) as Json;
}
