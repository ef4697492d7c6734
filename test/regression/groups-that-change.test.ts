// Groups were as when the person signed in, for seven days, though the provider said the new ones whenever it was asked again: who
// was taken out of the admins went on as one.

import { expect, test } from "vitest";
import { beginLogin, CALLBACK, tokensOf } from "../support/authorized-client.ts";
import { startEchoApi } from "../support/echo-api.ts";
import { fixtureAdmin } from "../support/fixture-admin.ts";
import { LoginBrowser, onPage, isPage } from "../support/login-browser.ts";
import { actingClient, listAs, startLoginWorker, toolText } from "../support/login-tenant.ts";
import { startIdentityProvider } from "../support/provider-login.ts";

const { origin } = await startLoginWorker({}, "acting-worker");
const admin = fixtureAdmin(origin, "groups");
const API = "https://api.acme.example";
const SCOPES = { all: { tools: ["*"] }, some: { tools: ["me"] } };

test("who is demoted at the provider has what they have now as soon as it was asked", async () => {
  let issuer = "";
  const provider = await startIdentityProvider(() => issuer);
  const say = (groups: readonly string[]) => Object.assign(provider.people["alice"] ?? {}, { groups });
  say(["Admins"]);
  const scopes = { claim: "groups", values: { Admins: ["all"], Staff: ["some"] } };
  const identity = { via: "provider", audiences: [API] };
  const login = { via: "oidc", issuer: provider.issuer, clientId: "us", scopes, identity };
  const id = await admin.tenant({ mode: "oauth", auth: { login }, scopes: SCOPES });
  issuer = `${origin}/login/${id}`;
  const url = `${origin}/mcp/${id}`;
  // So short that it is renewed at the first call.
  provider.life = 30;
  const browser = new LoginBrowser(CALLBACK);
  const begun = await beginLogin({ issuer });
  const gone = await browser.press(onPage(await browser.open(begun.url)), "Allow");
  if (isPage(gone)) throw new Error(gone.text);
  const tokens = await tokensOf(issuer, begun, gone.to.href);
  say(["Staff"]);
  const api = await startEchoApi(async (token) => ({ token }));
  const client = await actingClient(url, "2026-07-28", String(tokens["access_token"]));
  expect(await toolText(client, "call_api", { audience: API, url: api.url })).toContain('"as":"00u-alice"');
  const form = { grant_type: "refresh_token", refresh_token: String(tokens["refresh_token"]), client_id: begun.id };
  const response = await fetch(`${issuer}/token`, { method: "POST", body: new URLSearchParams(form) });
  const { access_token: access } = (await response.json()) as { readonly access_token: string };
  const { result } = JSON.parse((await listAs(url, "2026-07-28", access)).text) as {
    readonly result: { readonly tools: readonly { readonly name: string }[] };
  };
  expect(result.tools.map(({ name }) => name)).toEqual(["me"]);
});
