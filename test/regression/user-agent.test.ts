// Nothing that left had a User-Agent: AWS WAF, Cloudflare's browser check and GitHub refuse such requests.

import type { IncomingHttpHeaders } from "node:http";
import { afterAll, describe, expect, onTestFinished, test } from "vitest";
import { beginLogin, tokensOf } from "../support/authorized-client.ts";
import { startAuthorizationServer } from "../support/authorization-server.ts";
import { authorizeUrl, discover, newAsking } from "../support/login-requests.ts";
import { fixtureAdmin } from "../support/fixture-admin.ts";
import { gatewayTenant, startGatewayWorker } from "../support/gateway-tenant.ts";
import { identityProvider } from "../support/identity-provider.ts";
import { startLocalServer } from "../support/local-server.ts";
import { LoginBrowser } from "../support/login-browser.ts";
import { listAs, startLoginWorker, whoamiAs } from "../support/login-tenant.ts";
import { mcpClient } from "../support/mcp-client.ts";
import { OneToolUpstream, textResult } from "./one-tool-upstream.ts";
import { serveFetch } from "../support/local-server.ts";
import { startSseUpstream } from "./sse-upstream.ts";
import { startTokenEndpoint } from "../support/token-endpoint.ts";

const AGENT = "tenantry";

/** Questions of DNS, as they came. */
const looked: IncomingHttpHeaders[] = [];
const resolver = await startLocalServer(({ headers }, response) => {
  looked.push(headers);
  response.end('{"Status":3}');
});
afterAll(() => resolver.stop());

const OUTBOUND_RESOLVER = `${resolver.origin}/dns-query`;
const login = await startLoginWorker({ OUTBOUND_RESOLVER });
const admin = fixtureAdmin(login.origin, "agent");
const noting = await startGatewayWorker({}, "noting-worker");
const notingAdmin = fixtureAdmin(noting, "agent");

const agentsOf = (requests: readonly { readonly headers: IncomingHttpHeaders | Headers }[]) =>
  new Set(
    requests.map(({ headers }) => (headers instanceof Headers ? headers.get("user-agent") : headers["user-agent"])),
  );

const GO = { name: "up__go", arguments: {} };

describe("an upstream hears who asks", () => {
  test.each(["2025", "2026"] as const)("in every request of era %s", async (era) => {
    const up = await OneToolUpstream.start(era, (exchange) => exchange.result(textResult(exchange, "done")));
    const client = await (await gatewayTenant(noting, notingAdmin, { up: up.entry })).client();
    await client.request("tools/call", GO);
    expect(up.calls).toHaveLength(1);
    if (era === "2025") await up.endpoint.next("DELETE");
    expect(agentsOf(up.endpoint.exchanges)).toEqual(new Set([AGENT]));
  });

  test("while it is found out what it speaks", async () => {
    const up = await OneToolUpstream.start("2025", (exchange) => exchange.result(textResult(exchange, "done")));
    await gatewayTenant(noting, notingAdmin, { up: { url: up.endpoint.url } });
    expect(up.endpoint.names).toContain("server/discover");
    expect(agentsOf(up.endpoint.exchanges)).toEqual(new Set([AGENT]));
  });

  test("on the stream and in the posts of HTTP+SSE", async () => {
    const up = await startSseUpstream();
    const client = await (await gatewayTenant(noting, notingAdmin, { up: { url: up.url } })).client();
    await client.request("tools/call", { name: "up__say", arguments: {} });
    expect(up.requests.filter(({ message }) => message === undefined).length).toBeGreaterThan(1);
    expect(agentsOf(up.requests)).toEqual(new Set([AGENT]));
  });

  test("as its tenant names them, where it does", async () => {
    const up = await OneToolUpstream.start("2026", (exchange) => exchange.result(textResult(exchange, "done")));
    const headers = { "User-Agent": "acme/1.0" };
    const client = await (await gatewayTenant(noting, notingAdmin, { up: { ...up.entry, headers } })).client();
    await client.request("tools/call", GO);
    expect(agentsOf(up.endpoint.exchanges)).toEqual(new Set(["acme/1.0"]));
  });

  test("where it redirects to another path", async () => {
    const up = await OneToolUpstream.start("2026", (exchange) => exchange.result(textResult(exchange, "done")), {
      first: (exchange) => {
        const isMoved = exchange.path === "/mcp/acme";
        if (isMoved) exchange.refuse(307, { location: "/mcp/acme/" });
        return isMoved;
      },
    });
    const client = await (await gatewayTenant(noting, notingAdmin, { up: up.entry })).client();
    await client.request("tools/call", GO);
    expect(new Set(up.endpoint.exchanges.map(({ path }) => path))).toEqual(new Set(["/mcp/acme", "/mcp/acme/"]));
    expect(agentsOf(up.endpoint.exchanges)).toEqual(new Set([AGENT]));
  });

  test("at the token endpoint of its credentials", async () => {
    const tokens = await startTokenEndpoint();
    const up = await OneToolUpstream.start("2026", (exchange) => exchange.result(textResult(exchange, "done")));
    const auth = { kind: "client_credentials", tokenUrl: tokens.url, clientId: "t", clientSecret: "{{secret:UP}}" };
    const secrets = { UP: "s3cret" };
    await gatewayTenant(noting, notingAdmin, { up: { ...up.entry, auth } }, { secrets });
    expect(tokens.requests).toHaveLength(1);
    expect(agentsOf(tokens.requests)).toEqual(new Set([AGENT]));
  });
});

