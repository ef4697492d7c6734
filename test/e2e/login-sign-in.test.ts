// Signing in at a tenant's own authorization server by a provider or a product, end to end: a client, a browser, the
// provider and the tools, each over HTTP. What a way refuses by itself is in test/login/sign-in.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { product } from "../../examples/product-login/product.ts";
import { beginLogin, CALLBACK, tokensOf, type Begun } from "../support/authorized-client.ts";
import { bearer, fixtureAdmin } from "../support/fixture-admin.ts";
import { identityProvider, type IdentityProvider, type ProviderKind } from "../support/identity-provider.ts";
import { LOGIN_CLIENTS } from "../support/official-login-clients.ts";
import { LoginBrowser, signingIn, type Page } from "../support/login-browser.ts";
import { listAs, startLoginWorker, whoamiAs } from "../support/login-tenant.ts";
import { ERAS, type Json } from "../support/mcp-client.ts";
import { sendRaw, write, type RawReply } from "../support/raw-http.ts";
import { expectRefusal } from "../support/refusal.ts";
import { serveFetch } from "../support/local-server.ts";

const read = (file: string) => readFile(join(import.meta.dirname, "../..", file), "utf8");
const CLIENT_SECRET = "s3cret-of-the-client:+/";
const PRODUCT_SECRET = "0123456789abcdef0123456789abcdef";
/** As the Worker's own secrets, of all tenants that these tests make. */
const SECRETS = Object.fromEntries(
  Array.from({ length: 40 }, (_none, at) => [
    [`SIGN_${at + 1}__CLIENT`, CLIENT_SECRET],
    [`SIGN_${at + 1}__PRODUCT`, PRODUCT_SECRET],
  ]).flat(),
);

const worker = await startLoginWorker(SECRETS);
const { origin } = worker;
const admin = fixtureAdmin(origin, "sign");
const NAMED = { scopes: { all: { tools: ["*"] }, who: { tools: ["whoami"] } } };
const BY_GROUPS = { scopes: { claim: "groups", values: { admins: ["all"], staff: ["who"] } } };

interface Place {
  readonly id: string;
  readonly url: string;
  readonly issuer: string;
}

async function tenantWith(login: Json, document: Json = {}): Promise<Place> {
  const id = await admin.tenant({ mode: "oauth", auth: { login }, ...document });
  return { id, url: `${origin}/mcp/${id}`, issuer: `${origin}/login/${id}` };
}

/** A provider that lets any number of tenants of this Worker be clients of it. */
async function startProvider(kind: ProviderKind): Promise<IdentityProvider> {
  const made: IdentityProvider[] = [];
  const app = await serveFetch((request) => made[0]?.answer(request) ?? new Response(null, { status: 503 }));
  afterAll(() => app.stop());
  const clients = Object.fromEntries(
    Array.from({ length: 40 }, (_none, at) => [
      `client-${at + 1}`,
      { secret: CLIENT_SECRET, redirect: `${origin}/login/sign-${at + 1}/callback` },
    ]),
  );
  const provider = await identityProvider({ origin: app.origin, kind, clients });
  made.push(provider);
  Object.assign(provider.people["alice"] ?? {}, { groups: ["staff"] });
  provider.people["bob"] = { sub: "00u-bob", id: 1002, login: "bob", name: "Bob", groups: ["guests"] };
  return provider;
}

const openId = await startProvider("openid");
const github = await startProvider("github");
let tenants = 0;

function nextClient(): { readonly clientId: string; readonly clientSecret: string } {
  return { clientId: `client-${tenants + 1}`, clientSecret: "{{secret:CLIENT}}" };
}

async function nextTenant(login: Json, document?: Json): Promise<Place> {
  const place = await tenantWith(login, document);
  tenants += 1;
  return place;
}

const oidcTenant = (more: Json = {}, document?: Json) =>
  nextTenant({ via: "oidc", issuer: openId.issuer, ...nextClient(), ...more }, document);

const githubTenant = (more: Json = {}, document?: Json) => {
  const at = github.issuer;
  const urls = { authorizeUrl: `${at}/authorize`, tokenUrl: `${at}/token`, userUrl: `${at}/userinfo` };
  return nextTenant({ via: "oauth2", ...urls, ...nextClient(), ...more }, document);
};

async function productTenant(more: Json = {}, document?: Json) {
  const logins: string[] = [];
  const app = await serveFetch((request) => served.fetch(request));
  afterAll(() => app.stop());
  const served = product({ logins, secret: PRODUCT_SECRET });
  const login = { via: "product", productUrl: `${app.origin}/mcp-login`, productSecret: "{{secret:PRODUCT}}", ...more };
  const place = await nextTenant(login, document);
  logins.push(place.issuer);
  return { ...place, product: app.origin };
}

/** Through all that is not this Worker's: the last page, or the redirect back to the client. `base`: where `from` was. */
async function follow(browser: LoginBrowser, from: Page, base = origin): Promise<Page> {
  let page = from;
  let at = base;
  for (let steps = 0; page.location !== null && !page.location.startsWith(CALLBACK) && steps < 8; steps += 1) {
    at = new URL(page.location, at).href;
    page = await browser.go(at);
  }
  return page;
}

