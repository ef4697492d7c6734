// An authorization server of the attacker's wishes: metadata and keys over HTTP, and tokens as an attack writes them.
// Every visitor of its page is signed in as Mallory, for any client.

import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { exportJWK, exportSPKI, generateKeyPair, SignJWT, UnsecuredJWT, type CryptoKey, type JWK } from "jose";
import type { Json } from "../target.ts";

export interface Issuer {
  readonly name: string;
  readonly publicKey: JWK;
  /** The same as a text, as it is mistaken for a secret. */
  readonly pem: string;
  /** For an hour from now; claims that are undefined are left out. `key`: in place of its own. */
  token(claims: Json, header?: Json, key?: CryptoKey | Uint8Array): Promise<string>;
  unsigned(claims: Json): string;
  stop(): Promise<void>;
}

export async function startIssuer(): Promise<Issuer> {
  const { publicKey, privateKey } = await generateKeyPair("RS256", { extractable: true });
  const jwk: JWK = { ...(await exportJWK(publicKey)), kid: "one", alg: "RS256", use: "sig" };
  /** By code. */
  const logins = new Map<string, Json>();
  const answer = async (url: URL, form: URLSearchParams, response: ServerResponse): Promise<unknown> => {
    if (url.pathname === "/keys") return { keys: [jwk] };
    if (url.pathname === "/token") {
      const login = logins.get(form.get("code") ?? "");
      const id = await token({ aud: login?.["client_id"], nonce: login?.["nonce"] }, { typ: "JWT" });
      return { access_token: await token({ aud: login?.["resource"] }), token_type: "Bearer", id_token: id };
    }
    if (url.pathname !== "/authorize") {
      const endpoints = { authorization_endpoint: `${name()}/authorize`, token_endpoint: `${name()}/token` };
      return { issuer: name(), jwks_uri: `${name()}/keys`, ...endpoints, response_types_supported: ["code"] };
    }
    const login = Object.fromEntries(url.searchParams);
    const code = randomUUID();
    logins.set(code, login);
    const back = new URL(login["redirect_uri"] ?? "");
    for (const [member, value] of Object.entries({ code, state: login["state"] ?? "" }))
      back.searchParams.set(member, value);
    response.writeHead(302, { location: back.href });
    return {};
  };
  const server = createServer((request, response) => {
    void (async () => {
      const form = new URLSearchParams(await text(request));
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify(await answer(new URL(request.url ?? "", name()), form, response)));
    })().catch((error: unknown) => response.destroy(error as Error));
  });
  const name = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const whole = (claims: Json): Json => {
    const now = Math.floor(Date.now() / 1000);
    return JSON.parse(JSON.stringify({ iss: name(), sub: "mallory", iat: now, exp: now + 3600, ...claims })) as Json;
  };
  const token: Issuer["token"] = (claims, header = {}, key = privateKey) =>
    new SignJWT(whole(claims)).setProtectedHeader({ alg: "RS256", kid: "one", typ: "at+jwt", ...header }).sign(key);
  return {
    name: name(),
    publicKey: jwk,
    pem: await exportSPKI(publicKey),
    token,
    unsigned: (claims) => new UnsecuredJWT(whole(claims)).encode(),
    stop: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