test("a webhook hears who sends", async () => {
  const requests: { headers: IncomingHttpHeaders }[] = [];
  const hook = await startLocalServer(({ headers }, response) => {
    requests.push({ headers });
    response.writeHead(204).end();
  });
  onTestFinished(() => hook.stop());
  const id = await notingAdmin.tenant();
  await notingAdmin.ask("PUT", `/tenants/${id}/secrets/HOOK?wait=1`, { value: `whsec_${btoa("a".repeat(32))}` });
  await notingAdmin.apply(id, { webhooks: { one: { url: hook.origin, secret: "{{secret:HOOK}}" } } });
  expect(await notingAdmin.ask("POST", `/tenants/${id}/webhooks/one/test`)).toMatchObject({ delivered: true });
  expect(agentsOf(requests)).toEqual(new Set([AGENT]));
});

test("a resolver of names hears who asks", async () => {
  const upstreams = { up: { url: "https://mcp.nowhere-at-all.com/mcp" } };
  const tenant = await admin.tenant({ upstreams });
  const client = await mcpClient("2025-11-25", `${login.origin}/mcp/${tenant}`);
  await client.request("tools/list");
  await expect.poll(() => looked.length).toBeGreaterThan(0);
  expect(agentsOf(looked.map((headers) => ({ headers })))).toEqual(new Set([AGENT]));
});

describe("at login", () => {
  test("an issuer of tokens hears who reads its metadata and its keys", async () => {
    const agents = new Map<string, unknown>();
    const issuer = await startAuthorizationServer({
      more: {
        metadata: () => ({}),
        answer: ({ url = "", headers }) => {
          agents.set(url, headers["user-agent"]);
          return false;
        },
      },
    });
    const id = await admin.tenant({ mode: "oauth", auth: { issuers: [{ issuer: issuer.issuer }] } });
    const url = `${login.origin}/mcp/${id}`;
    const token = await issuer.token({ aud: url });
    expect(await whoamiAs(url, "2026-07-28", token)).toMatchObject({ subject: "alice" });
    expect(Object.fromEntries(agents)).toEqual({ "/.well-known/oauth-authorization-server": AGENT, "/keys": AGENT });
  });

  test("the host of a client's document hears who reads it", async () => {
    const requests: { headers: IncomingHttpHeaders }[] = [];
    const redirect = "http://127.0.0.1:4567/callback";
    const server = await startLocalServer(({ url = "", headers }, response) => {
      requests.push({ headers });
      response.writeHead(200, { "content-type": "application/json" });
      const document = { client_name: "App", redirect_uris: [redirect], token_endpoint_auth_method: "none" };
      response.end(JSON.stringify({ client_id: server.origin + url, ...document }));
    });
    onTestFinished(() => server.stop());
    const id = await admin.tenant({ mode: "key+oauth", auth: { login: { via: "key" } } });
    const found = await discover(`${login.origin}/mcp/${id}`);
    const page = await new LoginBrowser().go(authorizeUrl(newAsking(found, `${server.origin}/client.json`, redirect)));
    expect(page.status).toBe(200);
    expect(requests).toHaveLength(1);
    expect(agentsOf(requests)).toEqual(new Set([AGENT]));
  });

  test("a provider of identities hears who redeems a code and asks for its keys", async () => {
    const clients: Record<string, { secret: string; redirect: string }> = {};
    const app = await serveFetch((request) => provider.answer(request));
    onTestFinished(() => app.stop());
    const provider = await identityProvider({ origin: app.origin, clients });
    provider.onlyInUserInfo.add("email");
    const id = await admin.tenant();
    await admin.ask("PUT", `/tenants/${id}/secrets/CLIENT?wait=1`, { value: "s3cret" });
    clients["tenantry"] = { secret: "s3cret", redirect: `${login.origin}/login/${id}/callback` };
    const client = { clientId: "tenantry", clientSecret: "{{secret:CLIENT}}" };
    const via = { via: "oidc", issuer: app.origin, claims: ["email"], ...client };
    await admin.apply(id, { mode: "oauth", auth: { login: via } });
    const issuer = `${login.origin}/login/${id}`;
    const browser = new LoginBrowser();
    const begun = await beginLogin({ issuer });
    let page = await browser.go(begun.url);
    for (let steps = 0; page.location !== null && steps < 5; steps += 1) page = await browser.go(page.location);
    const { location } = await browser.submit(page, { decision: "allow" });
    const { access_token: token } = await tokensOf(issuer, begun, location ?? "");
    expect((await listAs(`${login.origin}/mcp/${id}`, "2026-07-28", String(token))).status).toBe(200);
    // What the browser asks for itself is left out.
    const requests = provider.heard.filter(({ path }) => path !== "/authorize");
    expect(new Set(requests.map(({ path }) => path))).toEqual(
      new Set(["/.well-known/openid-configuration", "/token", "/keys", "/userinfo"]),
    );
    expect(agentsOf(requests)).toEqual(new Set([AGENT]));
  });
});
