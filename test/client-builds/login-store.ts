// What a client that logs in asks its host to keep, in memory, up to the URL that a person would open.

import { createHash } from "node:crypto";
import { byKey, CLIENT_AT } from "../support/login-browser.ts";

export class LoginStore {
  readonly redirectUrl = CLIENT_AT;
  readonly clientMetadata = {
    client_name: "A client build",
    redirect_uris: [CLIENT_AT],
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
    token_endpoint_auth_method: "none",
  };
  asked: URL | undefined;
  #tokens: unknown;
  readonly #registered: { client_id?: string }[] = [];
  readonly #verifiers: string[] = [];

  clientInformation = () => this.#registered.find(({ client_id: id }) => this.#isAsked("client_id", id));
  saveClientInformation = (made: object) => void this.#registered.push(made);
  tokens = () => this.#tokens;
  saveTokens = (tokens: unknown) => void (this.#tokens = tokens);
  redirectToAuthorization = (url: URL) => void (this.asked ??= url);
  saveCodeVerifier = (verifier: string) => void this.#verifiers.push(verifier);
  codeVerifier = () => this.#verifiers.find((one) => this.#isAsked("code_challenge", challengeOf(one)));

  /** Some clients begin twice at once: that one counts to which the person was sent. */
  #isAsked(parameter: string, value: string | undefined): boolean {
    return !this.asked || this.asked.searchParams.get(parameter) === value;
  }
}

function challengeOf(verifier: string): string {
  return createHash("sha256").update(verifier).digest("base64url");
}

interface LoggingIn<T> {
  readonly connect: (store: LoginStore) => Promise<T>;
  /** Takes what stands in the URL that the person came back to. */
  readonly finish: (back: URLSearchParams, store: LoginStore) => Promise<unknown>;
}

/** Connects, is refused, has a person with that key sign in, finishes, and connects again. */
export async function loggingIn<T>(key: string, { connect, finish }: LoggingIn<T>): Promise<T> {
  const store = new LoginStore();
  try {
    await connect(store);
  } catch (error) {
    if (!store.asked) throw error;
    const back = await byKey(key, CLIENT_AT)(store.asked);
    await finish(back.searchParams, store);
    return connect(store);
  }
  throw new Error("nobody had to log in");
}
