import { exportJWK, generateKeyPair } from "jose";
import { expect, it } from "vitest";
import { readIssuer } from "../../../src/login/issuers/read-issuer.ts";
import { oidc } from "../../../src/login/sign-in/oidc.ts";
import { toSignInSuccess } from "../../../src/login/sign-in/provider-identity.ts";
import { CLIENT, ISSUER, providerFor, signInWith, contextWith } from "./sign-in.ts";

async function setup() {
  const provider = await providerFor(ISSUER);
  const login = { via: "oidc", issuer: provider.issuer, clientId: CLIENT, clientSecret: "{{secret:CLIENT}}" } as const;
  const { context } = await contextWith(login);
  return { provider, context, signIn: () => signInWith(oidc, context, provider) };
}

const padded = (answer: unknown, bytes: number) =>
  new Response(JSON.stringify(answer).padEnd(bytes, " "), { headers: { "content-type": "application/json" } });

it("an answer with tokens has 64 KiB at most", async () => {
  const answer = async (bytes: number) => {
    const { provider, signIn } = await setup();
    // Nobody is named by it, which is found when it was read.
    provider.instead["/token"] = () => padded({ access_token: "a", token_type: "Bearer" }, bytes);
    return signIn();
  };
  expect(await answer(65_536)).toMatchObject({ error: "server_error" });
  expect(await answer(65_537)).toMatchObject({ error: "temporarily_unavailable" });
});

it("of a name 200 characters are kept", async () => {
  const { provider, signIn } = await setup();
  Object.assign(provider.people["alice"] ?? {}, { name: "n".repeat(300) });
  expect(await signIn()).toMatchObject({ person: { name: "n".repeat(200) } });
});

it("claims and tokens have 40,000 characters together", () => {
  const said = (length: number) => {
    const person = { issuer: "https://a.example", subject: "s", claims: { sub: "s", text: "x".repeat(length) } };
    return toSignInSuccess("https://a.example", person, { access: "a" });
  };
  const rest = JSON.stringify(said(0)).length;
  expect([said(40_000 - rest).kind, said(40_001 - rest).kind]).toEqual(["signedIn", "notSignedIn"]);
});

it("metadata and keys of a server have 256 KiB each", async () => {
  const { provider, context } = await setup();
  const read = () =>
    readIssuer(provider.issuer, true, context.tenantContext).then(({ keys }) => keys.length > 0, String);
  expect(await read()).toBe(true);
  for (const path of ["/.well-known/openid-configuration", new URL(String(provider.metadata["jwks_uri"])).pathname]) {
    const { provider: own, context: at } = await setup();
    const told = await (await own.answer(new Request(own.issuer + path))).json();
    const within = async (bytes: number) => {
      own.instead[path] = () => padded(told, bytes);
      return readIssuer(own.issuer, true, at.tenantContext).then(
        ({ keys }) => keys.length > 0,
        () => "refused",
      );
    };
    expect([path, await within(262_144), await within(262_145)]).toEqual([path, true, "refused"]);
  }
});

it("the first hundred keys of a server are looked at", async () => {
  const { provider, context } = await setup();
  const key = await exportJWK((await generateKeyPair("ES256", { extractable: true })).publicKey);
  const keys = Array.from({ length: 150 }, (_none, at) => ({ ...key, kid: `k${at}` }));
  provider.instead[new URL(String(provider.metadata["jwks_uri"])).pathname] = () => Response.json({ keys });
  const read = await readIssuer(provider.issuer, true, context.tenantContext);
  expect(read.keys.map(({ kid }) => kid)).toEqual(keys.slice(0, 100).map(({ kid }) => kid));
});
