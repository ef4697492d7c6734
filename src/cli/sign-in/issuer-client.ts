// The requests to an authorization server: metadata, authorization code, tokens, refresh and revocation. Plain HTTP
// is refused beyond this machine, and each error says what to do next. https://datatracker.ietf.org/doc/html/rfc8252

import * as oauth from "oauth4webapi";
import type { Infer, OperatorClientShape } from "../../admin/contract.ts";
import { CliError, EXIT } from "../exit.ts";
import { isLoopback } from "../server-url.ts";
import { oneLine } from "../terminal/printable.ts";
import { unreachableError } from "../terminal/server-error.ts";

export type SignInClient = Infer<typeof OperatorClientShape>;

/** The token for the server, its expiry, and the refresh token. */
export interface Tokens {
  readonly token: string;
  /** Milliseconds since the epoch. */
  readonly expires: number;
  readonly refreshToken?: string | undefined;
  /** The issuer's name for the account. */
  readonly accountName?: string | undefined;
}

export interface CodeRequest {
  /** The authorization URL for the browser. */
  readonly url: string;
  readonly state: string;
  exchangeCode(parameters: URLSearchParams): Promise<Tokens>;
}

const TIMEOUT_MS = 30_000;

export class IssuerClient {
  readonly #settings: SignInClient;
  readonly #signal: AbortSignal;
  readonly #client: oauth.Client;

  constructor(settings: SignInClient, signal: AbortSignal) {
    this.#settings = settings;
    this.#signal = signal;
    this.#client = { client_id: settings.clientId };
  }

