import { describe, expect, it } from "vitest";
import { oauth2 } from "../../../src/login/sign-in/oauth2.ts";
import type { SignInFailure, ProviderTokens } from "../../../src/login/sign-in/identity-provider-client.ts";
import { CLIENT, ISSUER, providerFor, SECRET, signInWith, contextWith } from "./sign-in.ts";

async function setup() {
  const provider = await providerFor(ISSUER, "github");
  const at = (path: string) => provider.issuer + path;
  const urls = { authorizeUrl: at("/authorize?allow_signup=false"), tokenUrl: at("/token"), userUrl: at("/userinfo") };
  const login = {
    via: "oauth2",
    ...urls,
    clientId: CLIENT,
    clientSecret: "{{secret:CLIENT}}",
    request: "read:user",
  } as const;
  const { context, logged } = await contextWith(login);
  const signIn = (change?: (answer: URLSearchParams) => void) => signInWith(oauth2, context, provider, change);
  return { provider, context, logged, signIn };
}

const ALICE = { issuer: "https://github.example", subject: "1001", claims: {} };
const WITH_ID = { kind: "signedIn", person: { subject: "1001" } };

describe("a person who signed in", () => {
  it("is identified by the provider's permanent number, not by their login", async () => {
    const { signIn, provider, context } = await setup();
    const { login, id } = provider.people["alice"] ?? {};
    expect(await signIn()).toMatchObject({
      kind: "signedIn",
      person: { issuer: provider.issuer, subject: "1001", name: "Alice", claims: { sub: "1001", login, id } },
      provider: { access: expect.stringMatching(/^access-/), scope: "openid" },
    });
    const begun = await oauth2.begin?.(context, "s");
    const query = begun?.kind === "begun" ? new URL(begun.location).searchParams : new URLSearchParams();
    expect([query.get("allow_signup"), query.get("scope"), query.get("nonce")]).toEqual(["false", "read:user", null]);
    expect(provider.heard.find(({ path }) => path === "/token")?.form.get("client_secret")).toBe(SECRET);
  });

  it("is let in where the answer with the token is a form", async () => {
    const { signIn, provider } = await setup();
    const made = provider.answer;
    provider.instead["/token"] = async () => {
      const { form, headers } = provider.heard.at(-1) ?? {};
      delete provider.instead["/token"];
      const requestHeaders = new Headers(headers);
      requestHeaders.delete("accept");
      const request = new Request(`${provider.issuer}/token`, {
        method: "POST",
        body: form?.toString() ?? "",
        headers: requestHeaders,
      });
      const answer = await made(request);
      expect(answer.headers.get("content-type")).toContain("form");
      return answer;
    };
    expect(await signIn()).toMatchObject(WITH_ID);
  });

  it.each([
    ["a text", { id: "80351110224678912" }, "80351110224678912"],
    ["sub, where there is one", { id: 7, sub: "s-7" }, "s-7"],
  ])("may be named by %s", async (_what, profile, subject) => {
    const { signIn, provider } = await setup();
    provider.instead["/userinfo"] = () => Response.json(profile);
    expect(await signIn()).toMatchObject({ kind: "signedIn", person: { subject } });
  });

  it.each([
    ["nothing but a login", { login: "alice", email: "alice@example.com" }],
    ["an empty id", { id: "" }],
    ["a number that JSON cannot hold, which would be two people's", { id: 2 ** 60 }],
    ["an object", { id: { of: "alice" } }],
    ["more than a subject has", { id: "x".repeat(256) }],
  ])("is refused if the user endpoint has %s", async (_what, profile) => {
    const { signIn, provider } = await setup();
    provider.instead["/userinfo"] = () => Response.json(profile);
    expect(await signIn()).toMatchObject({ kind: "notSignedIn", why: expect.stringContaining("no valid sub or id") });
  });
});

describe("a sign-in is refused", () => {
  it("by an answer with another state, or with a code that is refused in an answer of 200", async () => {
    const { signIn, provider } = await setup();
    const stray = { kind: "notSignedIn", why: "This sign-in has ended, or it was started in another browser" };
    expect(await signIn((answer) => answer.set("state", "x"))).toMatchObject(stray);
    expect(provider.heard.map(({ path }) => path)).not.toContain("/token");
    expect(await signIn((answer) => answer.set("code", "x"))).toMatchObject(stray);
  });

  it("by a token of another kind, or without one", async () => {
    const { signIn, provider } = await setup();
    for (const answer of [{}, { access_token: "a", token_type: "DPoP" }, { access_token: "with blank" }]) {
      provider.instead["/token"] = () => Response.json(answer);
      expect(await signIn()).toMatchObject({
        why: expect.stringContaining("it issued no bearer token"),
        error: "server_error",
      });
    }
  });

  it("while the user endpoint is away, and what it says is nowhere", async () => {
    const { signIn, provider, logged } = await setup();
    for (const answer of [new Response("PROVIDER-WORDS"), new Response("PROVIDER-WORDS", { status: 500 })]) {
      provider.instead["/userinfo"] = () => answer;
      const signed = (await signIn()) as SignInFailure;
      expect(signed).toMatchObject({ kind: "notSignedIn", error: "temporarily_unavailable" });
      expect(JSON.stringify(signed) + String(logged)).not.toContain("PROVIDER-WORDS");
    }
    provider.instead["/userinfo"] = () => new Response("no", { status: 403 });
    expect(await signIn()).toMatchObject({ kind: "notSignedIn", error: "server_error" });
  });
});

it("at revalidation the user endpoint decides whether a person keeps access", async () => {
  const { signIn, provider, context } = await setup();
  const signed = await signIn();
  const tokens = (signed as { provider: ProviderTokens }).provider;
  const confirm = () => oauth2.revalidate?.(context, tokens, ALICE);
  Object.assign(provider.people["alice"] ?? {}, { name: "Alice the Second" });
  expect(await confirm()).toMatchObject({ state: "confirmed", person: { subject: "1001", name: "Alice the Second" } });
  provider.instead["/userinfo"] = () => new Response("rate limit", { status: 403 });
  expect(await confirm()).toEqual({ state: "away" });
  delete provider.instead["/userinfo"];
  provider.disabled.add("alice");
  expect(await confirm()).toEqual({ state: "ended" });
});

it("tokens that end are refreshed, and one that is refused in an answer of 200 ends the sign-in", async () => {
  const { provider, context } = await setup();
  provider.instead["/token"] = () =>
    Response.json({ access_token: "access-2", refresh_token: "refresh-2", expires_in: "28800", token_type: "bearer" });
  const confirmed = await oauth2.revalidate?.(context, { access: "access-1", refresh: "refresh-1" }, ALICE);
  expect(confirmed).toMatchObject({ state: "confirmed", provider: { access: "access-2", refresh: "refresh-2" } });
  provider.instead["/token"] = () => Response.json({ error: "bad_refresh_token" });
  expect(await oauth2.revalidate?.(context, { access: "a", refresh: "r" }, ALICE)).toEqual({ state: "ended" });
});
