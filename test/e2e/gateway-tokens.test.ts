// An upstream that wants an access token: the tenant is a client with credentials of its own, and nobody is shown them.

import { describe, expect, onTestFinished, test } from "vitest";
import { fixtureAdmin } from "../support/fixture-admin.ts";
import { gatewayTenant, missingOf, startGatewayWorker } from "../support/gateway-tenant.ts";
import { ERAS, type Json } from "../support/mcp-client.ts";
import { startUpstream, type UpstreamTool, type Upstream } from "../support/upstream.ts";
import { ScriptedServer, type Exchange } from "../support/scripted-server.ts";
import { startTokenEndpoint, type TokenEndpoint } from "../support/token-endpoint.ts";

const origin = await startGatewayWorker();
const admin = fixtureAdmin(origin, "gwt");
const SECRET = "s3cret-of-the-client";
const WITH_SECRET = { secrets: { UP_SECRET: SECRET } };
const GO = { name: "up__go", arguments: {} };
const textResult = (text: string): Json => ({ content: [{ type: "text", text }] });

async function plain(tools: Readonly<Record<string, UpstreamTool>>): Promise<Upstream> {
  const upstream = await startUpstream(tools);
  onTestFinished(() => upstream.close());
  return upstream;
}

const authAt = ({ url }: TokenEndpoint, more: Json = {}): Json => ({
  kind: "client_credentials",
  tokenUrl: url,
  clientId: "tenantry",
  clientSecret: "{{secret:UP_SECRET}}",
  ...more,
});

/** Era 2025 without sessions; lists `go`, and refuses whatever has not the token that is valid. */
async function guarded(valid: () => string, call: (exchange: Exchange) => void): Promise<ScriptedServer> {
  const hello = { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo: { name: "s", version: "1" } };
  return ScriptedServer.start((exchange) => {
    if (exchange.headers.authorization !== `Bearer ${valid()}`) exchange.refuse(401, { "www-authenticate": "Bearer" });
    else if (exchange.name === "initialize") exchange.result(hello);
    else if (exchange.name === "notifications/initialized") exchange.refuse(202);
    else if (exchange.name === "tools/list")
      exchange.result({ tools: [{ name: "go", inputSchema: { type: "object" } }] });
    else call(exchange);
  });
}

describe.each(ERAS)("an upstream of era $era with client credentials", ({ era, revision }) => {
  test("is sent a token that was asked for once, however many call at the same time", async () => {
    const tokens = await startTokenEndpoint();
    // The one with which it is read has ended when the calls come.
    const token = (count: number) => ({ access_token: `token-number-${count}`, token_type: "Bearer" });
    tokens.answer = (count) => ({ body: { ...token(count), expires_in: count === 1 ? 0.001 : 3600 } });
    const up = await plain({ go: () => textResult("done") });
    const upstreams = { up: { url: up.url, era, auth: authAt(tokens, { scope: "a b", clientId: "ten: try%" }) } };
    const tenant = await gatewayTenant(origin, admin, upstreams, WITH_SECRET);
    const client = await tenant.client(revision);
    const all = await Promise.all(Array.from({ length: 10 }, () => client.request("tools/call", GO)));
    for (const { result } of all) expect(result).toMatchObject(textResult("done"));
    const sent = up.requests.filter(({ message }) => message["method"] === "tools/call").map(({ headers }) => headers);
    expect(sent.map(({ authorization }) => authorization)).toEqual(Array.from(sent, () => "Bearer token-number-2"));
    expect(sent).toHaveLength(10);
    expect(tokens.requests).toHaveLength(2);
    const [asked] = tokens.requests;
    expect(Object.fromEntries(asked?.form ?? [])).toEqual({
      grant_type: "client_credentials",
      scope: "a b",
      resource: up.url,
    });
    // https://datatracker.ietf.org/doc/html/rfc6749#section-2.3.1
    expect(asked?.headers.authorization).toBe(`Basic ${btoa(`ten%3A%20try%25:${SECRET}`)}`);
  });
});

describe("client credentials", () => {
  test("go in the body where the document says so, without a resource where it is empty", async () => {
    const tokens = await startTokenEndpoint();
    const up = await plain({ go: () => textResult("done") });
    const auth = authAt(tokens, { method: "client_secret_post", resource: "" });
    await gatewayTenant(origin, admin, { up: { url: up.url, auth } }, WITH_SECRET);
    expect(tokens.requests[0]?.headers).not.toHaveProperty("authorization");
    expect(Object.fromEntries(tokens.requests[0]?.form ?? [])).toEqual({
      grant_type: "client_credentials",
      client_id: "tenantry",
      client_secret: SECRET,
    });
  });

  test("are shown to nobody, with the token, whoever repeats them", async () => {
    const tokens = await startTokenEndpoint();
    const up = await plain({ go: () => textResult(`token-number-1 ${SECRET}`) });
    const tenant = await gatewayTenant(origin, admin, { up: { url: up.url, auth: authAt(tokens) } }, WITH_SECRET);
    const client = await tenant.client();
    const { result } = await client.request("tools/call", GO);
    expect(result["content"]).toEqual([{ type: "text", text: "[redacted] [redacted]" }]);
    const document = await admin.ask("GET", `/tenants/${tenant.id}/document`);
    expect(JSON.stringify(document)).toContain("{{secret:UP_SECRET}}");
    expect(JSON.stringify(document)).not.toContain(SECRET);
  });
});

