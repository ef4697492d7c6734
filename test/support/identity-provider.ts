// A small identity provider as its clients see it, over whatever answers requests: OpenID, or OAuth 2 as GitHub speaks
// it. A test says who sits at the browser, whom it has disabled, and what it answers wrongly.

import { exportJWK, generateKeyPair, SignJWT, type CryptoKey, type GenerateKeyPairResult, type JWTPayload } from "jose";

type Json = Record<string, unknown>;

export type ProviderKind = "openid" | "github";

export interface ProviderOptions {
  /** Where its requests come in, without a slash at the end. */
  readonly origin: string;
  readonly kind?: ProviderKind;
  readonly clients?: Readonly<Record<string, ProviderClient>>;
  /** With which it signs; absent: keys of its own, which take a while to make. */
  readonly keys?: GenerateKeyPairResult;
}

export interface ProviderClient {
  readonly secret?: string;
  readonly redirect: string;
}

export interface IdentityProvider {
  readonly issuer: string;
  /** What it publishes of itself. */
  metadata: Json;
  /** By the name with which they log in there: what it says of them. */
  readonly people: Record<string, Json>;
  /** Who is logged in at the browser; null: nobody, and whoever is asked declines. */
  atBrowser: string | null;
  /** Of the claims that the ID token leaves to the user endpoint. */
  readonly onlyInUserInfo: Set<string>;
  /** Seconds for which its next access tokens are good. */
  life: number;
  givesRefreshTokens: boolean;
  /** Nobody of this name is let in, or refreshed. */
  readonly disabled: Set<string>;
  /** By path: what is answered in place of what should be. */
  readonly instead: Record<string, () => Response | Promise<Response>>;
  /** Of the next ID tokens; one that is undefined is left out. */
  claims: Json;
  /** How they are signed, in place of its own key. */
  signed: { readonly alg?: string; readonly key?: CryptoKey | Uint8Array; readonly header?: Json };
  readonly heard: { readonly path: string; readonly form: URLSearchParams; readonly headers: Headers }[];
  readonly answer: (request: Request) => Promise<Response>;
  /** As the browser: where the answer to this leads. */
  readonly visit: (location: string) => Promise<URL>;
}

interface Given {
  readonly client: string;
  readonly person: string;
  readonly nonce: string | null;
  readonly challenge: string | null;
  readonly redirect: string;
}

interface ProviderState {
  readonly provider: IdentityProvider;
  readonly github: boolean;
  readonly clients: Readonly<Record<string, ProviderClient>>;
  readonly codes: Map<string, Given>;
  /** By access and by refresh token. */
  readonly tokens: Map<string, Given>;
  readonly key: { readonly secret: CryptoKey; readonly kid: string };
}

export async function identityProvider(options: ProviderOptions): Promise<IdentityProvider> {
  const { origin, kind = "openid", clients = {} } = options;
  const { publicKey, privateKey } = options.keys ?? (await generateKeyPair("RS256", { extractable: true }));
  const kid = crypto.randomUUID();
  const jwk = { ...(await exportJWK(publicKey)), kid, use: "sig", alg: "RS256" };
  const provider: IdentityProvider = {
    issuer: origin,
    metadata: {
      issuer: origin,
      authorization_endpoint: `${origin}/authorize`,
      token_endpoint: `${origin}/token`,
      userinfo_endpoint: `${origin}/userinfo`,
      jwks_uri: `${origin}/keys`,
      authorization_response_iss_parameter_supported: true,
    },
    people: { alice: { sub: "00u-alice", id: 1001, login: "alice", name: "Alice", email: "alice@example.com" } },
    atBrowser: "alice",
    onlyInUserInfo: new Set(),
    life: 3600,
    givesRefreshTokens: true,
    disabled: new Set(),
    instead: {},
    claims: {},
    signed: {},
    heard: [],
    answer: (request) => answerAt(state, { jwk }, request),
    visit: async (location) => {
      const response = await provider.answer(new Request(location));
      return new URL(response.headers.get("location") ?? `about:${response.status}`);
    },
  };
  const key = { secret: privateKey, kid };
  const state: ProviderState = {
    provider,
    github: kind === "github",
    clients,
    codes: new Map(),
    tokens: new Map(),
    key,
  };
  return provider;
}

async function answerAt(state: ProviderState, { jwk }: { readonly jwk: Json }, request: Request): Promise<Response> {
  const { provider } = state;
  const url = new URL(request.url);
  const form = new URLSearchParams(request.method === "POST" ? await textOf(request) : url.search);
  provider.heard.push({ path: url.pathname, form, headers: request.headers });
  const instead = provider.instead[url.pathname];
  if (instead) return instead();
  switch (url.pathname) {
    case "/.well-known/openid-configuration":
      return state.github ? new Response(null, { status: 404 }) : Response.json(provider.metadata);
    case "/keys":
      return Response.json({ keys: [jwk] });
    case "/authorize":
      return authorizeAt(state, form);
    case "/token":
      return tokenAt(state, form, request.headers);
    case "/userinfo":
      return userAt(state, request.headers);
    default:
      return new Response("<html>nothing here</html>", { status: 404, headers: { "content-type": "text/html" } });
  }
}

/** workerd warns of forms that are read as text. */
async function textOf(request: Request): Promise<string> {
  return new TextDecoder().decode(await request.arrayBuffer());
}

