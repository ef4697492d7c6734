import { generateKeyPair, UnsecuredJWT } from "jose";
import { describe, expect, it } from "vitest";
import { oidc } from "../../../src/login/sign-in/oidc.ts";
import type {
  SignInFailure,
  ProviderTokens,
  SignInSuccess,
} from "../../../src/login/sign-in/identity-provider-client.ts";
import type { LoginDocument } from "../../../src/tenants/document/tenant-document.ts";
import type { IdentityProvider } from "../../support/identity-provider.ts";
import { CLIENT, ISSUER, providerFor, SECRET, signInWith, contextWith } from "./sign-in.ts";
import { upstreamAt } from "../../support/workerd/upstreams.ts";

async function setup(login: Partial<LoginDocument> = {}) {
  const provider = await providerFor(ISSUER);
  const clientSecret = "{{secret:CLIENT}}";
  const document = { via: "oidc", issuer: provider.issuer, clientId: CLIENT, clientSecret, ...login } as const;
  const { context, logged } = await contextWith(document);
  const signIn = (change?: (answer: URLSearchParams) => void) => signInWith(oidc, context, provider, change);
  return { provider, context, logged, signIn };
}

function expectIn(signed: SignInSuccess | SignInFailure): SignInSuccess {
  expect(signed).toMatchObject({ kind: "signedIn" });
  return signed as SignInSuccess;
}

const STRAY = "This sign-in has ended, or it was started in another browser";

function expectOut(signed: SignInSuccess | SignInFailure, why: string, error?: string): void {
  const { kind, next, ...told } = signed as SignInFailure;
  expect({ kind, ...told }).toEqual({
    kind: "notSignedIn",
    why: expect.stringContaining(why),
    ...(error && { error }),
  });
  expect(next).toMatch(/Start again/);
}

const tokenRequests = ({ heard: requests }: IdentityProvider) => requests.filter(({ path }) => path === "/token");

