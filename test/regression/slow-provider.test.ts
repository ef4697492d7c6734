// A provider that was slow once cost people their login: a refresh was given up after 10 seconds, the provider did it all the same,
// and the refresh token that was kept was spent. The client's own refresh is in test/login/server/confirmed-refresh.test.ts.

import { setTimeout } from "node:timers/promises";
import { expect, test } from "vitest";
import { startEchoApi } from "../support/echo-api.ts";
import { fixtureAdmin } from "../support/fixture-admin.ts";
import { actingClient, startLoginWorker, toolText } from "../support/login-tenant.ts";
import { signInAs, startIdentityProvider } from "../support/provider-login.ts";

const { origin } = await startLoginWorker({}, "acting-worker");
const admin = fixtureAdmin(origin, "slow");
const API = "https://api.acme.example";

test("what a slow provider answers at last is kept", async () => {
  let issuer = "";
  const provider = await startIdentityProvider(() => issuer);
  const identity = { via: "provider", audiences: [API] };
  const login = { via: "oidc", issuer: provider.issuer, clientId: "us", identity };
  const id = await admin.tenant({ mode: "oauth", auth: { login } });
  issuer = `${origin}/login/${id}`;
  provider.life = 30;
  const client = await actingClient(`${origin}/mcp/${id}`, "2026-07-28", await signInAs("alice", issuer, provider));
  provider.life = 3600;
  const { answer } = provider;
  const renewals = () => provider.heard.filter(({ form }) => form.get("grant_type") === "refresh_token").length;
  Object.assign(provider, {
    answer: async (request: Request) => {
      const answered = await answer(request);
      // Longer than was waited.
      if (renewals() === 1) await setTimeout(10_500);
      return answered;
    },
  });
  const api = await startEchoApi(async (token) => ({ token }));
  expect(await toolText(client, "call_api", { audience: API, url: api.url })).toContain('"as":"00u-alice"');
  expect(renewals()).toBe(1);
});
