// "Not you?" and "Sign out" led to a provider that had a session: it said the same person again at once, for ever.

import { afterAll, expect, test } from "vitest";
import { product } from "../../examples/product-login/product.ts";
import { beginLogin, CALLBACK } from "../support/authorized-client.ts";
import { fixtureAdmin } from "../support/fixture-admin.ts";
import { LoginBrowser, onPage, textOf } from "../support/login-browser.ts";
import { startLoginWorker } from "../support/login-tenant.ts";
import { startIdentityProvider } from "../support/provider-login.ts";
import { serveFetch } from "../support/local-server.ts";

const PRODUCT_SECRET = "0123456789abcdef0123456789abcdef";
const { origin } = await startLoginWorker({ OTHER_5__PRODUCT: PRODUCT_SECRET });
const admin = fixtureAdmin(origin, "other");

/** Whose session it is changes only when the provider is asked to have somebody sign in. */
async function providerWithSession(at: () => string) {
  const provider = await startIdentityProvider(at);
  provider.people["bob"] = { sub: "00u-bob", id: 1002, name: "Bob" };
  const { answer } = provider;
  return Object.assign(provider, {
    answer: (request: Request) => {
      if (new URL(request.url).searchParams.get("prompt") === "login") provider.atBrowser = "bob";
      return answer(request);
    },
  });
}

const openId = ({ issuer }: { readonly issuer: string }) => ({ via: "oidc", issuer, clientId: "us" });
const oauth2 = ({ issuer: at }: { readonly issuer: string }) => ({
  via: "oauth2",
  authorizeUrl: `${at}/authorize`,
  tokenUrl: `${at}/token`,
  userUrl: `${at}/userinfo`,
  clientId: "us",
});

test.each([
  ["OpenID", openId],
  ["OAuth 2", oauth2],
])("who is not the person of the session of a provider of %s becomes themselves", async (_kind, login) => {
  let issuer = "";
  const provider = await providerWithSession(() => issuer);
  const id = await admin.tenant({ mode: "oauth", auth: { login: login(provider) } });
  issuer = `${origin}/login/${id}`;
  const browser = new LoginBrowser(CALLBACK);
  const consent = onPage(await browser.open((await beginLogin({ issuer })).url));
  expect(textOf(consent.text)).toContain("Signed in as Alice");
  const again = onPage(await browser.press(consent, "Not you?"));
  expect(textOf(again.text)).toContain("Signed in as Bob");
});

test.each(["by a provider", "by a key"])("who signs out is out until they sign in, %s", async (how) => {
  let issuer = "";
  const provider = await providerWithSession(() => issuer);
  const login = how === "by a key" ? { via: "key" } : openId(provider);
  const id = await admin.tenant({ mode: "key+oauth", auth: { login } });
  issuer = `${origin}/login/${id}`;
  const browser = new LoginBrowser();
  const first = onPage(await browser.open(`${origin}/account/${id}`));
  const isAsked = first.text.includes('type="password"');
  const page = isAsked ? onPage(await browser.press(first, "Sign in", { key: (await admin.key(id)).token })) : first;
  const out = onPage(await browser.press(page, "Sign out"));
  expect(textOf(out.text)).toContain("You are signed out");
  expect(textOf(onPage(await browser.open(out.url)).text)).toContain("You are signed out");
  const policy = out.headers.get("content-security-policy") ?? "";
  expect(/form-action 'self'(.*)/.exec(policy)?.[1]).toBe(how === "by a key" ? "" : " https: http:");
  const again = onPage(await browser.press(out, "Sign in again"));
  expect(textOf(again.text)).toContain(how === "by a key" ? "Your key for" : "Signed in as Bob");
});

test("a product is told that its session is another person's", async () => {
  const logins: string[] = [];
  const app = await serveFetch((request) => served.fetch(request));
  afterAll(() => app.stop());
  const served = product({ logins, secret: PRODUCT_SECRET });
  const login = { via: "product", productUrl: `${app.origin}/mcp-login`, productSecret: "{{secret:PRODUCT}}" };
  const id = await admin.tenant({ mode: "oauth", auth: { login } });
  logins.push(`${origin}/login/${id}`);
  const browser = new LoginBrowser(CALLBACK);
  const form = onPage(await browser.open((await beginLogin({ issuer: `${origin}/login/${id}` })).url));
  const consent = onPage(await browser.press(form, "Sign in", { user: "alice", password: "correct horse" }));
  const again = onPage(await browser.press(consent, "Not you?"));
  expect(again.text).toContain('name="password"');
  const bobs = onPage(await browser.press(again, "Sign in", { user: "bob", password: "battery staple" }));
  expect(textOf(bobs.text)).toContain("bob@acme.example");
});
