import { SignJWT, UnsecuredJWT, type JWTPayload } from "jose";
import { describe, expect, it } from "vitest";
import { product } from "../../../src/login/sign-in/product.ts";
import type { LoginContext } from "../../../src/login/login-context.ts";
import { ISSUER, contextWith } from "./sign-in.ts";

const SHARED = "0123456789abcdef0123456789abcdef";
const STRAY = "This sign-in has ended, or it was started in another browser";

function signed(claims: JWTPayload, secret = SHARED, alg = "HS256"): Promise<string> {
  return new SignJWT(claims).setProtectedHeader({ alg }).sign(new TextEncoder().encode(secret));
}

const now = () => Math.floor(Date.now() / 1000);

/** As the product makes it, unless a test says otherwise; a claim that is undefined is left out. */
function tokenFor(state: string, claims: Record<string, unknown> = {}): Promise<string> {
  const usual = { aud: ISSUER, sub: "17", nonce: state, iat: now(), exp: now() + 60, email: "alice@acme.example" };
  return signed(JSON.parse(JSON.stringify({ ...usual, ...claims })) as JWTPayload);
}

async function setup(secret = SHARED, issuer = ISSUER) {
  const login = {
    via: "product",
    productUrl: "https://app.acme.example/mcp-login?x=1",
    productSecret: "{{secret:PRODUCT}}",
  } as const;
  const { context } = await contextWith(login, issuer, { PRODUCT: secret });
  return { context };
}

async function begin(context: LoginContext, state: string) {
  const begun = await product.begin?.(context, state);
  if (begun?.kind !== "begun") throw new Error(JSON.stringify(begun));
  return begun;
}

async function finish(context: LoginContext, state: string, token: string) {
  const { providerState } = await begin(context, state);
  return product.finish(context, new URLSearchParams({ state, token }), providerState);
}

it("the product gets the client and its request, and no redirect URI", async () => {
  const { context } = await setup();
  const { location, providerState } = await begin(context, "state-1");
  const { origin, pathname, searchParams } = new URL(location);
  expect(origin + pathname).toBe("https://app.acme.example/mcp-login");
  expect(Object.fromEntries(searchParams)).toEqual({ x: "1", issuer: ISSUER, request: "state-1" });
  expect(JSON.stringify(providerState)).not.toContain("state-1");
});

it("a person named by the product signs in, under its origin, with its claims", async () => {
  const { context } = await setup();
  const token = await tokenFor("s1", { name: "Alice", groups: ["staff"], plan: "pro" });
  expect(await finish(context, "s1", token)).toEqual({
    kind: "signedIn",
    person: {
      issuer: "https://app.acme.example",
      subject: "17",
      name: "Alice",
      email: "alice@acme.example",
      groups: ["staff"],
      claims: expect.objectContaining({ sub: "17", plan: "pro", email: "alice@acme.example" }),
    },
  });
});

describe("a token is refused", () => {
  it.each([
    ["of another sign-in, replayed", { nonce: "s0" }, STRAY],
    ["that names no request", { nonce: undefined }, STRAY],
    ["for another tenant", { aud: "https://mcp.example.com/login/globex" }, "it is for another audience"],
    ["for nobody", { aud: undefined }, "it is for another audience"],
    ["that has expired", { iat: now() - 120, exp: now() - 60 }, "it has expired"],
    ["that never ends", { exp: undefined }, "its exp claim is missing"],
    [
      "that was made six minutes ago, however long it says that it lasts",
      { iat: now() - 360, exp: now() + 9999 },
      "five minutes",
    ],
    ["that does not say when it was made", { iat: undefined }, "five minutes"],
    ["that is to be made later", { iat: now() + 360, exp: now() + 400 }, "within the last five minutes"],
    ["that names nobody", { sub: undefined }, "its sub claim is missing or too long"],
    ["that names nobody in many words", { sub: "x".repeat(256) }, "its sub claim is missing or too long"],
  ])("%s", async (_what, claims, why) => {
    const { context } = await setup();
    const told = await finish(context, "s1", await tokenFor("s1", claims));
    expect(told).toMatchObject({ kind: "notSignedIn", why: expect.stringContaining(why) });
  });

  it("that is signed with another secret or algorithm, or unsigned", async () => {
    const { context } = await setup();
    const claims = { aud: ISSUER, sub: "17", nonce: "s1", iat: now(), exp: now() + 60 };
    const tokens = [
      [await signed(claims, "another-secret-another-secret-anot"), "cannot be verified"],
      [await signed(claims, SHARED, "HS512"), "algorithm is not allowed"],
      [new UnsecuredJWT(claims).encode(), "algorithm is not allowed"],
      ["", "cannot be verified"],
    ] as const;
    for (const [token, why] of tokens) {
      expect(await finish(context, "s1", token)).toMatchObject({
        kind: "notSignedIn",
        why: expect.stringContaining(why),
      });
    }
  });

  it("that returns with another state, or to another browser", async () => {
    const { context } = await setup();
    const [mine, theirs] = [await begin(context, "mine"), await begin(context, "theirs")];
    const token = await tokenFor("mine");
    for (const [state, providerState] of [
      ["mine", theirs.providerState],
      ["theirs", mine.providerState],
    ] as const) {
      const told = await product.finish(context, new URLSearchParams({ state, token }), providerState);
      expect(told).toMatchObject({ kind: "notSignedIn", why: STRAY });
    }
    const told = await product.finish(context, new URLSearchParams({ state: "theirs", token }), theirs.providerState);
    expect(told).toMatchObject({ kind: "notSignedIn", why: STRAY });
  });

  it("at another address of the same tenant", async () => {
    const { context } = await setup(SHARED, "https://mcp.acme.example");
    const told = await finish(context, "s1", await tokenFor("s1"));
    expect(told).toMatchObject({ kind: "notSignedIn", why: expect.stringContaining("another audience") });
  });
});

it("a product that says no is believed", async () => {
  const { context } = await setup();
  const { providerState } = await begin(context, "s1");
  const answer = new URLSearchParams({ state: "s1", error: "access_denied", token: await tokenFor("s1") });
  expect(await product.finish(context, answer, providerState)).toMatchObject({
    kind: "notSignedIn",
    error: "access_denied",
  });
});

it.each(["short", "0123456789abcdef0123456789abcde", ""])("a sign-in with the secret %j fails", async (secret) => {
  const { context } = await setup(secret);
  const told = { kind: "notSignedIn", why: expect.stringContaining("fewer than 32"), error: "server_error" };
  expect(await product.begin?.(context, "s1")).toMatchObject(told);
  expect(await product.finish(context, new URLSearchParams({ state: "s1" }), {})).toMatchObject(told);
});
