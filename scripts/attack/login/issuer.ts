// Owns an authorization server of the attacker's wishes: metadata and keys over HTTP, and tokens as an attack writes them.
// Refuses to log anybody in.

import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
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
  const server = createServer((request, response) => {
    const metadata = { issuer: name(), jwks_uri: `${name()}/keys` };
    const body = request.url === "/keys" ? { keys: [jwk] } : metadata;
    response.setHeader("content-type", "application/json").end(JSON.stringify(body));
  });
  const name = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const whole = (claims: Json): Json => {
    const now = Math.floor(Date.now() / 1000);
    return JSON.parse(JSON.stringify({ iss: name(), sub: "mallory", iat: now, exp: now + 3600, ...claims })) as Json;
  };
  return {
    name: name(),
    publicKey: jwk,
    pem: await exportSPKI(publicKey),
    token: (claims, header = {}, key = privateKey) =>
      new SignJWT(whole(claims)).setProtectedHeader({ alg: "RS256", kid: "one", typ: "at+jwt", ...header }).sign(key),
    unsigned: (claims) => new UnsecuredJWT(whole(claims)).encode(),
    stop: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
