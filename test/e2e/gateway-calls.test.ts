// Calls on their way to an upstream: what of the client's goes with them, what never comes back, and when nobody asks an
// upstream that cannot answer.

import { describe, expect, onTestFinished, test } from "vitest";
import { fixtureAdmin } from "../support/fixture-admin.ts";
import { gatewayTenant, missingOf, startGatewayWorker } from "../support/gateway-tenant.ts";
import { ERAS, type Json, type RpcError } from "../support/mcp-client.ts";
import { startUpstream, type UpstreamTool, type Upstream } from "../support/upstream.ts";
import { ScriptedServer, type Exchange } from "../support/scripted-server.ts";

const origin = await startGatewayWorker();
const admin = fixtureAdmin(origin, "gwc");
const SECRET = 's3cret/of-the"upstream';
const SECRETS = { UP_TOKEN: SECRET };
const WITH_SECRET = { Authorization: "Bearer {{secret:UP_TOKEN}}" };
const TIMEOUT_MS = 1000;

async function plain(tools: Readonly<Record<string, UpstreamTool>>): Promise<Upstream> {
  const upstream = await startUpstream(tools);
  onTestFinished(() => upstream.close());
  return upstream;
}

const textResult = (text: string): Json => ({ content: [{ type: "text", text }] });
const GO = { name: "up__go", arguments: {} };

/** Era 2025 without sessions; lists the tool `go`, whose calls `call` answers. */
async function scripted(call: (exchange: Exchange) => void): Promise<ScriptedServer> {
  const hello = { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo: { name: "s", version: "1" } };
  return ScriptedServer.start((exchange) => {
    if (exchange.name === "initialize") exchange.result(hello);
    else if (exchange.name === "notifications/initialized") exchange.refuse(202);
    else if (exchange.name === "tools/list")
      exchange.result({ tools: [{ name: "go", inputSchema: { type: "object" } }] });
    else if (exchange.name === "tools/call") call(exchange);
  });
}

const retryAfterIn = (error: RpcError | undefined) => error?.data?.["retryAfter"];

const callsAt = (up: ScriptedServer) => up.names.filter((name) => name === "tools/call").length;

describe.each(ERAS)("a client of era $era", ({ era, revision }) => {
  test("has its own headers sent on where the map names them, and its trace context, and nothing else", async () => {
    const up = await plain({ go: () => textResult("done") });
    const upstreams = { up: { url: up.url, era, headers: { "X-Trace": "{{client:x-trace}}", "X-Own": "1" } } };
    const tenant = await gatewayTenant(origin, admin, upstreams);
    const client = await tenant.client(revision);
    const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    const headers = { "x-trace": "t-1", "x-other": "no", cookie: "a=b", traceparent, tracestate: "a=1" };
    await client.request("tools/call", GO, { headers });
    const first = up.requests.at(-1)?.headers;
    expect(first).toMatchObject({ "x-trace": "t-1", "x-own": "1", traceparent, tracestate: "a=1" });
    for (const name of ["x-other", "cookie", "authorization"]) expect(first, name).not.toHaveProperty(name);
    await client.request("tools/call", GO);
    const second = up.requests.at(-1)?.headers;
    expect(second).toMatchObject({ "x-own": "1" });
    for (const name of ["x-trace", "traceparent", "tracestate"]) expect(second, name).not.toHaveProperty(name);
  });

  test.each(["2025", "2026"] as const)("is shown no credential that an upstream of era %s repeats", async (upEra) => {
    const up = await plain({
      go: () => textResult(`you sent Bearer ${SECRET}`),
      fail: () => ({ error: { code: -32055, message: `not with ${SECRET}`, data: { got: [SECRET] } } }),
    });
    const upstreams = { up: { url: up.url, era: upEra, headers: WITH_SECRET } };
    const tenant = await gatewayTenant(origin, admin, upstreams, { secrets: SECRETS });
    const client = await tenant.client(revision);
    const { result } = await client.request("tools/call", GO);
    expect(result["content"]).toEqual([{ type: "text", text: "you sent Bearer [redacted]" }]);
    const { error } = await client.request("tools/call", { name: "up__fail", arguments: {} });
    expect(error).toMatchObject({ message: "not with [redacted]", data: { server: "up", got: ["[redacted]"] } });
    expect(up.requests.at(-1)?.headers.authorization).toBe(`Bearer ${SECRET}`);
    expect(JSON.stringify(error)).not.toContain("s3cret");
  });
});