async function allowed(browser: LoginBrowser, consent: Page, issuer: string, begun: Begun): Promise<string> {
  const { location, text } = await browser.submit(consent, { decision: "allow" });
  if (location === null) throw new Error(`no redirect: ${text}`);
  return String((await tokensOf(issuer, begun, location))["access_token"]);
}

/** Where nobody has to type anything. */
async function accessAt({ issuer }: Place): Promise<string> {
  const browser = new LoginBrowser();
  const begun = await beginLogin({ issuer });
  return allowed(browser, await follow(browser, await browser.go(begun.url)), issuer, begun);
}

const toolsOf = ({ text }: RawReply) =>
  (JSON.parse(text) as { result: { tools: { name: string }[] } }).result.tools.map(({ name }) => name);

describe.each(ERAS)("in era $era", ({ revision }) => {
  test("a person whom an OpenID provider names calls as its subject, and sees what their groups let them", async () => {
    const place = await oidcTenant({ ...BY_GROUPS, claims: ["email"] }, NAMED);
    const token = await accessAt(place);
    expect(await whoamiAs(place.url, revision, token)).toEqual({
      kind: "oauth",
      id: `oauth ${openId.issuer} 00u-alice`,
      subject: "00u-alice",
      claims: { email: "alice@example.com" },
    });
    expect(toolsOf(await listAs(place.url, revision, token))).toEqual(["whoami"]);
    openId.atBrowser = "bob";
    const bobs = await accessAt(place).finally(() => (openId.atBrowser = "alice"));
    expect(toolsOf(await listAs(place.url, revision, bobs))).toEqual([]);
  });

  test("a person whom GitHub names calls as the number that it gave them", async () => {
    const place = await githubTenant({ claims: ["login"], request: "read:user" });
    const who = await whoamiAs(place.url, revision, await accessAt(place));
    expect(who).toMatchObject({ id: `oauth ${github.issuer} 1001`, subject: "1001", claims: { login: "alice" } });
  });

  test("a person who signs in to the tenant's product with a password calls as its user", async () => {
    const place = await productTenant(BY_GROUPS, NAMED);
    const browser = new LoginBrowser();
    const begun = await beginLogin({ issuer: place.issuer });
    const form = await follow(browser, await browser.go(begun.url));
    expect(form.text).toContain('name="password"');
    const typed = await browser.submit(form, { user: "alice", password: "correct horse" });
    const consent = await follow(browser, typed, place.product);
    expect(consent.text).toContain("alice@acme.example");
    const token = await allowed(browser, consent, place.issuer, begun);
    expect(await whoamiAs(place.url, revision, token)).toMatchObject({
      id: `oauth ${place.product} 17`,
      subject: "17",
    });
    expect(toolsOf(await listAs(place.url, revision, token))).toEqual(["whoami"]);
  });
});

describe.each(LOGIN_CLIENTS)("$title", ({ logIn }) => {
  test.each([
    ["at an OpenID provider", oidcTenant, "00u-alice"],
    ["at GitHub", githubTenant, "1001"],
    ["in the tenant's product", productTenant, "17"],
  ] as const)("logs a person in %s by nothing but the URL, and calls as them", async (_where, makeTenant, subject) => {
    const { url } = await makeTenant();
    const { call } = await logIn(url, signingIn({ user: "alice", password: "correct horse" }));
    expect(JSON.parse(await call("whoami"))).toMatchObject({ kind: "oauth", subject });
  });
});

/** A browser that the provider or product has just sent back: its URL, not yet visited. */
async function sentBack(place: Place & { readonly product?: string }) {
  const browser = new LoginBrowser();
  const begun = await beginLogin({ issuer: place.issuer });
  let { location } = await browser.go(begun.url);
  if (place.product !== undefined) {
    const form = await follow(browser, await browser.go(location ?? ""), place.product);
    ({ location } = await browser.submit(form, { user: "alice", password: "correct horse" }));
  }
  for (let steps = 0; !location?.startsWith(`${place.issuer}/callback`) && steps < 4; steps += 1) {
    ({ location } = await browser.go(new URL(location ?? "", place.product).href));
  }
  return { browser, begun, back: location ?? "" };
}

describe.each([
  ["an OpenID provider", oidcTenant],
  ["GitHub", githubTenant],
  ["the tenant's product", productTenant],
])("what %s sends a browser back with", (_what, makeTenant) => {
  test("is for that browser, that tenant and that once", async () => {
    const [place, other] = [await makeTenant(), await makeTenant()];
    const { browser, begun, back } = await sentBack(place);
    const answer = back.slice(`${place.issuer}/callback`.length);
    const strange = await new LoginBrowser().go(back);
    expect([strange.status, strange.text]).toEqual([
      400,
      expect.stringContaining("This sign-in was not started in this browser"),
    ]);
    expect((await browser.go(`${other.issuer}/callback${answer}`)).status).toBe(400);
    const theirs = await sentBack(other);
    const mixed = new URL(theirs.back);
    for (const name of ["code", "token"]) {
      const mine = new URL(back).searchParams.get(name);
      if (mine !== null) mixed.searchParams.set(name, mine);
    }
    const refused = await theirs.browser.go(mixed.href);
    expect([refused.location?.includes("code="), refused.text.includes("Allow")]).not.toContain(true);
    const consent = await follow(browser, await browser.go((await sentBackAgain(browser, begun, back)) ?? back));
    await allowed(browser, consent, place.issuer, begun);
    expect([400, 403]).toContain((await browser.go(back)).status);
  });
});

