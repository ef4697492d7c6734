// Tenants that take tokens, and loads of calls with one: of an authorization server in this process, which is asked for its
// keys once and goes when the process does; and of the tenant's own, got as a client and a person at a browser get it.
import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { exportJWK, generateKeyPair, SignJWT } from "jose";
import type { Load } from "./measure.ts";
import { byKey } from "../test/support/login-browser.ts";
import { callAs, create, makeTenant, type Send } from "./scenarios.ts";

const AUDIENCE = "bench";

export async function loadWithJwt(send: Send): Promise<Load> {
  const { publicKey, privateKey } = await generateKeyPair("ES256");
  const issuer = await publish({ ...(await exportJWK(publicKey)), kid: "one", alg: "ES256", use: "sig" });
  const scopes = { claim: "scope", values: { add: ["sums"] } };
  await makeTenant(send, "signed", { mode: "oauth", auth: { issuers: [{ issuer, audience: [AUDIENCE], scopes }] } });
  const token = await new SignJWT({ scope: "add" })
    .setProtectedHeader({ alg: "ES256", kid: "one", typ: "at+jwt" })
    .setIssuer(issuer)
    .setSubject("bench")
    .setAudience(AUDIENCE)
    .setExpirationTime("2h")
    .sign(privateKey);
  return callAs("/mcp/signed", token);
}

const CALLBACK = "http://127.0.0.1:1/callback";

/** The person pastes a key. */
export async function loadWithLogin(send: Send, { origin }: URL): Promise<Load> {
  await makeTenant(send, "login", { mode: "key+oauth", auth: { login: { via: "key" } } });
  const { token: key = "" } = await create(send, "/tenants/login/keys", { name: "bench", scopes: ["sums"] });
  const at = `${origin}/login/login`;
  const registration = { client_name: "bench", redirect_uris: [CALLBACK], token_endpoint_auth_method: "none" };
  const json = { "content-type": "application/json" };
  const request = { method: "POST", headers: json, body: JSON.stringify(registration) };
  const { client_id } = (await (await fetch(`${at}/register`, request)).json()) as { client_id: string };
  const verifier = "a".repeat(64);
  const resource = `${origin}/mcp/login`;
  const query = new URLSearchParams({
    response_type: "code",
    client_id,
    redirect_uri: CALLBACK,
    code_challenge: createHash("sha256").update(verifier).digest("base64url"),
    code_challenge_method: "S256",
    resource,
  });
  const back = await byKey(key, CALLBACK)(new URL(`${at}/authorize?${query}`));
  const grant = { grant_type: "authorization_code", code: back.searchParams.get("code") ?? "", resource };
  const redeemed = { ...grant, client_id, redirect_uri: CALLBACK, code_verifier: verifier };
  const answer = await fetch(`${at}/token`, { method: "POST", body: new URLSearchParams(redeemed) });
  const { access_token } = (await answer.json()) as { access_token?: string };
  if (access_token === undefined) throw new Error(`no token: ${answer.status}`);
  return callAs("/mcp/login", access_token);
}

async function publish(key: object): Promise<string> {
  const server = createServer(({ url }, response) => {
    const metadata = { issuer, jwks_uri: `${issuer}/keys`, response_types_supported: ["code"] };
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify(url === "/keys" ? { keys: [key] } : metadata));
  });
  server.unref();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return issuer;
}
