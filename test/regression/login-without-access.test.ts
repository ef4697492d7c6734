// Somebody with none of the tenant's scopes was asked to allow nothing: they pressed Allow, and their client had no tools and no
// word of why.

import { expect, test } from "vitest";
import { beginLogin, CALLBACK } from "../support/authorized-client.ts";
import { fixtureAdmin } from "../support/fixture-admin.ts";
import { isPage, LoginBrowser, onPage, textOf } from "../support/login-browser.ts";
import { startLoginWorker } from "../support/login-tenant.ts";
import { startIdentityProvider } from "../support/provider-login.ts";

const { origin } = await startLoginWorker();
const admin = fixtureAdmin(origin, "eve");

async function consentOf(groups: readonly string[]) {
  let issuer = "";
  const provider = await startIdentityProvider(() => issuer);
  Object.assign(provider.people["alice"] ?? {}, { groups });
  const scopes = { claim: "groups", values: { staff: ["who"], quiet: ["none"] } };
  const login = { via: "oidc", issuer: provider.issuer, clientId: "us", scopes };
  const named = { who: { tools: ["whoami"] }, none: { prompts: ["*"] } };
  const id = await admin.tenant({ mode: "oauth", title: "Acme Notes", auth: { login }, scopes: named });
  issuer = `${origin}/login/${id}`;
  const browser = new LoginBrowser(CALLBACK);
  return { browser, page: onPage(await browser.open((await beginLogin({ issuer })).url)), provider };
}

test("who has no scope is told so, and can be somebody else or go back", async () => {
  const { browser, page, provider } = await consentOf(["guests"]);
  const text = textOf(page.text);
  expect(text).toContain(
    "Alice (alice@example.com) has no access to Acme Notes Ask the person who gave you its address.",
  );
  expect(text).not.toContain("Allow");
  expect(onPage(await browser.press(page, "Use another account")).text).toContain("has no access");
  expect(provider.heard.findLast(({ path }) => path === "/authorize")?.form.get("prompt")).toBe("login");
});

test("Cancel tells the client that access was denied", async () => {
  const { browser, page } = await consentOf([]);
  const gone = await browser.press(page, "Cancel");
  expect(isPage(gone) ? gone.text : gone.to.searchParams.get("error")).toBe("access_denied");
});

test.each([[["staff"]], [["quiet"]]])("who has a scope, with tools or without, is asked: %j", async (groups) => {
  expect((await consentOf(groups)).page.text).toMatch(/<button class="go"[^>]*value="allow"/);
});
