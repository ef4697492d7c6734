// A credential that came by plain http over the internet was read by others: it is refused unread, and nobody is asked for
// one there. What is asked is a server of this machine, under the names that a request may give it.

import { describe, expect, test } from "vitest";
import { ADMIN_TOKEN } from "../../scripts/fixture-server.ts";
import { bearer, fixtureAdmin } from "../support/fixture-admin.ts";
import { startLoginWorker } from "../support/login-tenant.ts";
import { ERAS } from "../support/mcp-client.ts";
import { sendRaw, write } from "../support/raw-http.ts";
import { expectRefusal } from "../support/refusal.ts";

const { origin } = await startLoginWorker();
const admin = fixtureAdmin(origin, "plain");
const id = await admin.tenant({ mode: "key" });
const open = await admin.tenant();
const key = await admin.key(id);
const auth = { issuers: [{ issuer: "https://login.example.com" }], anonymous: { scopes: [] } };
const oauth = await admin.tenant({ mode: "oauth", auth });
const mixed = await admin.tenant({ mode: "mixed", auth });

const PUBLIC = ["mcp.example.com", "mcp.example.com:8080", "localhost.example.com", "10.example.com", "8.8.8.8"];
const NEAR = [
  "localhost",
  "a.localhost:8080",
  "127.0.0.1",
  "127.1.2.3",
  "[::1]:80",
  "192.168.1.2",
  "10.0.0.1",
  "server",
];

describe.each(ERAS)("in era $era", ({ era, revision }) => {
  const code = era === "2025" ? -32003 : -32600;

  function list(host: string, more: Readonly<Record<string, string>> = {}, path = `/mcp/${id}`, method = "tools/list") {
    const { headers, body } = write(revision, method, method === "tools/call" ? { name: "whoami" } : {});
    return sendRaw(`${origin}${path}`, { headers: { ...headers, host, ...more }, body: JSON.stringify(body) });
  }

  test.each(PUBLIC)("at http://%s a key is refused unread, good or not, and no login is asked for", async (host) => {
    const credentials = [bearer(key.token), bearer("none"), { authorization: "Basic eA==" }];
    const replies = [...credentials.map((more) => list(host, more)), list(host, {}, `/mcp/${oauth}`)];
    for (const reply of await Promise.all(replies)) {
      const { message } = expectRefusal(reply, revision, { status: 403, code });
      expect([message, reply.headers["www-authenticate"]]).toEqual([
        "Use https: http exposes credentials to others",
        undefined,
      ]);
    }
    const beyond = await list(host, {}, `/mcp/${mixed}`, "tools/call");
    expectRefusal(beyond, revision, { status: 403, code, id: 1 });
    for (const path of [`/mcp/${open}`, "/mcp/no-such-tenant", `/gateway/${id}`]) {
      expect((await list(host, bearer(key.token), path)).status).toBe(403);
    }
    for (const path of [`/mcp/${open}`, `/mcp/${mixed}`]) expect((await list(host, {}, path)).status).toBe(200);
  });

  test("at hosts of this machine or network a key is taken by http", async () => {
    for (const host of NEAR) {
      const statuses = [(await list(host, bearer(key.token))).status, (await list(host)).status];
      expect({ host, statuses }).toEqual({ host, statuses: [200, 401] });
    }
  });

  test("behind what ends TLS and says so, a key is taken", async () => {
    expect((await list("mcp.example.com", { ...bearer(key.token), "x-forwarded-proto": "https" })).status).toBe(200);
    expect((await list("mcp.example.com", { ...bearer(key.token), "x-forwarded-proto": "http" })).status).toBe(403);
  });
});

test("the admin API takes no token there, and asks for none", async () => {
  const ask = (host: string, headers = {}) =>
    sendRaw(`${origin}/admin/v1/tenants`, { method: "GET", headers: { host, ...headers } });
  for (const headers of [bearer(ADMIN_TOKEN), {}]) {
    const { status, text } = await ask("mcp.example.com", headers);
    expect([status, JSON.parse(text)]).toEqual([
      403,
      expect.objectContaining({ title: "Use https: http sends the token unencrypted" }),
    ]);
  }
  expect((await ask("localhost", bearer(ADMIN_TOKEN))).status).toBe(200);
  expect((await ask("mcp.example.com", { ...bearer(ADMIN_TOKEN), "x-forwarded-proto": "https" })).status).toBe(200);
});