describe("a person who signed in", () => {
  it("is the subject that the provider names, with what it says of them and tokens of theirs", async () => {
    const { signIn, provider, logged } = await setup();
    Object.assign(provider.people["alice"] ?? {}, { groups: ["staff", 7], hd: "acme.example" });
    const { person, provider: tokens } = expectIn(await signIn());
    expect(person).toMatchObject({
      issuer: provider.issuer,
      subject: "00u-alice",
      name: "Alice",
      email: "alice@example.com",
      groups: ["staff"],
      claims: { sub: "00u-alice", hd: "acme.example", groups: ["staff", 7] },
    });
    expect(tokens).toMatchObject({
      access: expect.stringMatching(/^access-/),
      refresh: expect.stringMatching(/^refresh-/),
    });
    expect(tokens?.expires).toBeGreaterThan(Date.now() + 3_000_000);
    expect(logged).toEqual([]);
  });

  it("went there with a challenge, a nonce and what the document asks for", async () => {
    const { context, provider } = await setup({ request: "openid offline_access" });
    const begun = await oidc.begin?.(context, "state-1");
    const { location, providerState } = begun as Extract<typeof begun, { kind: "begun" }>;
    const query = Object.fromEntries(new URL(location).searchParams);
    expect(query).toEqual({
      response_type: "code",
      client_id: CLIENT,
      redirect_uri: `${ISSUER}/callback`,
      scope: "openid offline_access",
      prompt: "consent",
      state: "state-1",
      nonce: providerState["nonce"],
      code_challenge: expect.stringMatching(/^[\w-]{43}$/),
      code_challenge_method: "S256",
    });
    expect(location.startsWith(`${provider.issuer}/authorize?`)).toBe(true);
    expect(JSON.stringify(providerState).length).toBeLessThan(500);
    expect(query["code_challenge"]).not.toBe(providerState["verifier"]);
  });

  it.each([
    [
      "openid offline_access",
      [expect.objectContaining({ message: expect.stringContaining("issued no refresh token") })],
    ],
    ["openid", []],
  ])(
    "has no refresh token at a provider that gives none, of which operators hear where %j asks for it",
    async (request, heard) => {
      const { signIn, provider, logged } = await setup({ request });
      provider.givesRefreshTokens = false;
      expect(expectIn(await signIn()).provider).not.toHaveProperty("refresh");
      expect(logged).toEqual(heard);
    },
  );

  it("brings groups that stand at the user endpoint alone, where something asks for them", async () => {
    const scopes = { claim: "groups", values: { staff: ["reading"] } };
    const { signIn, provider } = await setup({ scopes });
    Object.assign(provider.people["alice"] ?? {}, { groups: ["staff"] });
    provider.onlyInUserInfo.add("groups");
    expect(expectIn(await signIn()).person).toMatchObject({ groups: ["staff"], claims: { groups: ["staff"] } });
    expect(provider.heard.at(-1)?.path).toBe("/userinfo");
  });

  it("is let in without a user endpoint where the ID token says all, or the access token is for another API", async () => {
    const { signIn, provider } = await setup();
    expectIn(await signIn());
    expect(provider.heard.map(({ path }) => path)).not.toContain("/userinfo");
    const other = await setup({ claims: ["department"] });
    other.provider.instead["/userinfo"] = () => new Response("not for you", { status: 403 });
    expect(expectIn(await other.signIn()).person.subject).toBe("00u-alice");
  });

  it("has no address that its owner has not shown to be theirs", async () => {
    for (const said of [false, "false", 0]) {
      const { signIn, provider } = await setup();
      Object.assign(provider.people["alice"] ?? {}, { email_verified: said });
      const { person } = expectIn(await signIn());
      expect([person.email, person.claims["email"]]).toEqual([undefined, undefined]);
    }
  });

  it("shows its secret in the form where the provider takes no other way, and a public client shows none", async () => {
    const post = await setup();
    Object.assign(post.provider.metadata, { token_endpoint_auth_methods_supported: ["client_secret_post"] });
    expectIn(await post.signIn());
    expect(tokenRequests(post.provider)[0]?.form.get("client_secret")).toBe(SECRET);
    const basic = await setup();
    expectIn(await basic.signIn());
    expect(tokenRequests(basic.provider)[0]?.form.has("client_secret")).toBe(false);
    const open = await setup({ clientId: "open", clientSecret: undefined as never });
    expectIn(await open.signIn());
    expect(tokenRequests(open.provider)[0]?.headers.get("authorization")).toBe(null);
  });
});

it("a Worker without a secrets key sends no person to the provider", async () => {
  const { context } = await setup();
  for (const [SECRETS_KEY, what] of [
    [undefined, "unset"],
    ["short", "broken"],
  ] as const) {
    const ground = { ...context.tenantContext, env: { ...context.tenantContext.env, SECRETS_KEY } };
    const told = await oidc.begin?.({ ...context, tenantContext: ground }, "s");
    expectOut(told as SignInFailure, `SECRETS_KEY is ${what}`, "server_error");
  }
});

