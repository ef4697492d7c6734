// An authorization server at which `alice` signs in as a program of her machine sends her there: code with PKCE,
// tokens, refresh tokens that are good once, and ending them.

import { createHash, randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { startAuthorizationServer, type AuthorizationServer } from "./authorization-server.ts";
import type { Json } from "./mcp-client.ts";

export interface SignInServer {
  readonly server: AuthorizationServer;
  /** What `/authorize` and `/token` were asked, in order. */
  readonly requests: { readonly path: string; readonly form: Readonly<Record<string, string>> }[];
  /** Claims of the tokens that it gives. */
  claims: Json;
  /** Seconds that they live. */
  lives: number;
  givesRefreshTokens: boolean;
  /** OpenID Connect Core 12.2 lets a server leave it out. */
  refreshesIdTokens: boolean;
  /** Members of what a browser brings back, in place of the right ones; undefined: it is left out. */
  brings: Readonly<Record<string, string | undefined>>;
  /** Members of the ID token alone. */
  idClaims: Json;
  /** Of those that it gave, how many can still be used. */
  readonly goodRefreshTokens: () => number;
}

interface Grant {
  readonly redirect: string;
  readonly challenge: string;
  readonly nonce: string | undefined;
}

type Form = Readonly<Record<string, string>>;

/** Takes loopback redirects alone, to any port, for the client `tenantry-cli`. */
export async function startSignInServer(
  options: { readonly ends?: (stop: () => void) => void; readonly path?: string } = {},
): Promise<SignInServer> {
  const codes = new Map<string, Grant>();
  const refreshTokens = new Set<string>();
  const made: Omit<SignInServer, "server"> = {
    requests: [],
    claims: {},
    lives: 3600,
    givesRefreshTokens: true,
    refreshesIdTokens: true,
    brings: {},
    idClaims: {},
    goodRefreshTokens: () => refreshTokens.size,
  };

  function authorize(query: URLSearchParams, response: ServerResponse, issuer: string): void {
    const form = Object.fromEntries(query);
    made.requests.push({ path: "/authorize", form });
    const { client_id: client, redirect_uri: redirect = "", response_type: type, state, nonce } = form;
    const isRight = client === "tenantry-cli" && type === "code" && form["code_challenge_method"] === "S256";
    if (!isRight || !/^http:\/\/127\.0\.0\.1:\d+\/callback$/.test(redirect)) return void response.writeHead(400).end();
    const code = randomUUID();
    codes.set(code, { redirect, challenge: form["code_challenge"] ?? "", nonce });
    const back = new URL(redirect);
    const brought = { code, state, iss: issuer, ...made.brings };
    for (const [name, value] of Object.entries(brought)) if (value !== undefined) back.searchParams.set(name, value);
    response.writeHead(302, { location: back.href }).end();
  }

  async function tokens(server: AuthorizationServer, form: Form, nonce?: string): Promise<Json> {
    const aud = form["resource"] ?? "tenantry-cli";
    const exp = Math.floor(Date.now() / 1000) + made.lives;
    const always = { aud, exp, ...made.claims };
    const refresh = randomUUID();
    if (made.givesRefreshTokens) refreshTokens.add(refresh);
    const id = { ...always, aud: "tenantry-cli", nonce, ...made.idClaims };
    return {
      access_token: await server.token(always),
      token_type: "Bearer",
      expires_in: made.lives,
      ...((made.refreshesIdTokens || form["grant_type"] !== "refresh_token") && {
        id_token: await server.token(id, { header: { typ: "JWT" } }),
      }),
      ...(made.givesRefreshTokens && { refresh_token: refresh }),
    };
  }

  async function token(server: AuthorizationServer, form: Form): Promise<Json> {
    if (form["grant_type"] === "refresh_token") {
      return refreshTokens.delete(form["refresh_token"] ?? "") ? tokens(server, form) : { error: "invalid_grant" };
    }
    const grant = codes.get(form["code"] ?? "");
    codes.delete(form["code"] ?? "");
    const challenge = createHash("sha256")
      .update(form["code_verifier"] ?? "")
      .digest("base64url");
    if (!grant || grant.challenge !== challenge || grant.redirect !== form["redirect_uri"]) {
      return { error: "invalid_grant", error_description: "the code is not good" };
    }
    return tokens(server, form, grant.nonce);
  }

  async function post(request: IncomingMessage, response: ServerResponse, server: AuthorizationServer): Promise<void> {
    const form = Object.fromEntries(new URLSearchParams(await text(request)));
    const path = new URL(request.url ?? "", server.issuer).pathname.split("/").at(-1);
    made.requests.push({ path: `/${path}`, form });
    if (path === "revoke") refreshTokens.delete(form["token"] ?? "");
    const answer = path === "revoke" ? {} : await token(server, form);
    response.writeHead("error" in answer ? 400 : 200, { "content-type": "application/json" });
    response.end(JSON.stringify(answer));
  }

  const server = await startAuthorizationServer({
    ...options,
    more: {
      metadata: (issuer) => ({
        authorization_endpoint: `${issuer}/authorize`,
        revocation_endpoint: `${issuer}/revoke`,
        id_token_signing_alg_values_supported: ["ES256"],
        authorization_response_iss_parameter_supported: true,
        code_challenge_methods_supported: ["S256"],
      }),
      answer: (request, response, found) => {
        const { pathname, searchParams } = new URL(request.url ?? "", found.issuer);
        if (pathname.endsWith("/authorize")) authorize(searchParams, response, found.issuer);
        else if (/\/(?:token|revoke)$/.test(pathname)) void post(request, response, found);
        else return false;
        return true;
      },
    },
  });
  return Object.assign(made, { server });
}
