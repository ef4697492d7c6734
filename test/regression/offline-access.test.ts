// `offline_access` was asked of providers without `prompt=consent`, so that OpenID providers gave no refresh token; and our own
// tokens said `offline_access` to clients that had not asked for it, which Python SDKs before 1.22 take for an error.

import { expect, test } from "vitest";
import { beginLogin } from "../support/authorized-client.ts";
import { fixtureAdmin } from "../support/fixture-admin.ts";
import { LoginBrowser } from "../support/login-browser.ts";
import { beginning, redeem, refresh, signIn } from "../support/oauth-client.ts";
import { startLoginWorker } from "../support/login-tenant.ts";
import { startIdentityProvider } from "../support/provider-login.ts";

const { origin } = await startLoginWorker();
const admin = fixtureAdmin(origin, "offline");

test.each([undefined, "reading", "reading offline_access", "offline_access", "openid"])(
  "a client that asks for the scope %j is told no other",
  async (scope) => {
    const scopes = { reading: { tools: ["whoami"] } };
    const id = await admin.tenant({ mode: "key+oauth", auth: { login: { via: "key" } }, scopes });
    const { token: key } = await admin.key(id);
    const login = await beginning(`${origin}/mcp/${id}`);
    const tokens = await redeem(login, await signIn(login, key, scope === undefined ? {} : { scope }));
    const again = await refresh(login, tokens.refresh_token);
    const told = scope === "openid" ? undefined : scope;
    expect([tokens.scope, again.scope]).toEqual([told, told]);
  },
);

test.each([
  ["openid offline_access", "consent"],
  ["openid email", null],
])("a provider that is asked for %j is asked with the prompt %j", async (request, prompt) => {
  let issuer = "";
  const provider = await startIdentityProvider(() => issuer);
  const login = { via: "oidc", issuer: provider.issuer, clientId: "us", request };
  issuer = `${origin}/login/${await admin.tenant({ mode: "oauth", auth: { login } })}`;
  const { location } = await new LoginBrowser().go((await beginLogin({ issuer })).url);
  expect(new URL(location ?? "").searchParams.get("prompt")).toBe(prompt);
});