describe("an answer is refused", () => {
  it.each([
    ["another state", "state", "state-of-another-browser"],
    ["no state", "state", null],
    ["another issuer, mixed up", "iss", "https://evil.example"],
    ["no issuer, of one that always names itself", "iss", null],
    ["a code that nobody gave", "code", "guessed"],
    ["no code", "code", null],
  ])("with %s", async (_what, name, value) => {
    const { signIn, provider } = await setup();
    const signed = await signIn((answer) => (value === null ? answer.delete(name) : answer.set(name, value)));
    expectOut(signed, STRAY);
    expect(tokenRequests(provider)).toHaveLength(name === "code" ? 1 : 0);
  });

  it("that another tenant's client was given, or that was redeemed before", async () => {
    const acme = await setup();
    const globex = await contextWith({ ...acme.context.login, clientId: "other" });
    const begun = await oidc.begin?.(globex.context, "s");
    const theirs = begun?.kind === "begun" ? (await acme.provider.visit(begun.location)).searchParams.get("code") : "";
    expectOut(await acme.signIn((answer) => answer.set("code", theirs ?? "")), STRAY);
    const again = await oidc.begin?.(acme.context, "s");
    if (again?.kind !== "begun") throw new Error("nothing begun");
    const answer = (await acme.provider.visit(again.location)).searchParams;
    expectIn(await oidc.finish(acme.context, answer, again.providerState));
    expectOut(await oidc.finish(acme.context, answer, again.providerState), STRAY);
  });

  it("that is a denial: the person is told so, without the provider's text", async () => {
    const { signIn, provider } = await setup();
    provider.atBrowser = null;
    expectOut(
      await signIn((answer) => answer.set("error_description", "PROVIDER-WORDS")),
      "denied access",
      "access_denied",
    );
    const codes = [
      ["login_required", "denied access", "access_denied"],
      ["temporarily_unavailable", "cannot be reached", "temporarily_unavailable"],
      ["invalid_scope", "invalid_scope", "server_error"],
      ["<script>", "failed: refused", "server_error"],
    ] as const;
    for (const [code, why, error] of codes) expectOut(await signIn((answer) => answer.set("error", code)), why, error);
  });
});

describe("an ID token is refused", () => {
  const HOUR = 3600;
  const now = () => Math.floor(Date.now() / 1000);
  it.each([
    ["with another nonce", () => ({ nonce: "of-another" }), STRAY, undefined],
    ["without a nonce", () => ({ nonce: undefined }), STRAY, undefined],
    ["for another client", () => ({ aud: "other" }), "it is for another audience", "server_error"],
    [
      "for two clients, given to nobody says which",
      () => ({ aud: [CLIENT, "other"] }),
      "another client",
      "server_error",
    ],
    ["is for another client", () => ({ aud: [CLIENT, "other"], azp: "other" }), "another client", "server_error"],
    ["of another issuer", () => ({ iss: "https://evil.example" }), "it has another issuer", "server_error"],
    ["that has expired", () => ({ exp: now() - HOUR }), "it has expired", "server_error"],
    ["that never ends", () => ({ exp: undefined }), "its exp claim is missing", "server_error"],
    ["that is for later", () => ({ nbf: now() + HOUR }), "it is not valid yet", "server_error"],
    ["of nobody", () => ({ sub: undefined }), "its sub claim is missing or too long", "server_error"],
  ])("%s", async (_what, claims, why, error) => {
    const { signIn, provider } = await setup();
    provider.claims = claims();
    expectOut(await signIn(), why, error);
  });

  it("that is signed with the client's secret, or with no key", async () => {
    const { signIn, provider } = await setup();
    provider.signed = { alg: "HS256", key: new TextEncoder().encode(SECRET.padEnd(32, "x")) };
    expectOut(await signIn(), "its algorithm is not allowed", "server_error");
    const none = await setup();
    const claims = { iss: none.provider.issuer, aud: CLIENT, sub: "00u-alice", exp: now() + HOUR };
    const idToken = new UnsecuredJWT(claims).encode();
    none.provider.instead["/token"] = () =>
      Response.json({ access_token: "access-1", token_type: "Bearer", id_token: idToken });
    expectOut(await none.signIn(), "its algorithm is not allowed", "server_error");
  });

  it("that another key has signed, or no key", async () => {
    const { signIn, provider } = await setup();
    const { privateKey } = await generateKeyPair("RS256");
    provider.signed = { key: privateKey };
    expectOut(await signIn(), "it cannot be verified", "server_error");
    const none = await setup();
    none.provider.instead["/token"] = () => Response.json({ access_token: "access-1", token_type: "Bearer" });
    expectOut(await none.signIn(), "the ID token is missing", "server_error");
  });

  it("while the user endpoint names another person", async () => {
    const { signIn, provider } = await setup({ claims: ["groups"] });
    provider.instead["/userinfo"] = () => Response.json({ sub: "00u-bob", groups: ["admins"] });
    expectOut(await signIn(), "describes another person", "server_error");
  });
});

const HUGE = 50 * 1024 * 1024;

