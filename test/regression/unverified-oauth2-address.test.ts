// An address counted at a provider of plain OAuth 2 unless it said `email_verified: false`, which none of them says: whoever wrote
// the boss's address into their profile at Discord had the boss's scopes.

import { expect, test } from "vitest";
import { beginLogin, CALLBACK } from "../support/authorized-client.ts";
import { fixtureAdmin } from "../support/fixture-admin.ts";
import { LoginBrowser, onPage, textOf } from "../support/login-browser.ts";
import { startLoginWorker } from "../support/login-tenant.ts";
import { startIdentityProvider } from "../support/provider-login.ts";

const { origin } = await startLoginWorker();
const admin = fixtureAdmin(origin, "address");
const EMAIL = "ceo@acme.com";

test.each([
  [{}, false],
  [{ verified: false }, false],
  [{ verified: true }, true],
  [{ verified: "yes" }, false],
  [{ confirmed_at: "2012-05-23T09:05:22.000Z" }, true],
  [{ confirmed_at: null }, false],
  [{ confirmed_at: "2012-05-23T09:05:22.000Z", verified: false }, false],
  [{ email_verified: true }, true],
  [{ email_verified: false, verified: true }, false],
])("an address with %j is theirs: %j", async (said, isTheirs) => {
  let issuer = "";
  const provider = await startIdentityProvider(() => issuer);
  const at = provider.issuer;
  const urls = { authorizeUrl: `${at}/authorize`, tokenUrl: `${at}/token`, userUrl: `${at}/userinfo` };
  const scopes = { claim: "email", values: { [EMAIL]: ["boss"] } };
  const login = { via: "oauth2", clientId: "us", ...urls, scopes };
  const id = await admin.tenant({ mode: "oauth", auth: { login }, scopes: { boss: { tools: ["whoami"] } } });
  issuer = `${origin}/login/${id}`;
  provider.people["mallory"] = { id: 7, name: "Mallory", email: EMAIL, ...said };
  provider.atBrowser = "mallory";
  const page = onPage(await new LoginBrowser(CALLBACK).open((await beginLogin({ issuer })).url));
  const text = textOf(page.text);
  expect([text.includes(EMAIL), text.includes("Who calls.")]).toEqual([isTheirs, isTheirs]);
});
