// Where SECRETS_KEY was replaced between sign-in and consent, the grant had none of the provider's tokens, and nobody was ever asked
// again whether the person may still come in.

import { afterAll, expect, test } from "vitest";
import { beginLogin, CALLBACK } from "../support/authorized-client.ts";
import { LoginBrowser, onPage, textOf } from "../support/login-browser.ts";
import { startIdentityProvider } from "../support/provider-login.ts";
import { startWorkerPair } from "../support/worker-pair.ts";

const workers = await startWorkerPair(
  { OUTBOUND_LOCAL: "http://127.0.0.1", SECRETS_KEY: "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8" },
  undefined,
  false,
  { entry: "login-worker", ofTwo: { SECRETS_KEY: "BAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8" } },
);
afterAll(() => workers.stop());

test("who signed in under another key signs in again", async () => {
  const { one, two } = workers;
  const issuer = `${one.origin}/login/acme`;
  const provider = await startIdentityProvider(() => issuer);
  const login = { via: "oidc", issuer: provider.issuer, clientId: "us" };
  await one.admin("POST", "/tenants", { id: "acme", document: { mode: "oauth", auth: { login } } });
  const browser = new LoginBrowser(CALLBACK);
  const consent = onPage(await browser.open((await beginLogin({ issuer })).url));
  const later = await browser.go(consent.url.replace(one.origin, two.origin));
  const answered = await browser.submit(later, { decision: "allow" });
  expect([answered.status, textOf(answered.text)]).toEqual([403, expect.stringContaining("can no longer be read")]);
  expect(await one.admin("GET", "/tenants/acme/grants")).toMatchObject({ items: [] });
});
