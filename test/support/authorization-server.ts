// Owns a small authorization server as far as a resource server sees it, over real HTTP: metadata, keys, and tokens that
// it signs as a test says. Refuses to log anybody in.

import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { exportJWK, generateKeyPair, SignJWT, type CryptoKey, type JWK, type JWTPayload } from "jose";
import { onTestFinished } from "vitest";
import type { Json } from "./mcp.ts";

export interface SignHow {
  readonly alg?: string;
  /** Members of the header. */
  readonly header?: Json;
  /** In place of the server's newest key. */
  readonly key?: CryptoKey | Uint8Array;
}

export interface AuthorizationServer {
  readonly issuer: string;
  /** Paths that were asked for, in order. */
  readonly asked: readonly string[];
  /** What its metadata says it is called, in place of its name. */
  namedAs: string | undefined;
  /** Answers nothing but 503 while it is. */
  isAway: boolean;
  /** The public part of its newest key. */
  readonly publicKey: JWK;
  /** Signs with another key from now on, and publishes no earlier one. */
  rotate(): Promise<void>;
  /** For `alice`, an hour from now, unless the claims say otherwise; one that is undefined is left out. */
  token(claims: Json, how?: SignHow): Promise<string>;
}

interface ServerOptions {
  /** Where its metadata is; RFC 8414 when absent. */
  readonly place?: "oauth" | "openid";
  /** Follows its origin in its name, as `/realms/one`. */
  readonly path?: string;
  readonly alg?: "ES256" | "RS256" | "EdDSA";
}

/** Stops after the test. */
export async function startAuthorizationServer(options: ServerOptions = {}): Promise<AuthorizationServer> {
  const { place = "oauth", path = "", alg = "ES256" } = options;
  const asked: string[] = [];
  let key = await newKey(alg);
  const server = createServer((request, response) => {
    const url = request.url ?? "";
    asked.push(url);
    const { issuer, namedAs = issuer } = made;
    const metadata = { issuer: namedAs, jwks_uri: `${issuer}/keys`, token_endpoint: `${issuer}/token` };
    const where =
      place === "oauth" ? `/.well-known/oauth-authorization-server${path}` : `${path}/.well-known/openid-configuration`;
    const found = url === where ? metadata : url === `${path}/keys` ? { keys: [key.jwk] } : undefined;
    const status = made.isAway ? 503 : found ? 200 : 404;
    response.writeHead(status, { "content-type": "application/json" });
    response.end(JSON.stringify(made.isAway ? {} : (found ?? {})));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const made = {
    issuer: `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`,
    asked,
    namedAs: undefined as string | undefined,
    isAway: false,
    get publicKey() {
      return key.jwk;
    },
    rotate: async () => {
      key = await newKey(alg);
    },
    token: async (claims: Json, how: SignHow = {}) => {
      const now = Math.floor(Date.now() / 1000);
      const said = { iss: made.issuer, sub: "alice", iat: now, exp: now + 3600, ...claims };
      const header = { alg: how.alg ?? alg, kid: key.jwk.kid ?? "", typ: "at+jwt", ...how.header };
      const payload = JSON.parse(JSON.stringify(said)) as JWTPayload;
      return new SignJWT(payload).setProtectedHeader(header).sign(how.key ?? key.secret);
    },
  };
  return made;
}

async function newKey(alg: string) {
  const { publicKey, privateKey } = await generateKeyPair(alg);
  const jwk: JWK = { ...(await exportJWK(publicKey)), kid: crypto.randomUUID(), use: "sig" };
  return { secret: privateKey, jwk };
}
