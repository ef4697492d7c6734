// The page of consent was the answer to a form, or to the provider's one-time code: loaded again, gone back to or restored, it
// lost the login, or had the key sent once more. Each page of a login has an address, at which the same browser finds it again.

import { expect, test } from "vitest";
import { beginLogin, CALLBACK, tokensOf } from "../support/authorized-client.ts";
import { fixtureAdmin } from "../support/fixture-admin.ts";
import { LoginBrowser, onPage, textOf } from "../support/login-browser.ts";
import { listAs, startLoginWorker } from "../support/login-tenant.ts";
import { startIdentityProvider } from "../support/provider-login.ts";

const { origin } = await startLoginWorker();
const admin = fixtureAdmin(origin, "again");

async function keyTenant() {
  const id = await admin.tenant({ mode: "key+oauth", auth: { login: { via: "key" } } });
  const { token: key } = await admin.key(id);
  return { id, issuer: `${origin}/login/${id}`, url: `${origin}/mcp/${id}`, key };
}

async function providerTenant() {
  let issuer = "";
  const provider = await startIdentityProvider(() => issuer);
  const login = { via: "oidc", issuer: provider.issuer, clientId: "us" };
  const id = await admin.tenant({ mode: "oauth", auth: { login } });
  issuer = `${origin}/login/${id}`;
  provider.people["ada"] = { sub: "ada", name: "Ada" };
  provider.atBrowser = "ada";
  return { issuer, url: `${origin}/mcp/${id}` };
}

test("a wrong key leaves the browser at a page of sign-in that it can load again", async () => {
  const { issuer, key } = await keyTenant();
  const browser = new LoginBrowser();
  const wrong = await browser.submit(await browser.go((await beginLogin({ issuer })).url), { key: "tnt_wrong" });
  const again = await browser.go(wrong.url);
  for (const page of [wrong, again]) expect(textOf(page.text)).toContain("This is not a key of this tenant");
  expect(textOf((await browser.submit(again, { key })).text)).toContain("Allow A client to use");
});

test.each(["Bearer KEY", "Authorization: Bearer KEY", '"KEY"', "`KEY`", "<KEY>", " KEY\n"])(
  "a key is taken as people paste it: %s",
  async (pasted) => {
    const { issuer, key } = await keyTenant();
    const browser = new LoginBrowser();
    const form = await browser.go((await beginLogin({ issuer })).url);
    expect(textOf((await browser.submit(form, { key: pasted.replace("KEY", key) })).text)).toContain("Allow A client");
  },
);

test("who signs in a second time, in another tab, allows nothing on the page of the first", async () => {
  const { issuer, key, id } = await keyTenant();
  const other = await admin.key(id);
  const begun = await beginLogin({ issuer });
  const browser = new LoginBrowser();
  const form = await browser.go(begun.url);
  const first = await browser.submit(form, { key });
  await browser.submit(form, { key: other.token });
  const again = await browser.submit(first, { decision: "allow" });
  expect(textOf(again.text)).toMatch(new RegExp(`has changed since you opened it.*Signed in as the key ${other.id}`));
  const { items } = await admin.ask("GET", `/tenants/${id}/grants`);
  expect(items).toEqual([]);
});

test("the provider's answer leads to consent again, though its code is good once", async () => {
  const { issuer } = await providerTenant();
  const browser = new LoginBrowser(CALLBACK);
  const begun = await browser.go((await beginLogin({ issuer })).url);
  const { headers } = await fetch(begun.location ?? "", { redirect: "manual" });
  const answer = headers.get("location") ?? "";
  for (const _ of [1, 2]) expect(textOf((await browser.go(answer)).text)).toContain("Signed in as Ada");
});

test.each([
  ["a key", keyTenant],
  ["a provider", providerTenant],
] as const)("consent after %s is a page that this browser loads again, until it was decided", async (_way, tenant) => {
  const made: { issuer: string; url: string; key?: string } = await tenant();
  const begun = await beginLogin({ issuer: made.issuer });
  const browser = new LoginBrowser(CALLBACK);
  const first = onPage(await browser.open(begun.url));
  const consent = made.key !== undefined ? onPage(await browser.press(first, "Sign in", { key: made.key })) : first;
  expect(consent.url).toMatch(new RegExp(`^${made.issuer}/consent\\?state=[\\w-]+$`));
  const restored = await browser.go(consent.url);
  expect(restored).toMatchObject({ status: 200, text: consent.text });
  const stranger = await new LoginBrowser(CALLBACK).go(consent.url);
  expect([stranger.status, textOf(stranger.text)]).toEqual([410, expect.stringContaining("Nothing left to decide")]);
  const { location } = await browser.submit(restored, { decision: "allow" });
  const { access_token: token } = await tokensOf(made.issuer, begun, String(location));
  expect((await listAs(made.url, "2026-07-28", String(token))).status).toBe(200);
  const back = await browser.go(consent.url);
  expect([back.status, textOf(back.text)]).toEqual([410, expect.stringContaining("You can close this page")]);
});
