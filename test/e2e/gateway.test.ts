// Real upstreams behind a tenant, over real HTTP: another tenantry in each era, the official SDK with its sessions, and a
// plain server that shows what arrives there.

import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Client as ClientV2, StreamableHTTPClientTransport as TransportV2 } from "@modelcontextprotocol/client";
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as TransportV1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { SSEServerTransport } from "@modelcontextprotocol/sdk/server/sse.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { bearer, fixtureAdmin } from "../support/fixture-admin.ts";
import { fixtureOrigin } from "../support/fixture-origin.ts";
import { gatewayTenant, namesIn, startGatewayWorker, type GatewayTenant } from "../support/gateway-tenant.ts";
import { mcpClient, ERAS, post, type Json } from "../support/mcp-client.ts";
import { startUpstream, type UpstreamTool, type Upstream } from "../support/upstream.ts";
import { ScriptedServer, type Exchange } from "../support/scripted-server.ts";
import { SdkServer } from "../support/sdk-server.ts";

const origin = await startGatewayWorker();
const admin = fixtureAdmin(origin, "gw");
const ABOUT = { name: "gateway-test", version: "1" };
const CONFORMANCE = `${fixtureOrigin()}/mcp/conformance`;

async function plain(tools: Readonly<Record<string, UpstreamTool>>): Promise<Upstream> {
  const upstream = await startUpstream(tools);
  onTestFinished(() => upstream.close());
  return upstream;
}

const textResult = (text: string): Json => ({ content: [{ type: "text", text }] });

async function connectV1(url: string, capabilities = {}): Promise<ClientV1> {
  const client = new ClientV1(ABOUT, { capabilities });
  await client.connect(new TransportV1(new URL(url)));
  onTestFinished(() => client.close());
  return client;
}

async function connectV2(url: string): Promise<ClientV2> {
  const client = new ClientV2(ABOUT, { versionNegotiation: { mode: "auto" } });
  await client.connect(new TransportV2(new URL(url)));
  onTestFinished(() => client.close());
  return client;
}

/** With an era that is said, and more in a row: gateway-upstreams.test.ts. */
describe("another tenantry as an upstream", () => {
  let tenant: GatewayTenant;
  beforeAll(async () => {
    tenant = await gatewayTenant(origin, admin, { conf: { url: CONFORMANCE } });
  });

  test.each([
    ["v1", connectV1],
    ["v2", connectV2],
  ] as const)("shows the official %s client everything that it lists", async (_client, connect) => {
    const [here, there] = [await connect(tenant.url), await connect(CONFORMANCE)];
    const direct = await there.listTools();
    const { tools } = await here.listTools();
    expect(tools.map(({ name }) => name)).toEqual(direct.tools.map(({ name }) => `conf__${name}`));
    expect(tools.map(({ inputSchema }) => inputSchema)).toEqual(direct.tools.map(({ inputSchema }) => inputSchema));
    const prompts = (await here.listPrompts()).prompts.map(({ name }) => name);
    expect(prompts).toEqual((await there.listPrompts()).prompts.map(({ name }) => `conf__${name}`));
    const uris = (await here.listResources()).resources.map(({ uri }) => uri);
    expect(uris).toEqual((await there.listResources()).resources.map(({ uri }) => uri));
    const templates = await here.listResourceTemplates();
    expect(templates.resourceTemplates).toEqual((await there.listResourceTemplates()).resourceTemplates);
  });

  test.each([
    ["v1", connectV1],
    ["v2", connectV2],
  ] as const)("answers the official %s client as it would by itself", async (_client, connect) => {
    const [here, there] = [await connect(tenant.url), await connect(CONFORMANCE)];
    const content = async (client: typeof here, name: string) =>
      (await client.callTool({ name, arguments: {} }))["content"];
    for (const name of ["test_simple_text", "test_multiple_content_types", "test_error_handling"]) {
      expect(await content(here, `conf__${name}`), name).toEqual(await content(there, name));
    }
    const uri = "test://static-text";
    expect((await here.readResource({ uri })).contents).toEqual((await there.readResource({ uri })).contents);
    const data = "test://template/7/data";
    expect((await here.readResource({ uri: data })).contents).toEqual(
      (await there.readResource({ uri: data })).contents,
    );
    const params = { arguments: { arg1: "a", arg2: "b" } };
    const got = await here.getPrompt({ name: "conf__test_prompt_with_arguments", ...params });
    const wanted = await there.getPrompt({ name: "test_prompt_with_arguments", ...params });
    expect(got.messages).toEqual(wanted.messages);
    const argument = { name: "arg1", value: "" };
    const completed = await here.complete({
      ref: { type: "ref/prompt", name: "conf__test_prompt_with_arguments" },
      argument,
    });
    const there2 = await there.complete({ ref: { type: "ref/prompt", name: "test_prompt_with_arguments" }, argument });
    expect(completed.completion).toEqual(there2.completion);
  });
});