describe("a token that the upstream takes no more", () => {
  test("is asked for anew once, and the call is sent again", async () => {
    const tokens = await startTokenEndpoint();
    let valid = "token-number-1";
    const up = await guarded(
      () => valid,
      (exchange) => exchange.result(textResult("in")),
    );
    const tenant = await gatewayTenant(
      origin,
      admin,
      { up: { url: up.url, era: "2025", auth: authAt(tokens) } },
      WITH_SECRET,
    );
    const client = await tenant.client();
    expect((await client.request("tools/call", GO)).result).toMatchObject(textResult("in"));
    valid = "token-number-2";
    expect((await client.request("tools/call", GO)).result).toMatchObject(textResult("in"));
    expect(tokens.requests).toHaveLength(2);
    expect(up.exchanges.at(-1)?.headers.authorization).toBe("Bearer token-number-2");
  });

  test("is not asked for again and again where no token is taken", async () => {
    const tokens = await startTokenEndpoint();
    let valid = "token-number-1";
    const up = await guarded(
      () => valid,
      (exchange) => exchange.result(textResult("in")),
    );
    const tenant = await gatewayTenant(
      origin,
      admin,
      { up: { url: up.url, era: "2025", auth: authAt(tokens) } },
      WITH_SECRET,
    );
    const client = await tenant.client();
    valid = "none";
    const { error } = await client.request("tools/call", GO);
    expect(error).toMatchObject({ code: -32000, data: { server: "up", fault: "status" } });
    expect(tokens.requests).toHaveLength(2);
  });
});

describe("a token endpoint that", () => {
  test.each([
    [
      "refuses",
      { status: 401, body: { error: "invalid_client", error_description: `not ${SECRET}` } },
      "the gateway got no access token: the token endpoint answered 401 (invalid_client)",
    ],
    [
      "is out of order",
      { status: 503, body: { error_description: `not ${SECRET}` } },
      "the gateway got no access token: the token endpoint answered 503",
    ],
    [
      "gives one that is no bearer",
      { body: { access_token: "abc", token_type: "DPoP" } },
      "the gateway got no access token: the token endpoint answered 200 without a usable token",
    ],
    [
      "gives no token",
      { body: { ok: true } },
      "the gateway got no access token: the token endpoint answered 200 without a usable token",
    ],
    [
      "sends us elsewhere",
      { status: 307, body: {} },
      "the gateway got no access token: the token endpoint answered 307 without a usable token",
    ],
  ] as const)("%s is named with its code alone, in lists and in calls", async (_what, answer, why) => {
    const tokens = await startTokenEndpoint();
    tokens.answer = () => answer;
    const up = await plain({ go: () => textResult("done") });
    const tenant = await gatewayTenant(origin, admin, { up: { url: up.url, auth: authAt(tokens) } }, WITH_SECRET);
    const client = await tenant.client();
    expect(missingOf((await client.request("tools/list")).result)).toEqual([{ source: "up", why }]);
    expect(up.requests).toEqual([]);
  });

  test("stops working fails calls with a clear error, and is not asked by each of them", async () => {
    const tokens = await startTokenEndpoint();
    tokens.answer = (count) =>
      count === 1
        ? { body: { access_token: "token-number-1", token_type: "bearer", expires_in: 0.001 } }
        : { status: 400, body: { error: "invalid_scope" } };
    const up = await plain({ go: () => textResult("done") });
    const tenant = await gatewayTenant(origin, admin, { up: { url: up.url, auth: authAt(tokens) } }, WITH_SECRET);
    const client = await tenant.client();
    const why = "up: the gateway got no access token: the token endpoint answered 400 (invalid_scope)";
    for (let time = 0; time < 3; time += 1) {
      const { error } = await client.request("tools/call", GO);
      expect(error).toMatchObject({ code: -32000, message: why, data: { server: "up", fault: "token" } });
    }
    expect(tokens.requests).toHaveLength(2);
  });

  test("never answers costs a call no more than its own time", async () => {
    const tokens = await startTokenEndpoint();
    tokens.answer = (count) =>
      count === 1 ? { body: { access_token: "token-number-1", token_type: "bearer", expires_in: 0.001 } } : "silence";
    const up = await plain({ go: () => textResult("done") });
    const upstreams = { up: { url: up.url, auth: authAt(tokens), timeoutMs: 300 } };
    const tenant = await gatewayTenant(origin, admin, upstreams, WITH_SECRET);
    const client = await tenant.client();
    const { error } = await client.request("tools/call", GO);
    expect(error).toMatchObject({ code: -32001, data: { server: "up", timeoutMs: 300 } });
  });
});