describe("a trace context in the metadata of a call", () => {
  test.each(["2025", "2026"] as const)("reaches an upstream of era %s", async (era) => {
    const up = await plain({ go: () => textResult("done") });
    const tenant = await gatewayTenant(origin, admin, { up: { url: up.url, era } });
    const client = await tenant.client();
    const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    await client.request("tools/call", { ...GO, _meta: { traceparent } });
    expect(up.requests.at(-1)?.message["params"]).toMatchObject({ _meta: { traceparent } });
  });
});

describe("numbers that are longer than a number can be", () => {
  const ARGS = '{"id":12345678901234567890,"of":[9007199254740993,1.10]}';

  test.each(ERAS)("pass as they were written, there and back, in era $era", async ({ era, revision }) => {
    const result = '{"content":[],"structuredContent":{"id":98765432109876543210,"x":1.10}}';
    const up = await scripted((exchange) =>
      exchange.json(`{"jsonrpc":"2.0","id":${JSON.stringify(exchange.message["id"])},"result":${result}}`),
    );
    const tenant = await gatewayTenant(origin, admin, { up: { url: up.url, era: "2025" } });
    const client = await tenant.client(revision);
    const is2026 = era === "2026";
    const meta = {
      "io.modelcontextprotocol/protocolVersion": revision,
      "io.modelcontextprotocol/clientInfo": { name: "test", version: "1" },
      "io.modelcontextprotocol/clientCapabilities": {},
    };
    const more = is2026 ? `,"_meta":${JSON.stringify(meta)}` : "";
    const body = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"up__go","arguments":${ARGS}${more}}}`;
    const named = is2026 ? { "mcp-method": "tools/call", "mcp-name": "up__go" } : {};
    const headers = { "content-type": "application/json", ...client.headers, ...named };
    const answer = await (await fetch(tenant.url, { method: "POST", headers, body })).text();
    expect(up.exchanges.at(-1)?.body).toContain(`"arguments":${ARGS}`);
    if (!is2026) expect(answer).toContain(result);
  });

  test("pass in a message that names its upstream", async () => {
    const up = await scripted((exchange) => exchange.result(textResult("done")));
    const tenant = await gatewayTenant(origin, admin, { up: { url: up.url, era: "2025" } });
    const body = `{"server_id":"up","jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"go","arguments":${ARGS}}}`;
    const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
    await (await fetch(tenant.url.replace("/mcp/", "/gateway/"), { method: "POST", headers, body })).text();
    expect(up.exchanges.at(-1)?.body).toContain(`"params":{"name":"go","arguments":${ARGS}}`);
  });
});

describe("an upstream that repeats a credential while it is read", () => {
  test("shows it in no definition and in no reason", async () => {
    const leaky = await ScriptedServer.start((exchange) => {
      const hello = { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo: { name: "s" } };
      const tool = { name: "go", description: `with ${SECRET}`, inputSchema: { type: "object" } };
      if (exchange.name === "initialize") exchange.result({ ...hello, instructions: `Send ${SECRET}.` });
      else if (exchange.name === "notifications/initialized") exchange.refuse(202);
      else exchange.result({ tools: [tool, { name: `bad ${SECRET}`, inputSchema: { type: "int" } }] });
    });
    const upstreams = { up: { url: leaky.url, era: "2025", headers: WITH_SECRET } };
    const tenant = await gatewayTenant(origin, admin, upstreams, { secrets: SECRETS });
    const client = await tenant.client();
    const { result } = await client.request("tools/list");
    expect(result["tools"]).toMatchObject([{ name: "up__go", description: "with [redacted]" }]);
    expect(missingOf(result)[0]?.why).toContain("bad [redacted]");
    expect(JSON.stringify(result)).not.toContain("s3cret");
  });
});