test.each(ERAS)("progress of an upstream of era $era has the client's own token", async ({ era, revision }) => {
  const tenant = await gatewayTenant(origin, admin, { conf: { url: CONFORMANCE, era } });
  const client = await tenant.client(revision);
  const params = { name: "conf__test_tool_with_progress", arguments: {} };
  // Era 2026 puts more beside the token than this client does by itself.
  const { messages } =
    era === "2025"
      ? await client.request("tools/call", { ...params, _meta: { progressToken: "mine" } })
      : await call2026(tenant.url, params.name, { progressToken: "mine" });
  const notifications = messages
    .filter(({ method }) => method === "notifications/progress")
    .map((one) => one["params"]);
  expect(notifications.length).toBeGreaterThan(1);
  for (const one of notifications) expect(one).toMatchObject({ progressToken: "mine" });
});

/** A call with members of `_meta` that a client does not write by itself. */
function callRequest(name: string, meta: Json = {}) {
  const _meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": ABOUT,
    "io.modelcontextprotocol/clientCapabilities": {},
    ...meta,
  };
  const params = { name, arguments: {}, _meta };
  const headers = {
    accept: "application/json, text/event-stream",
    "content-type": "application/json",
    "mcp-protocol-version": "2026-07-28",
    "mcp-method": "tools/call",
    "mcp-name": name,
  };
  return { method: "POST", headers, body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params }) };
}

function call2026(url: string, name: string, meta: Json) {
  const { headers, body } = callRequest(name, meta);
  return post(url, body, { headers, revision: "2026-07-28", method: "tools/call" });
}

describe("in era 2025", () => {
  test("a question of an upstream reaches the client, and its answer the upstream", async () => {
    const sdk = await SdkServer.start();
    const tenant = await gatewayTenant(origin, admin, { sdk: { url: sdk.url, era: "2025" } });
    const client = await connectV1(tenant.url, { elicitation: {} });
    const requests: unknown[] = [];
    client.setRequestHandler(ElicitRequestSchema, async ({ params }) => {
      requests.push(params.message);
      return { action: "accept", content: { sure: true } };
    });
    const { content } = await client.callTool({ name: "sdk__elicit", arguments: {} });
    expect(requests).toEqual(["Sure?"]);
    expect(content).toEqual([{ type: "text", text: '{"action":"accept","content":{"sure":true}}' }]);
  });

  test("an upstream that speaks HTTP+SSE alone is found and called", async () => {
    const url = await sseServer();
    const tenant = await gatewayTenant(origin, admin, { old: { url } });
    const client = await connectV1(tenant.url);
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(["old__hello"]);
    const { content } = await client.callTool({ name: "old__hello", arguments: {} });
    expect(content).toEqual([{ type: "text", text: "over HTTP+SSE" }]);
  });

  test("a session of an anonymous call ends with the call", async () => {
    const sdk = await SdkServer.start();
    const tenant = await gatewayTenant(origin, admin, { sdk: { url: sdk.url } });
    const client = await tenant.client();
    const before = sdk.deleted.length;
    await client.request("tools/call", { name: "sdk__poll", arguments: {} });
    await expect.poll(() => sdk.deleted.length).toBe(before + 1);
    expect(new Set(sdk.deleted)).toEqual(new Set(sdk.sessions.keys()));
  });

  test("a session of a key is used again, never by another key, and made anew when the upstream forgot it", async () => {
    const sdk = await SdkServer.start();
    const tenant = await gatewayTenant(origin, admin, { sdk: { url: sdk.url } }, { document: { mode: "open" } });
    const [ann, bob] = [await admin.key(tenant.id), await admin.key(tenant.id)];
    const call = async (token: string) => {
      const client = await mcpClient("2025-11-25", tenant.url, {}, bearer(token));
      return client.request("tools/call", { name: "sdk__poll", arguments: {} });
    };
    const before = sdk.sessions.size;
    await call(ann.token);
    await call(ann.token);
    expect(sdk.sessions.size).toBe(before + 1);
    await call(bob.token);
    expect(sdk.sessions.size).toBe(before + 2);
    sdk.forget();
    // 404 says that the call has not run: it goes once more in a new session, and its result says so.
    expect((await call(ann.token)).result).toMatchObject({ _meta: { "tenantry/session": "new" } });
    expect((await call(ann.token)).result).not.toHaveProperty("_meta");
    expect(sdk.sessions.size).toBe(1);
  });

  test("an error code of the upstream reaches a client of era 2025 unchanged", async () => {
    const tenant = await erring();
    const client = await tenant.client();
    for (const code of [-32050, -32001, 7]) {
      const { error } = await client.request("tools/call", { name: "up__fail", arguments: { code } });
      expect(error).toMatchObject({ code, message: "As asked", data: { detail: 1, server: "up" } });
      expect(error?.data?.["originalError"]).toMatchObject({ code, message: "As asked", data: { detail: 1 } });
    }
  });

  test("a result that breaks the schema of the protocol passes as it is", async () => {
    const content = [{ type: "resource", uri: "file:///path/to/file" }];
    const up = await plain({ loose: () => ({ content, extra: [1] }) });
    const tenant = await gatewayTenant(origin, admin, { up: { url: up.url } });
    const params = { name: "up__loose", arguments: {} };
    const { text } = await post(tenant.url, { jsonrpc: "2.0", id: 1, method: "tools/call", params });
    expect(JSON.parse(text)).toMatchObject({ result: { content, extra: [1] } });
  });
});

