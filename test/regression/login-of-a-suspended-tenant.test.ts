// The login of a suspended tenant told strangers the operator's note, under the name of the host, and programs a JSON-RPC error,
// for which clients throw their tokens away. And `anonymous` suspended was taken for the tenant.

import { expect, test } from "vitest";
import { authorizeClient, beginLogin } from "../support/authorized-client.ts";
import { fixtureAdmin } from "../support/fixture-admin.ts";
import { LoginBrowser, onPage, textOf } from "../support/login-browser.ts";
import { startLoginWorker } from "../support/login-tenant.ts";

const { origin } = await startLoginWorker();
const admin = fixtureAdmin(origin, "closed");

test("who suspends those that bring nothing leaves the others their login", async () => {
  const id = await admin.tenant({ mode: "key+oauth", auth: { login: { via: "key" } } });
  const { token } = await admin.key(id);
  await admin.suspend(id, "principal", "anonymous", "too many");
  expect(await authorizeClient({ issuer: `${origin}/login/${id}` }, token)).toMatchObject({
    access: expect.any(String),
  });
});

test("strangers are told that it is not available, and clients keep their tokens", async () => {
  const document = { mode: "key+oauth", title: "Acme Weather", auth: { login: { via: "key" } } };
  const id = await admin.tenant(document);
  const issuer = `${origin}/login/${id}`;
  const { token } = await admin.key(id);
  const client = await authorizeClient({ issuer }, token);
  const { url } = await beginLogin({ issuer });
  await admin.suspend(id, "tenant", undefined, "Customer did not pay");
  for (const at of [url, issuer, `${origin}/account/${id}`]) {
    const page = onPage(await new LoginBrowser().open(at));
    expect([page.status, textOf(page.text)]).toEqual([503, expect.stringContaining("Not available right now")]);
    expect(page.text).toContain("Acme Weather");
    expect(page.text).not.toContain("pay");
  }
  const refresh = { grant_type: "refresh_token", refresh_token: client.refresh, client_id: client.id };
  for (const path of ["/token", "/register", "/revoke"]) {
    const response = await fetch(issuer + path, { method: "POST", body: new URLSearchParams(refresh) });
    expect(response.status).toBe(503);
    expect(response.headers.get("retry-after")).toBe("60");
    expect(response.headers.get("access-control-allow-origin")).toBe("*");
    expect(await response.json()).toEqual({
      error: "temporarily_unavailable",
      error_description: "Not available right now",
    });
  }
  await admin.ask("DELETE", `/tenants/${id}/suspensions/tenant`);
  await expect
    .poll(async () => (await fetch(`${issuer}/token`, { method: "POST", body: new URLSearchParams(refresh) })).status)
    .toBe(200);
});