function endless(): ReadableStream<Uint8Array> {
  let sent = 0;
  const chunk = new TextEncoder().encode(" ".repeat(64 * 1024));
  return new ReadableStream({
    pull: (controller) => {
      sent += chunk.length;
      return sent > HUGE ? controller.close() : controller.enqueue(chunk);
    },
  });
}

const leadingTo = (location: string) => new Response(null, { status: 307, headers: { location } });

describe("a provider", () => {
  it("that is away at the start shows an error page that says what to do", async () => {
    const { context, provider, logged } = await setup();
    provider.instead["/.well-known/openid-configuration"] = () => new Response(null, { status: 503 });
    expectOut((await oidc.begin?.(context, "s")) as SignInFailure, "cannot be reached", "temporarily_unavailable");
    expect(logged).not.toEqual([]);
  });

  it.each([
    ["is down", () => new Response("PROVIDER-WORDS", { status: 503 }), "answered 503"],
    [
      "answers a page",
      () => new Response("<html>PROVIDER-WORDS", { headers: { "content-type": "text/html" } }),
      "without JSON",
    ],
    ["answers half a token", () => new Response('{"access_token":"PROVIDER-WORDS'), "without JSON"],
    ["answers 50 MB", () => new Response(endless()), "the response is too large"],
    ["leads to a private address", () => leadingTo("https://10.0.0.1/token"), "too many redirects"],
    ["does not let itself be connected to", () => Promise.reject(new TypeError("fetch failed")), "fetch failed"],
  ])("that %s at the code exchange is away, and its answer is shown nowhere", async (_what, instead, log) => {
    const { signIn, provider, logged } = await setup();
    provider.instead["/token"] = instead;
    const signed = await signIn();
    expectOut(signed, "cannot be reached", "temporarily_unavailable");
    expect(logged.map(String)).toEqual([expect.stringContaining(log)]);
    expect(JSON.stringify(signed) + String(logged)).not.toContain("PROVIDER-WORDS");
  });

  it("that redirects to another server gets no request followed there, and no secret", async () => {
    const { signIn, provider } = await setup();
    const requests: string[] = [];
    const elsewhere = upstreamAt((request) => {
      requests.push(request.url);
      return Response.json({});
    });
    provider.instead["/token"] = () => leadingTo(elsewhere);
    expectOut(await signIn(), "cannot be reached", "temporarily_unavailable");
    expect(requests).toEqual([]);
  });

  it("whose endpoints are not on the public internet is not asked", async () => {
    const { signIn, provider, logged } = await setup();
    Object.assign(provider.metadata, { token_endpoint: "https://169.254.169.254/token" });
    expectOut(await signIn(), "cannot be reached", "temporarily_unavailable");
    expect(String(logged)).toContain("the address is not public");
  });

  it("that refuses the client is reported by its error code alone", async () => {
    const { context, provider } = await setup();
    const wrong = await contextWith(context.login, ISSUER, { CLIENT: "another" });
    const signed = await signInWith(oidc, wrong.context, provider);
    expectOut(signed, "failed: invalid_client", "server_error");
    expect(JSON.stringify(signed)).not.toContain("PROVIDER-WORDS");
    const unset = await contextWith({ ...context.login, clientSecret: "{{secret:NOBODY}}" });
    expectOut(
      await signInWith(oidc, unset.context, provider),
      "the client secret {{secret:NOBODY}} is not set",
      "server_error",
    );
    // Nobody is sent there for nothing, and whoever runs this server is told which.
    expectOut(
      (await oidc.begin?.(unset.context, "s")) as SignInFailure,
      "correctly: the client secret {{secret:NOBODY}} is not set",
      "server_error",
    );
  });

  it("that sends more claims than a cookie can carry is refused", async () => {
    const { signIn, provider } = await setup();
    Object.assign(provider.people["alice"] ?? {}, { groups: Array.from({ length: 1000 }, () => crypto.randomUUID()) });
    expectOut(await signIn(), "profile is too large", "server_error");
  });
});