/** The official SDK with the transport of 2024-11-05 alone. */
async function sseServer(): Promise<string> {
  const transports = new Map<string, SSEServerTransport>();
  const server = createServer((request, response) => {
    void (async () => {
      const session = new URL(request.url ?? "/", "http://x").searchParams.get("sessionId") ?? "";
      if (request.method === "POST" && session === "") return void response.writeHead(405).end();
      if (request.method === "POST") return void transports.get(session)?.handlePostMessage(request, response);
      const transport = new SSEServerTransport("/sse", response);
      transports.set(transport.sessionId, transport);
      const mcp = new McpServer(ABOUT);
      mcp.registerTool("hello", {}, async () => ({ content: [{ type: "text", text: "over HTTP+SSE" }] }));
      await mcp.connect(transport);
    })();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/sse`;
}

async function erring(): Promise<GatewayTenant> {
  const up = await plain({
    fail: ({ arguments: given }) => ({
      error: { code: (given as { code: number }).code, message: "As asked", data: { detail: 1 } },
    }),
  });
  return gatewayTenant(origin, admin, { up: { url: up.url } });
}

describe("in era 2026", () => {
  test("input_required and its state pass byte for byte, until the answer is there", async () => {
    const tenant = await gatewayTenant(origin, admin, { conf: { url: CONFORMANCE, era: "2026" } });
    const client = await tenant.client("2026-07-28", { elicitation: {} });
    const name = "conf__test_input_required_result_request_state";
    const first = (await client.request("tools/call", { name, arguments: {} })).result;
    expect(first["resultType"]).toBe("input_required");
    const inputRequests = first["inputRequests"] as Record<string, Json>;
    const inputResponses = Object.fromEntries(
      Object.keys(inputRequests).map((key) => [key, { action: "accept", content: { ok: true } }]),
    );
    const { requestState } = first;
    const second = await client.request("tools/call", { name, arguments: {}, inputResponses, requestState });
    expect(second.result["resultType"]).toBe("complete");
    expect(second.result["isError"]).toBeUndefined();
  });

  test("an error of the upstream has a code that era 2026 has, and the client learns of the original", async () => {
    const tenant = await erring();
    const client = await tenant.client("2026-07-28");
    const kept = [-32100, 7];
    const replaced = [-32050, -32099, -32001, -32042, -32020, -32022];
    for (const code of [...kept, ...replaced]) {
      const { error } = await client.request("tools/call", { name: "up__fail", arguments: { code } });
      const seen = kept.includes(code) ? code : -32603;
      expect(error).toMatchObject({ code: seen, data: { server: "up", originalError: { code } } });
    }
  });
});

describe("one call", () => {
  test("is one call at the upstream, with its secrets and nothing of the client's", async () => {
    const up = await plain({ once: () => textResult("done") });
    const tenant = await gatewayTenant(
      origin,
      admin,
      { up: { url: up.url, headers: { Authorization: "Bearer {{secret:UP_TOKEN}}", "X-Plain": "yes" } } },
      { without: ["up"] },
    );
    const client = await tenant.client();
    const lacking = await client.request("tools/list");
    expect(JSON.stringify(lacking.result["_meta"])).toMatch(/not been read|no secret UP_TOKEN/);
    expect(up.requests).toEqual([]);
    await admin.ask("PUT", `/tenants/${tenant.id}/secrets/UP_TOKEN?wait=1`, { value: "s3cret-of-the-upstream" });
    await expect
      .poll(async () => namesIn((await client.request("tools/list")).result), { timeout: 20_000 })
      .toEqual(["up__once"]);
    const from = up.requests.length;
    const headers = { "x-client": "mine", cookie: "a=b" };
    await client.request("tools/call", { name: "up__once", arguments: { a: 1 } }, { headers });
    const calls = up.requests.slice(from).filter(({ message }) => message["method"] === "tools/call");
    expect(calls).toHaveLength(1);
    expect(calls[0]?.message["params"]).toMatchObject({ name: "once", arguments: { a: 1 } });
    expect(calls[0]?.body).not.toContain("progressToken");
    expect(calls[0]?.headers).toMatchObject({ authorization: "Bearer s3cret-of-the-upstream", "x-plain": "yes" });
    expect(calls[0]?.headers).not.toHaveProperty("x-client");
    expect(calls[0]?.headers).not.toHaveProperty("cookie");
  });

  test("with a name that is too long for clients is listed under a shorter one that says so, and goes by its own", async () => {
    const long = `do_${"very_".repeat(20)}much`;
    const up = await plain({ [long]: () => textResult("done") });
    const tenant = await gatewayTenant(origin, admin, { up: { url: up.url } });
    const client = await tenant.client();
    const [tool] = (await client.request("tools/list")).result["tools"] as { name: string; _meta: Json }[];
    expect(tool?.name).toMatch(/^[a-zA-Z0-9_-]{64}$/);
    expect(tool?._meta).toEqual({ "tenantry/name": long });
    await client.request("tools/call", { name: tool?.name, arguments: {} });
    expect(up.requests.at(-1)?.message["params"]).toMatchObject({ name: long });
  });
});

describe("a call that is given up", () => {
  /** A server of era 2025 whose tool never answers. */
  const silent = (exchange: Exchange) => {
    const hello = { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo: ABOUT };
    if (exchange.name === "initialize") exchange.result(hello);
    else if (exchange.name === "tools/list")
      exchange.result({ tools: [{ name: "go", inputSchema: { type: "object" } }] });
    else if (exchange.name.startsWith("notifications/")) exchange.refuse(202);
    else if (exchange.name === "tools/call") exchange.stream().raw(": working\n\n");
    else exchange.refuse(400);
  };

  test("by a client of era 2026 is given up at the upstream, which is told", async () => {
    const up = await ScriptedServer.start(silent);
    const tenant = await gatewayTenant(origin, admin, { up: { url: up.url, era: "2025" } });
    const abort = new AbortController();
    const calling = fetch(tenant.url, { ...callRequest("up__go"), signal: abort.signal });
    const call = await up.next("tools/call");
    // The stream has begun when its first keepalive is due, and only then is a closed connection seen.
    await (await calling).body?.getReader().read();
    abort.abort();
    await call.closed;
    const { message } = await up.next("notifications/cancelled");
    expect(message["params"]).toMatchObject({ requestId: call.message["id"] });
  });

  test("by a notification in a session of era 2025 is given up at the upstream", async () => {
    const up = await ScriptedServer.start(silent);
    const tenant = await gatewayTenant(origin, admin, { up: { url: up.url, era: "2025" } });
    const client = await tenant.client();
    const message = { jsonrpc: "2.0", id: 77, method: "tools/call", params: { name: "up__go", arguments: {} } };
    const headers = { "content-type": "application/json", ...client.headers };
    const calling = fetch(tenant.url, { method: "POST", headers, body: JSON.stringify(message) });
    const call = await up.next("tools/call");
    await client.notify("notifications/cancelled", { requestId: 77 });
    await call.closed;
    expect(await (await calling).text()).toContain("Request cancelled");
  });
});

describe("a right that is withdrawn while a session at the upstream begins", () => {
  test("is gone before the call is sent", async () => {
    const up = await ScriptedServer.start((exchange) => {
      const hello = { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo: ABOUT };
      if (exchange.name === "initialize" && up.exchanges.length < 2) exchange.result(hello);
      else if (exchange.name === "notifications/initialized") exchange.refuse(202);
      else if (exchange.name === "tools/list")
        exchange.result({ tools: [{ name: "go", inputSchema: { type: "object" } }] });
      else if (exchange.name === "tools/call") exchange.result(textResult("went"));
    });
    const upstreams = { up: { url: up.url, era: "2025" } };
    const tenant = await gatewayTenant(origin, admin, upstreams);
    const client = await tenant.client();
    await up.next("initialize");
    const calling = client.request("tools/call", { name: "up__go", arguments: {} });
    const opening = await up.next("initialize");
    await admin.apply(tenant.id, { upstreams, tools: { up__go: { enabled: false } } });
    opening.result({ protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo: ABOUT });
    expect((await calling).error).toMatchObject({ code: -32602 });
    expect(up.names).not.toContain("tools/call");
  });
});

test("log messages of an upstream reach a client of era 2026 from the level that it wants", async () => {
  const tenant = await gatewayTenant(origin, admin, { conf: { url: CONFORMANCE, era: "2026" } });
  const logs = async (level: string) => {
    const meta = { "io.modelcontextprotocol/logLevel": level };
    const { messages } = await call2026(tenant.url, "conf__test_tool_with_logging", meta);
    return messages.filter(({ method }) => method === "notifications/message");
  };
  expect((await logs("info")).length).toBeGreaterThan(0);
  expect(await logs("error")).toEqual([]);
});