/** Some providers' codes are good once, and one was just tried with another tenant: then the browser begins anew. */
async function sentBackAgain(browser: LoginBrowser, { url }: Begun, back: string): Promise<string | null> {
  return new URL(back).searchParams.has("code") ? (await browser.go(url)).location : null;
}

test("a person who is somebody else can go to the provider from the page, with a client of its own scheme too", async () => {
  const place = await oidcTenant();
  const browser = new LoginBrowser();
  const begun = await beginLogin({ issuer: place.issuer, redirect: "com.example.app:/callback" });
  const consent = await follow(browser, await browser.go(begun.url));
  const policy = consent.headers.get("content-security-policy") ?? "";
  expect(policy.split("form-action ")[1]?.split(" ")).toEqual(["'self'", "com.example.app:", "https:", "http:"]);
  const again = await browser.submit(consent, { decision: "switch" });
  expect(again.location?.startsWith(`${openId.issuer}/authorize?`)).toBe(true);
});

test("a person who signed in here is not asked for scopes of tokens that their provider gives to others", async () => {
  const login = { via: "oidc", issuer: openId.issuer, ...nextClient(), ...BY_GROUPS };
  const issuers = [{ issuer: openId.issuer, scopes: { claim: "scope", values: { all: ["all"] } } }];
  const place = await nextTenant(login, { ...NAMED, auth: { login, issuers } });
  const token = await accessAt(place);
  const { headers, body } = write("2026-07-28", "tools/call", { name: "whoami_later" });
  const reply = await sendRaw(place.url, { headers: { ...headers, ...bearer(token) }, body: JSON.stringify(body) });
  expectRefusal(reply, "2026-07-28", { status: 200, code: -32602, id: 1 });
});

test("whoever declines is sent back to their client with its state and who says so", async () => {
  const place = await oidcTenant();
  openId.atBrowser = null;
  const browser = new LoginBrowser();
  const begun = await beginLogin({ issuer: place.issuer });
  const { location } = await follow(browser, await browser.go(begun.url)).finally(() => (openId.atBrowser = "alice"));
  const { searchParams } = new URL(location ?? "");
  expect([searchParams.get("error"), searchParams.get("state"), searchParams.get("iss")]).toEqual([
    "access_denied",
    "as it was",
    place.issuer,
  ]);
  expect(browser.cookies.size).toBe(0);
});

test("while the provider is away the client is told so, before and after the person was there", async () => {
  const errorAt = async (place: Place) => {
    const browser = new LoginBrowser();
    const { location } = await follow(browser, await browser.go((await beginLogin({ issuer: place.issuer })).url));
    return new URL(location ?? "about:none").searchParams.get("error");
  };
  openId.instead["/token"] = () => new Response("<html>busy</html>", { status: 503 });
  expect(await errorAt(await oidcTenant()).finally(() => delete openId.instead["/token"])).toBe(
    "temporarily_unavailable",
  );
  const metadata = "/.well-known/openid-configuration";
  openId.instead[metadata] = () => new Response(null, { status: 503 });
  expect(await errorAt(await oidcTenant()).finally(() => delete openId.instead[metadata])).toBe(
    "temporarily_unavailable",
  );
});

test("a product that the browser is sent to by somebody else sends nobody to a login that it does not know", async () => {
  const place = await productTenant();
  const asked = `${place.product}/mcp-login?${new URLSearchParams({ issuer: "https://evil.example", request: "x" })}`;
  expect((await fetch(asked, { redirect: "manual" })).status).toBe(400);
});

test("docs/login-product.md shows the route that these tests ran", async () => {
  const [page, route] = await Promise.all([read("docs/login-product.md"), read("examples/product-login/mcp-login.ts")]);
  expect(/^```ts\n([\s\S]*?)^```$/m.exec(page)?.[1]).toBe(route);
});

test("a document with a secret in it, or without what its way needs, is refused", async () => {
  const ruleOf = (login: Json) => tenantWith(login).then(String, String);
  expect(await ruleOf({ via: "product", productUrl: "https://app.acme.com/x", productSecret: "hunter2" })).toContain(
    "must be {{secret:NAME}}",
  );
  expect(await ruleOf({ via: "oidc", clientId: "c" })).toContain("is required when via is oidc");
});

test("the log has no token, code or secret in it", () => {
  expect(worker.log()).not.toMatch(/eyJ[\w-]+\.[\w-]+\.|access-\w|refresh-\w|s3cret|0123456789abcdef/);
});
