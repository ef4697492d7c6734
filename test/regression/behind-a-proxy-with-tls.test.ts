// Behind a proxy that ends TLS a credential was taken, and every URL that clients are told said `http`: official clients refuse
// such metadata, and cookies were without `Secure`.

import { expect, test } from "vitest";
import { fixtureAdmin } from "../support/fixture-admin.ts";
import { startLoginWorker } from "../support/login-tenant.ts";
import { sendRaw, write } from "../support/raw-http.ts";

const HOST = "mcp.example.com";
const INSIDE = "mcp.corp.internal";
const { origin } = await startLoginWorker({ HOSTS: `${HOST},${INSIDE},localhost,127.0.0.1` });
const admin = fixtureAdmin(origin, "proxied");
const id = await admin.tenant({ mode: "oauth", auth: { login: { via: "key" } } });

const ask = (path: string, host: string, more = {}) =>
  sendRaw(`${origin}${path}`, {
    method: "GET",
    headers: { host, "x-forwarded-proto": "https", "x-forwarded-host": "evil.example.com", ...more },
  });

test.each([
  `/.well-known/oauth-protected-resource/mcp/${id}`,
  `/.well-known/oauth-authorization-server/login/${id}`,
  `/login/${id}/.well-known/openid-configuration`,
])("%s names the client's URLs", async (path) => {
  for (const host of [HOST, INSIDE, "localhost:8443"]) {
    const { status, text } = await ask(path, host);
    const urls = text.match(/https?:\/\/[^"]+/g)?.map((url) => new URL(url).origin);
    expect([status, new Set(urls)]).toEqual([200, new Set([`https://${host}`])]);
  }
});

test("so do the challenge and the pages, whose cookies are Secure", async () => {
  const { headers, body } = write("2025-11-25", "tools/list");
  const refused = await sendRaw(`${origin}/mcp/${id}`, {
    headers: { ...headers, host: HOST, "x-forwarded-proto": "https" },
    body: JSON.stringify(body),
  });
  expect(refused.headers["www-authenticate"]).toContain(`resource_metadata="https://${HOST}/.well-known/`);
  const html = { accept: "text/html" };
  expect((await ask(`/mcp/${id}`, HOST, html)).text).toContain(`https://${HOST}/mcp/${id}`);
  expect((await ask(`/account/${id}`, HOST, html)).headers["set-cookie"]?.join()).toMatch(/^__Host-.*; Secure/);
});