describe("an upstream that cannot be reached", () => {
  test.each([
    ["resets", (exchange: Exchange) => exchange.reset()],
    ["never answers", () => {}],
  ] as const)(
    "is asked five times when it %s; then calls fail at once and say when it is tried again",
    async (_how, call) => {
      const up = await scripted(call);
      const tenant = await gatewayTenant(origin, admin, { up: { url: up.url, era: "2025", timeoutMs: TIMEOUT_MS } });
      const client = await tenant.client();
      for (let time = 0; time < 5; time += 1) await client.request("tools/call", GO);
      expect(callsAt(up)).toBe(5);
      const { error } = await client.request("tools/call", GO);
      expect(error).toMatchObject({ code: -32000, data: { server: "up", fault: "unreachable" } });
      expect(error?.message).toMatch(/^Failed to connect to server: try again in [1-5] s$/);
      expect(retryAfterIn(error)).toBeGreaterThan(0);
      expect(callsAt(up)).toBe(5);
    },
  );

  test("is tried again by one call, and serves everybody when that one is answered", async () => {
    let isBack = false;
    const up = await scripted((exchange) => (isBack ? exchange.result(textResult("back")) : exchange.reset()));
    const tenant = await gatewayTenant(origin, admin, { up: { url: up.url, era: "2025" } });
    const client = await tenant.client();
    for (let time = 0; time < 5; time += 1) await client.request("tools/call", GO);
    isBack = true;
    expect((await client.request("tools/call", GO)).error).toBeDefined();
    const answered = async () => (await client.request("tools/call", GO)).error === undefined;
    await expect.poll(answered, { timeout: 20_000, interval: 200 }).toBe(true);
    expect(callsAt(up)).toBe(6);
    const all = await Promise.all(Array.from({ length: 4 }, answered));
    expect(all).toEqual([true, true, true, true]);
  });
});

describe("an upstream that answers", () => {
  test("503 with Retry-After is left alone for that time, and its callers are told", async () => {
    const up = await scripted((exchange) => exchange.refuse(503, { "retry-after": "60" }));
    const beside = await plain({ ok: () => textResult("fine") });
    const upstreams = { up: { url: up.url, era: "2025" }, beside: { url: beside.url } };
    const tenant = await gatewayTenant(origin, admin, upstreams);
    const client = await tenant.client();
    const first = await client.request("tools/call", GO);
    expect(first.error?.data).toMatchObject({ server: "up", fault: "status", retryAfter: 60 });
    const second = await client.request("tools/call", GO);
    expect(second.error?.message).toMatch(/try again in \d+ s$/);
    expect(second.error?.data).toMatchObject({ server: "up", fault: "unreachable" });
    expect(retryAfterIn(second.error)).toBeGreaterThan(50);
    expect(callsAt(up)).toBe(1);
    const { result } = await client.request("tools/call", { name: "beside__ok", arguments: {} });
    expect(result["content"]).toEqual([{ type: "text", text: "fine" }]);
  });

  test("429 to one client goes on to serve all, and says when to come back", async () => {
    const up = await scripted((exchange) => {
      if (exchange.headers["x-user"] === "ann") exchange.refuse(429, { "retry-after": "60" });
      else exchange.result(textResult("hello"));
    });
    const headers = { "X-User": "{{client:x-user}}" };
    const tenant = await gatewayTenant(origin, admin, { up: { url: up.url, era: "2025", headers } });
    const client = await tenant.client();
    const call = async (user: string) => client.request("tools/call", GO, { headers: { "x-user": user } });
    for (let time = 0; time < 6; time += 1) {
      expect((await call("ann")).error?.data).toMatchObject({ server: "up", fault: "status", retryAfter: 60 });
    }
    expect((await call("bob")).result["content"]).toEqual([{ type: "text", text: "hello" }]);
    expect(callsAt(up)).toBe(7);
  });
});