const UNREADABLE = { access_token: "access-2", token_type: "Bearer", id_token: "x.y.z" };

describe("revalidation", () => {
  const ALICE = { issuer: "https://before.example", subject: "00u-alice", claims: { sub: "00u-alice", role: "chief" } };
  const tokensOf = async ({ signIn }: Awaited<ReturnType<typeof setup>>) =>
    expectIn(await signIn()).provider as ProviderTokens;

  it("a provider that confirms a person gives new tokens", async () => {
    const at = await setup();
    const tokens = await tokensOf(at);
    const confirmed = await oidc.revalidate?.(at.context, tokens, ALICE);
    expect(confirmed).toMatchObject({ state: "confirmed", provider: { refresh: expect.stringMatching(/^refresh-/) } });
    expect(confirmed?.state === "confirmed" && confirmed.provider?.refresh).not.toBe(tokens.refresh);
  });

  it("a refresh that brings no new refresh token leaves the old one", async () => {
    const at = await setup();
    const tokens = await tokensOf(at);
    at.provider.instead["/token"] = () => Response.json({ access_token: "access-2", token_type: "Bearer" });
    expect(await oidc.revalidate?.(at.context, tokens, ALICE)).toMatchObject({
      state: "confirmed",
      provider: { access: "access-2", refresh: tokens.refresh },
    });
  });

  it.each([
    ["the ID token", () => {}],
    ["the user endpoint", (provider: IdentityProvider) => provider.onlyInUserInfo.add("groups")],
  ])("the claims of %s apply from then on, and missing ones are gone", async (_where, change) => {
    const at = await setup({ scopes: { claim: "groups", values: { staff: ["reading"] } } });
    Object.assign(at.provider.people["alice"] ?? {}, { groups: ["admins"] });
    change(at.provider);
    const tokens = await tokensOf(at);
    Object.assign(at.provider.people["alice"] ?? {}, { groups: ["staff"] });
    const confirmed = await oidc.revalidate?.(at.context, tokens, ALICE);
    expect(confirmed).toMatchObject({ person: { groups: ["staff"], claims: { groups: ["staff"] } } });
    expect(JSON.stringify(confirmed)).not.toContain("chief");
  });

  it.each([
    ["no ID token came, but the user endpoint speaks", 200, { role: "chief", groups: ["staff"] }],
    ["nobody says anything", 403, { role: "chief" }],
  ])("where %s, the person keeps access and identity", async (_what, status, claims) => {
    const at = await setup({ scopes: { claim: "groups", values: { staff: ["reading"] } } });
    const tokens = await tokensOf(at);
    const answer = { access_token: "access-2", token_type: "Bearer" };
    at.provider.instead["/token"] = () => Response.json(answer);
    at.provider.instead["/userinfo"] = () => Response.json({ sub: "00u-alice", groups: ["staff"] }, { status });
    const confirmed = await oidc.revalidate?.(at.context, tokens, ALICE);
    expect(confirmed).toMatchObject({ state: "confirmed", provider: { access: "access-2" } });
    const person = confirmed?.state === "confirmed" ? confirmed.person : null;
    expect(person?.claims).toEqual({ sub: "00u-alice", ...claims });
  });

  it.each([
    ["that was not verified", false, "alice@example.com"],
    ["that is new", true, "boss@example.com"],
  ])("an address %s does not become verified because the user endpoint does not say", async (_what, before, after) => {
    const at = await setup();
    Object.assign(at.provider.people["alice"] ?? {}, { email: "alice@example.com", email_verified: before });
    const { person, provider: tokens } = expectIn(await at.signIn());
    at.provider.instead["/token"] = () => Response.json({ access_token: "access-2", token_type: "Bearer" });
    at.provider.instead["/userinfo"] = () => Response.json({ sub: "00u-alice", email: after });
    const confirmed = await oidc.revalidate?.(at.context, tokens as ProviderTokens, person);
    expect(confirmed).toMatchObject({ state: "confirmed", person: { subject: "00u-alice" } });
    expect(JSON.stringify(confirmed)).not.toContain("@example.com");
  });

  it("a new address of a later ID token that does not say whether it is verified is not taken", async () => {
    const at = await setup();
    Object.assign(at.provider.people["alice"] ?? {}, { email: "alice@example.com", email_verified: true });
    const { person, provider: tokens } = expectIn(await at.signIn());
    expect(person.email).toBe("alice@example.com");
    at.provider.people["alice"] = {
      ...at.provider.people["alice"],
      email: "boss@example.com",
      email_verified: undefined,
    };
    const confirmed = await oidc.revalidate?.(at.context, tokens as ProviderTokens, person);
    expect(confirmed).toMatchObject({ state: "confirmed" });
    expect(JSON.stringify(confirmed)).not.toContain("boss@example.com");
  });

  it.each([403, 404, 408])("a user endpoint that answers %i takes no groups away", async (status) => {
    const at = await setup({ scopes: { claim: "groups", values: { staff: ["reading"] } } });
    at.provider.onlyInUserInfo.add("groups");
    Object.assign(at.provider.people["alice"] ?? {}, { groups: ["staff"] });
    const { person, provider: tokens } = expectIn(await at.signIn());
    at.provider.instead["/userinfo"] = () => new Response("<html>", { status });
    const confirmed = await oidc.revalidate?.(at.context, tokens as ProviderTokens, person);
    expect(confirmed).toMatchObject({ state: "confirmed", person: { groups: ["staff"] } });
  });

  it.each<[string, (provider: IdentityProvider) => void]>([
    ["an ID token that cannot be read", ({ instead }) => (instead["/token"] = () => Response.json(UNREADABLE))],
    ["the ID token of somebody else", (provider) => (provider.claims = { sub: "00u-mallory" })],
    [
      "more than is taken of anybody",
      ({ people }) => Object.assign(people["alice"] ?? {}, { bio: "x".repeat(45_000) }),
    ],
    ["too much at the user endpoint", ({ instead }) => (instead["/userinfo"] = () => new Response("x".repeat(70_000)))],
  ])("%s confirms nothing: the provider is asked again, with its latest tokens", async (_what, change) => {
    const at = await setup({ scopes: { claim: "groups", values: { staff: ["reading"] } } });
    const tokens = await tokensOf(at);
    change(at.provider);
    const confirmed = await oidc.revalidate?.(at.context, tokens, ALICE);
    expect(confirmed).toMatchObject({ state: "away", provider: { refresh: expect.any(String) } });
  });

  it("a person who is disabled there loses access, and no person gets it while it is away", async () => {
    const at = await setup();
    const tokens = await tokensOf(at);
    at.provider.instead["/token"] = () => new Response(null, { status: 502 });
    expect(await oidc.revalidate?.(at.context, tokens, ALICE)).toEqual({ state: "away" });
    at.provider.instead["/token"] = () => Response.json({ error: "invalid_client" }, { status: 401 });
    expect(await oidc.revalidate?.(at.context, tokens, ALICE)).toEqual({ state: "away" });
    at.provider.instead["/token"] = () => Response.json({ error: "interaction_required" }, { status: 400 });
    expect(await oidc.revalidate?.(at.context, tokens, ALICE)).toEqual({ state: "ended" });
    delete at.provider.instead["/token"];
    at.provider.disabled.add("alice");
    expect(await oidc.revalidate?.(at.context, tokens, ALICE)).toEqual({ state: "ended" });
  });

  it("without a refresh token the user endpoint decides whether the person keeps access", async () => {
    const at = await setup();
    const { access } = await tokensOf(at);
    expect(await oidc.revalidate?.(at.context, { access }, ALICE)).toMatchObject({ state: "confirmed" });
    at.provider.disabled.add("alice");
    expect(await oidc.revalidate?.(at.context, { access }, ALICE)).toEqual({ state: "ended" });
    at.provider.instead["/userinfo"] = () => new Response(null, { status: 429 });
    expect(await oidc.revalidate?.(at.context, { access }, ALICE)).toEqual({ state: "away" });
  });
});