  /** Prepares an authorization request, whose code goes to `redirectUri`. */
  async createCodeRequest(redirectUri: string): Promise<CodeRequest> {
    const { scopes, clientId } = this.#settings;
    const server = await this.#metadata();
    const verifier = oauth.generateRandomCodeVerifier();
    const state = oauth.generateRandomState();
    const nonce = scopes.includes("openid") ? oauth.generateRandomNonce() : undefined;
    const url = this.#requireHttps(server.authorization_endpoint);
    const parameters = {
      response_type: "code",
      client_id: clientId,
      redirect_uri: redirectUri,
      scope: scopes.join(" "),
      code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
      code_challenge_method: "S256",
      state,
      ...(nonce !== undefined && { nonce }),
      ...this.#resource(),
    };
    for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
    return {
      url: url.href,
      state,
      exchangeCode: (callbackParameters) =>
        this.#withErrors(async () => {
          // Checks `state`, and `iss` if the server supports it, so that another server's answer is not sent to this
          // one (mix-up attack).
          const valid = oauth.validateAuthResponse(server, this.#client, callbackParameters, state);
          const options = { ...this.#options(), additionalParameters: this.#resource() };
          const response = await oauth.authorizationCodeGrantRequest(
            ...([server, this.#client, oauth.None(), valid, redirectUri, verifier, options] as const),
          );
          const checks = nonce === undefined ? {} : { expectedNonce: nonce };
          const tokens = await oauth.processAuthorizationCodeResponse(server, this.#client, response, checks);
          return this.#tokensOf(tokens) ?? this.#throwNoToken("the scopes in OPERATORS must contain openid");
        }),
    };
  }

  /** `current`: the token to keep if the answer has none, because a refresh may omit the ID token. */
  async refresh(refreshToken: string, current?: Pick<Tokens, "token" | "expires">): Promise<Tokens> {
    const server = await this.#metadata();
    return this.#withErrors(async () => {
      const options = { ...this.#options(), additionalParameters: this.#resource() };
      const response = await oauth.refreshTokenGrantRequest(server, this.#client, oauth.None(), refreshToken, options);
      const tokenResponse = await oauth.processRefreshTokenResponse(server, this.#client, response);
      const { refresh_token: nextRefreshToken = refreshToken } = tokenResponse;
      const tokens = this.#tokensOf(tokenResponse) ?? current ?? this.#throwNoToken("run tenantry login again");
      return { ...tokens, refreshToken: nextRefreshToken };
    });
  }

  /** false if the server has no revocation endpoint. https://datatracker.ietf.org/doc/html/rfc7009 */
  async revoke(refreshToken: string): Promise<boolean> {
    const server = await this.#metadata();
    if (server.revocation_endpoint === undefined) return false;
    return this.#withErrors(async () => {
      const hint = { token_type_hint: "refresh_token" };
      const options = { ...this.#options(), additionalParameters: hint };
      const response = await oauth.revocationRequest(server, this.#client, oauth.None(), refreshToken, options);
      await oauth.processRevocationResponse(response);
      return true;
    });
  }

  /** Prefers OpenID metadata over OAuth metadata, because it contains more. */
  async #metadata(): Promise<oauth.AuthorizationServer> {
    const issuer = this.#requireHttps(this.#settings.issuer);
    const server = await this.#withErrors(async () => {
      const read = async (algorithm: "oidc" | "oauth2") =>
        oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer, { ...this.#options(), algorithm }));
      return read("oidc").catch(() => read("oauth2"));
    });
    if (server.issuer === this.#settings.issuer) return server;
    // Another spelling would bypass the check that no other server uses the same issuer.
    throw new CliError(
      EXIT.refused,
      oneLine(`the metadata of ${this.#settings.issuer} names another issuer, ${server.issuer}; nothing was sent`),
    );
  }

  #options() {
    const isLocal = isLoopback(this.#settings.issuer);
    return {
      signal: () => AbortSignal.any([this.#signal, AbortSignal.timeout(TIMEOUT_MS)]),
      [oauth.allowInsecureRequests]: isLocal,
    };
  }

  /** https://datatracker.ietf.org/doc/html/rfc8707 */
  #resource(): Record<string, string> {
    const { audience = "" } = this.#settings;
    return /^https?:/.test(audience) ? { resource: audience } : {};
  }

  #requireHttps(endpoint = ""): URL {
    const url = URL.canParse(endpoint) ? new URL(endpoint) : undefined;
    if (url?.protocol === "https:" || (url?.protocol === "http:" && isLoopback(url.href))) return url;
    const what = endpoint === "" ? "names no authorization endpoint" : `has ${endpoint}, which is not an https URL`;
    throw new CliError(EXIT.refused, oneLine(`${this.#settings.issuer} ${what}: ask the operator of the server`));
  }

  /** undefined: none of the tokens is for the server. */
  #tokensOf(response: oauth.TokenEndpointResponse): Tokens | undefined {
    const { clientId, audience } = this.#settings;
    const { access_token: access, id_token: id, refresh_token: refreshToken, expires_in: seconds = 300 } = response;
    const token = (audience === undefined && id) || access;
    const claims = decodeClaims(token);
    if (![claims["aud"]].flat().includes(audience ?? clientId)) return undefined;
    const { exp, email, preferred_username: username, sub } = { ...claims, ...(id !== undefined && decodeClaims(id)) };
    const accountName = [email, username, sub].find((one) => typeof one === "string");
    const expiry = claims["exp"] ?? exp;
    const expires = typeof expiry === "number" ? expiry * 1000 : Date.now() + seconds * 1000;
    return { token, expires, accountName, ...(refreshToken !== undefined && { refreshToken }) };
  }

  #throwNoToken(advice: string): never {
    const { issuer, audience } = this.#settings;
    const what = audience === undefined ? "ID token" : `access token for ${audience}`;
    throw new SignInError(EXIT.notAuthorised, oneLine(`${issuer} gave no ${what}: ${advice}`));
  }

  async #withErrors<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (error instanceof CliError) throw error;
      if (this.#signal.aborted) throw new CliError(EXIT.interrupted, "interrupted", { cause: error });
      throw toSignInError(error, this.#settings.issuer);
    }
  }
}

/** The claims of a token that the server will verify; empty if unreadable. */
function decodeClaims(token: string): Record<string, unknown> & { readonly sub?: string } {
  try {
    const [, payload = ""] = token.split(".");
    return JSON.parse(Buffer.from(payload, "base64url").toString("utf8")) as Record<string, unknown>;
  } catch {
    return {};
  }
}

/** The authorization server refused, so another attempt is useless. */
export class SignInError extends CliError {}

function toSignInError(error: unknown, issuer: string): CliError {
  if (error instanceof oauth.AuthorizationResponseError || error instanceof oauth.ResponseBodyError) {
    const { error: code, error_description: description } = error;
    const detail = description === undefined ? code : `${code}: ${description}`;
    return new SignInError(EXIT.notAuthorised, oneLine(`${issuer} refused (${detail}): run tenantry login again`));
  }
  const isUnusableResponse =
    error instanceof oauth.OperationProcessingError || error instanceof oauth.UnsupportedOperationError;
  if (!isUnusableResponse && !(error instanceof oauth.WWWAuthenticateChallengeError))
    return unreachableError(error, issuer);
  const message = `${issuer} sent an invalid answer (${error.message}): ask its operator`;
  return new CliError(EXIT.refused, oneLine(message), { cause: error });
}