function authorizeAt({ provider, clients, codes, github }: ProviderState, form: URLSearchParams): Response {
  const client = form.get("client_id") ?? "";
  const redirect = form.get("redirect_uri") ?? "";
  if (clients[client]?.redirect !== redirect) return new Response("no such client", { status: 400 });
  const back = new URL(redirect);
  const state = form.get("state");
  if (state !== null) back.searchParams.set("state", state);
  if (!github) back.searchParams.set("iss", provider.issuer);
  const person = provider.atBrowser;
  const isRight = form.get("response_type") === "code" && form.get("code_challenge_method") === "S256";
  if (!isRight) back.searchParams.set("error", "invalid_request");
  else if (person === null || provider.disabled.has(person)) back.searchParams.set("error", "access_denied");
  else {
    const code = crypto.randomUUID();
    const challenge = form.get("code_challenge");
    codes.set(code, { client, person, nonce: form.get("nonce"), challenge, redirect });
    back.searchParams.set("code", code);
  }
  return new Response(null, { status: 302, headers: { location: back.href } });
}

async function tokenAt(state: ProviderState, form: URLSearchParams, headers: Headers): Promise<Response> {
  const client = clientIn(state, form, headers);
  if (client === undefined) return refusal(state, headers, "invalid_client");
  const given = form.get("grant_type") === "refresh_token" ? refreshed(state, form) : await redeemed(state, form);
  if (given?.client !== client || state.provider.disabled.has(given.person)) {
    return refusal(state, headers, state.github ? "bad_verification_code" : "invalid_grant");
  }
  const [access, refresh] = [`access-${crypto.randomUUID()}`, `refresh-${crypto.randomUUID()}`];
  state.tokens.set(access, given).set(refresh, given);
  const idToken = state.github ? {} : { id_token: await idTokenFor(state, given) };
  const { life, givesRefreshTokens } = state.provider;
  const rest = state.github ? {} : { expires_in: life, ...(givesRefreshTokens && { refresh_token: refresh }) };
  return written(state, headers, { access_token: access, token_type: "bearer", scope: "openid", ...rest, ...idToken });
}

function clientIn({ clients }: ProviderState, form: URLSearchParams, headers: Headers): string | undefined {
  const basic = /^Basic (.+)$/.exec(headers.get("authorization") ?? "")?.[1];
  const [id = "", secret] =
    basic === undefined
      ? [form.get("client_id") ?? "", form.get("client_secret") ?? undefined]
      : atob(basic).split(":").map(decodeURIComponent);
  return clients[id] && clients[id].secret === secret ? id : undefined;
}

function refreshed({ tokens }: ProviderState, form: URLSearchParams): Given | undefined {
  const token = form.get("refresh_token") ?? "";
  const given = tokens.get(token);
  tokens.delete(token);
  return given;
}

async function redeemed({ codes }: ProviderState, form: URLSearchParams): Promise<Given | undefined> {
  const code = form.get("code") ?? "";
  const given = codes.get(code);
  codes.delete(code);
  const verifier = new TextEncoder().encode(form.get("code_verifier") ?? "");
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", verifier));
  const challenge = btoa(String.fromCodePoint(...hash))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replace("=", "");
  return given?.challenge === challenge && given.redirect === form.get("redirect_uri") ? given : undefined;
}

async function idTokenFor({ provider, key }: ProviderState, { client, person, nonce }: Given): Promise<string> {
  const now = Math.floor(Date.now() / 1000);
  const said = Object.entries(provider.people[person] ?? {}).filter(([name]) => !provider.onlyInUserInfo.has(name));
  const all = { iss: provider.issuer, aud: client, iat: now, exp: now + 600, nonce, ...Object.fromEntries(said) };
  const payload = JSON.parse(JSON.stringify({ ...all, ...provider.claims })) as JWTPayload;
  const { alg = "RS256", key: other, header } = provider.signed;
  return new SignJWT(payload).setProtectedHeader({ alg, kid: key.kid, ...header }).sign(other ?? key.secret);
}

function userAt({ provider, tokens, github }: ProviderState, headers: Headers): Response {
  if (github && headers.get("user-agent") === null) return new Response("say who you are", { status: 403 });
  const given = tokens.get(headers.get("authorization")?.replace("Bearer ", "") ?? "");
  const isKnown = given !== undefined && !provider.disabled.has(given.person);
  if (!isKnown) return Response.json({ message: "Bad credentials" }, { status: 401 });
  const { sub, ...person } = provider.people[given.person] ?? {};
  return Response.json(github ? person : { sub, ...person });
}

/** GitHub answers in forms, and 200 whatever it says, to whoever does not ask for JSON. */
function written({ github }: ProviderState, headers: Headers, answer: Readonly<Record<string, unknown>>): Response {
  const isForm = github && headers.get("accept") !== "application/json";
  return isForm ? new Response(new URLSearchParams(answer as Record<string, string>)) : Response.json(answer);
}

function refusal(state: ProviderState, headers: Headers, error: string): Response {
  // What a provider says in its own words may repeat what it was sent.
  const answer = { error, error_description: "PROVIDER-WORDS client secret was wrong" };
  const { status } = state.github ? { status: 200 } : { status: error === "invalid_client" ? 401 : 400 };
  return new Response(written(state, headers, answer).body, {
    status,
    headers: { "content-type": written(state, headers, answer).headers.get("content-type") ?? "" },
  });
}
