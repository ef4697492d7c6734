// A small authorization server as far as a resource server sees it, over real HTTP: metadata, keys, and tokens that it
// signs as a test says, or gives in exchange for others of its own.

import { once } from "node:events";
import { text } from "node:stream/consumers";
import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { exportJWK, generateKeyPair, jwtVerify, SignJWT, type CryptoKey, type JWK, type JWTPayload } from "jose";
import { onTestFinished } from "vitest";
import type { Json } from "./mcp-client.ts";

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
  /** What it was asked to exchange, in order: forms, and who asked. */
  readonly exchanges: readonly { readonly form: URLSearchParams; readonly authorization: string | undefined }[];
  /** Says, in place of a token, what is answered to an exchange. */
  refuses: { readonly status: number; readonly body: Json } | undefined;
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
  /** Hears how it is stopped; after the test when absent. */
  readonly ends?: (stop: () => void) => void;
  /** What it does beside that; `answer` says whether it has answered. */
  readonly more?: {
    readonly metadata: (issuer: string) => Json;
    readonly answer: (request: IncomingMessage, response: ServerResponse, server: AuthorizationServer) => boolean;
  };
}

/** Stops after the test, unless the options say otherwise. */
export async function startAuthorizationServer(options: ServerOptions = {}): Promise<AuthorizationServer> {
  const { place = "oauth", path = "", alg = "ES256", ends = onTestFinished, more } = options;
  const requests: string[] = [];
  let key = await newKey(alg);
  const exchanges: { form: URLSearchParams; authorization: string | undefined }[] = [];
  /** https://datatracker.ietf.org/doc/html/rfc8693 */
  const exchange = async (form: URLSearchParams): Promise<{ status: number; body: Json }> => {
    const { payload } = await jwtVerify(form.get("subject_token") ?? "", key.verifies, { issuer: made.issuer });
    const aud = form.get("audience");
    const token = await made.token({ sub: payload.sub, aud, scope: form.get("scope") ?? undefined, jti: randomUUID() });
    return { status: 200, body: { access_token: token, token_type: "Bearer", expires_in: 3600 } };
  };
  const metadataOf = ({ issuer, namedAs = issuer }: AuthorizationServer) => ({
    issuer: namedAs,
    jwks_uri: `${issuer}/keys`,
    authorization_endpoint: `${issuer}/authorize`,
    token_endpoint: `${issuer}/token`,
    response_types_supported: ["code"],
    code_challenge_methods_supported: ["S256"],
    ...more?.metadata(issuer),
  });
  const where =
    place === "oauth" ? `/.well-known/oauth-authorization-server${path}` : `${path}/.well-known/openid-configuration`;
  const answerToken = async (request: IncomingMessage, response: ServerResponse) => {
    const form = new URLSearchParams(await text(request));
    exchanges.push({ form, authorization: request.headers.authorization });
    const refused = { status: 400, body: { error: "invalid_grant", error_description: form.get("subject_token") } };
    const { status, body } = made.refuses ?? (await exchange(form).catch(() => refused));
    response.writeHead(made.isAway ? 503 : status, { "content-type": "application/json" });
    response.end(JSON.stringify(body));
  };
  const server = createServer((request, response) => {
    const url = request.url ?? "";
    requests.push(url);
    if (!made.isAway && more?.answer(request, response, made) === true) return;
    if (request.method === "POST" && url === `${path}/token`) return void answerToken(request, response);
    answerGet(url, response);
  });
  const answerGet = (url: string, response: ServerResponse) => {
    const found = url === where ? metadataOf(made) : url === `${path}/keys` ? { keys: [key.jwk] } : undefined;
    const status = made.isAway ? 503 : found ? 200 : 404;
    response.writeHead(status, { "content-type": "application/json" });
    response.end(JSON.stringify(made.isAway ? {} : (found ?? {})));
  };
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  ends(() => {
    server.closeAllConnections();
    server.close();
  });
  const made = {
    issuer: `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`,
    asked: requests,
    namedAs: undefined as string | undefined,
    isAway: false,
    exchanges,
    refuses: undefined as AuthorizationServer["refuses"],
    get publicKey() {
      return key.jwk;
    },
    rotate: async () => {
      key = await newKey(alg);
    },
    token: async (claims: Json, how: SignHow = {}) => {
      const now = Math.floor(Date.now() / 1000);
      const profile = { iss: made.issuer, sub: "alice", iat: now, exp: now + 3600, ...claims };
      const header = { alg: how.alg ?? alg, kid: key.jwk.kid ?? "", typ: "at+jwt", ...how.header };
      const payload = JSON.parse(JSON.stringify(profile)) as JWTPayload;
      return new SignJWT(payload).setProtectedHeader(header).sign(how.key ?? key.secret);
    },
  };
  return made;
}

async function newKey(alg: string) {
  const { publicKey, privateKey } = await generateKeyPair(alg);
  const jwk: JWK = { ...(await exportJWK(publicKey)), kid: crypto.randomUUID(), use: "sig" };
  return { secret: privateKey, verifies: publicKey, jwk };
}
