// JSON over several lines, endless notifications, numbers beyond JSON, sessions that begin at the same moment.

import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it, vi } from "vitest";
import { createKey } from "../../src/auth/api-key.ts";
import { createWorker, gateway } from "../../src/tenantry.ts";
import { policyStore } from "../../src/tenants/object/policy-store.ts";
import { createRpcClient } from "../../src/tenants/object/store.ts";
import type { TenantDocument } from "../../src/tenants/document/tenant-document.ts";
import { sendTo, servedTenant } from "../support/workerd/served-tenant.ts";
import { rowsOf, type FreshTenant } from "../support/workerd/tenant.ts";
import { upstreamAt } from "../support/workerd/upstreams.ts";
import { aroundCalls } from "../support/workerd/object-calls.ts";

type Json = Record<string, unknown>;
interface UpstreamRequest {
  readonly id?: number;
  readonly method: string;
  readonly params?: Json;
  readonly request: Request;
}

const worker = createWorker({ tenants: {}, features: [gateway()] });
const JSON_TYPE = { "content-type": "application/json" };
const GO = { name: "go", inputSchema: { type: "object" } };

/** The result of a method as JSON, or the whole response. */
type Script = Readonly<Record<string, (request: UpstreamRequest) => string | Response | Promise<string | Response>>>;

function scripted(script: Script): string {
  return upstreamAt(async (request) => {
    if (request.method === "DELETE") {
      const ended = await script["DELETE"]?.({ method: "DELETE", request });
      return ended instanceof Response ? ended : new Response(null, { status: 204 });
    }
    if (request.method !== "POST") return new Response(null, { status: 405 });
    const asked = { ...(await request.json<UpstreamRequest>()), request };
    if (asked.id === undefined) return new Response(null, { status: 202 });
    const answered = await script[asked.method]?.(asked);
    if (answered instanceof Response) return answered;
    const found = answered === undefined ? '"error":{"code":-32601,"message":"?"}' : `"result":${answered}`;
    return new Response(`{"jsonrpc":"2.0","id":${asked.id},${found}}`, { headers: JSON_TYPE });
  });
}

const DISCOVERED = '{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{},"resources":{}}}';
const HELLO = JSON.stringify({
  protocolVersion: "2025-11-25",
  capabilities: { tools: {}, resources: {} },
  serverInfo: { name: "scripted", version: "1" },
});
const listsGo: Script = { "tools/list": () => JSON.stringify({ tools: [GO] }) };

async function serving(script: Script, document: TenantDocument = {}, era: "2025" | "2026" = "2026") {
  const url = scripted({ "server/discover": () => DISCOVERED, initialize: () => HELLO, ...listsGo, ...script });
  const tenant = await servedTenant({ mode: "open", maxStalenessMs: 50, ...document, upstreams: { up: { url, era } } });
  const { id } = tenant;
  await vi.waitFor(async () => expect(await listed(id)).toContain("up__go"), { timeout: 10_000, interval: 50 });
  return { ...tenant, id };
}

async function listed(id: string): Promise<string> {
  const message = { jsonrpc: "2.0", id: 1, method: "tools/list" };
  return (await sendTo(worker, id, { message })).text();
}

const call = (id: number, name = "up__go", params: Json = {}) => ({
  jsonrpc: "2.0",
  id,
  method: "tools/call",
  params: { name, arguments: {}, ...params },
});

/** The messages of a stream, as a client reads it that follows the standard. */
function messagesIn(text: string): Json[] {
  return text.split(/\r\n\r\n|\n\n|\r\r/).flatMap((event) => {
    const data = event.split(/\r\n|\n|\r/).filter((line) => line.startsWith("data:"));
    return data.length === 0 ? [] : [JSON.parse(data.map((line) => line.slice(5)).join("\n")) as Json];
  });
}

describe.each(["\n", "\r", "\r\n", "\n\n"])("JSON with the line break %j between its tokens", (line) => {
  it("reaches a client whole that reads a stream", async () => {
    const broken = `{${line}"content":${line}[],${line}"structuredContent": {"a":${line}1}${line}}`;
    const schema = `{${line}"type":${line}"object"${line}}`;
    const { id } = await serving(
      {
        "tools/call": () => broken,
        "tools/list": () => `{"tools":[{"name":"go","inputSchema":${schema}}]}`,
      },
      {},
      "2025",
    );
    const headers = { accept: "text/event-stream" };
    const called = await sendTo(worker, id, { message: call(7), headers });
    expect(messagesIn(await called.text())).toEqual([
      { jsonrpc: "2.0", id: 7, result: { content: [], structuredContent: { a: 1 } } },
    ]);
    const message = { jsonrpc: "2.0", id: 8, method: "tools/list" };
    const all = messagesIn(await (await sendTo(worker, id, { message, headers })).text());
    expect(all).toMatchObject([{ id: 8, result: { tools: [{ inputSchema: { type: "object" } }] } }]);
  });
});

describe("an upstream that sends endless list changes", () => {
  it("makes two calls to the tenant's object in a call: one at once, and one at its end", async () => {
    const notification = 'data: {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n\n';
    const served = await serving({
      "tools/call": ({ id }) => {
        const answer = `data: {"jsonrpc":"2.0","id":${id},"result":{"resultType":"complete","content":[]}}\n\n`;
        return new Response(notification.repeat(500) + answer, { headers: { "content-type": "text/event-stream" } });
      },
    });
    const soon = await countingCalls(served, "gateway.markStale");
    const ctx = createExecutionContext();
    const response = await worker.fetch(requestTo(served.id, call(1)), env, ctx);
    await response.text();
    await vi.waitFor(() => expect(soon.count).toBe(2), { timeout: 5000, interval: 20 });
    await scheduler.wait(200);
    expect(soon.count).toBe(2);
  });
});

describe("an upstream that answers after its tenant points elsewhere", () => {
  it("takes nothing from what is there now, nor from what is called otherwise now", async () => {
    const gate = { isReached: false, isOpen: false };
    const tools = (name: string) => JSON.stringify({ tools: [{ ...GO, name }] });
    const resources = () => JSON.stringify({ resources: [{ uri: "file:///one", name: "one" }] });
    const late = scripted({
      initialize: () => HELLO,
      "tools/list": async () => {
        gate.isReached = true;
        // Each request waits in its own invocation.
        while (!gate.isOpen) await scheduler.wait(20);
        return tools("late");
      },
      "resources/list": resources,
      "resources/templates/list": () => '{"resourceTemplates":[]}',
    });
    const there = scripted({
      initialize: () => HELLO,
      "tools/list": () => tools("here"),
      "resources/list": resources,
      "resources/templates/list": () => '{"resourceTemplates":[]}',
    });
    const open = { mode: "open", maxStalenessMs: 50 } as const;
    const tenant = await servedTenant({
      ...open,
      upstreams: { up: { url: late, era: "2025" }, old: { url: `${late}?old`, era: "2025" } },
    });
    await listed(tenant.id);
    await vi.waitFor(() => expect(gate.isReached).toBe(true), { timeout: 5000 });
    const document = { ...open, upstreams: { up: { url: there, era: "2025" } } } as const;
    const policy = createRpcClient(tenant.stub, policyStore);
    const ifRevision = (await policy.read(false))?.revision ?? 0;
    const write = { own: document, effective: document, deprecatedNames: [], ifRevision };
    await policy.write({ ...write, actor: { name: "ann" }, action: "apply" });
    const whole = async () => {
      const message = { jsonrpc: "2.0", id: 1, method: "resources/list" };
      return (await listed(tenant.id)) + (await (await sendTo(worker, tenant.id, { message })).text());
    };
    await vi.waitFor(async () => expect(await whole()).toMatch(/up__here.*file:/), { timeout: 10_000 });
    const before = await whole();
    gate.isOpen = true;
    for (let times = 0; times < 20; times += 1) {
      await scheduler.wait(50);
      expect(await whole()).toBe(before);
    }
    const owners = "SELECT DISTINCT upstream FROM upstream_uris";
    expect(await rowsOf(tenant, owners)).toEqual([{ upstream: "up" }]);
  });
});

describe("a failure of the tenant's object while an upstream is read", () => {
  it("reaches onError, and lists do not repeat it", async () => {
    const notifications: unknown[] = [];
    const ours = createWorker({
      tenants: {},
      features: [gateway()],
      hooks: { onError: (error) => notifications.push(error) },
    });
    const url = scripted({ initialize: () => HELLO, ...listsGo });
    const upstreams = { up: { url, era: "2025" } } as const;
    const tenant = await servedTenant({ mode: "open", maxStalenessMs: 50, upstreams });
    let isBroken = true;
    await aroundCalls(tenant.object, (method, goOn) => {
      if (method !== "gateway.claimUris" || !isBroken) return goOn();
      isBroken = false;
      throw new Error("disk 7 of the platform");
    });
    const message = { jsonrpc: "2.0", id: 1, method: "tools/list" };
    const list = async () => (await sendTo(ours, tenant.id, { message })).text();
    await vi.waitFor(async () => expect(await list()).toContain("an internal error occurred"), { timeout: 4000 });
    expect(await list()).not.toContain("disk");
    expect(notifications.map(String).join()).toContain("disk 7");
  });
});

/** How often this method of the tenant's authority was called. */
async function countingCalls({ object }: FreshTenant, method: string): Promise<{ count: number }> {
  const counted = { count: 0 };
  await aroundCalls(object, (called, goOn) => {
    if (called === method) counted.count += 1;
    return goOn();
  });
  return counted;
}

async function keyOf({ stub }: FreshTenant): Promise<{ readonly authorization: string }> {
  const { id, token, hash } = await createKey();
  const key = { id, hash, name: "k", scopes: null, profile: null, expires: null };
  await createRpcClient(stub, policyStore).addKey(key, { name: "ann" });
  return { authorization: `Bearer ${token}` };
}

/** A server of era 2025 with sessions: a call in one that was ended fails, and so does one that runs when it is ended. */
function sessions(working: () => Promise<void>) {
  const open = new Set<string>();
  const ended: string[] = [];
  let begun = 0;
  const script: Script = {
    initialize: async ({ id }) => {
      begun += 1;
      const session = `s${begun}`;
      open.add(session);
      const headers = { ...JSON_TYPE, "mcp-session-id": session };
      return new Response(`{"jsonrpc":"2.0","id":${id},"result":${HELLO}}`, { headers });
    },
    DELETE: ({ request }) => {
      const session = request.headers.get("mcp-session-id") ?? "";
      open.delete(session);
      ended.push(session);
      return new Response(null, { status: 204 });
    },
    "tools/call": async ({ request }) => {
      const session = request.headers.get("mcp-session-id") ?? "";
      await working();
      if (!open.has(session)) return new Response(null, { status: 404 });
      return '{"content":[]}';
    },
  };
  return { script, ended, begun: () => begun };
}

describe("the sessions of one key at an upstream", () => {
  it("are one session for calls at the same moment, and none of the calls ends it for another", async () => {
    const gate = Promise.withResolvers<void>();
    const { script, ended, begun } = sessions(() => gate.promise);
    const tenant = await serving(script, {}, "2025");
    const headers = await keyOf(tenant);
    const before = [begun(), ended.length] as const;
    const calls = [1, 2, 3].map(async (id) => {
      const response = await sendTo(worker, tenant.id, { message: call(id), headers });
      return (await response.json()) as Json;
    });
    await scheduler.wait(300);
    gate.resolve();
    expect(await Promise.all(calls)).toEqual([1, 2, 3].map((id) => ({ jsonrpc: "2.0", id, result: { content: [] } })));
    expect([begun() - before[0], ended.length - before[1]]).toEqual([1, 0]);
  });

  it("are not ended for being idle while a call runs in them", async () => {
    const gate = Promise.withResolvers<void>();
    let isFirst = true;
    const { script } = sessions(async () => {
      if (!isFirst) return;
      isFirst = false;
      await gate.promise;
    });
    const tenant = await serving(script, {}, "2025");
    // No stream: a clock that is set makes the first call one that is slow.
    const headers = { ...(await keyOf(tenant)), accept: "application/json" };
    const send = async (id: number) =>
      (await (await sendTo(worker, tenant.id, { message: call(id), headers })).json()) as Json;
    const long = send(1);
    await scheduler.wait(100);
    const now = Date.now();
    const clock = vi.spyOn(Date, "now").mockImplementation(() => now + 250_000);
    const second = send(2);
    const ended = second.finally(() => clock.mockRestore());
    expect(await ended).toMatchObject({ id: 2, result: { content: [] } });
    gate.resolve();
    expect(await long).toMatchObject({ id: 1, result: { content: [] } });
  });
});

function requestTo(id: string, message: object, headers: Readonly<Record<string, string>> = {}): Request {
  return new Request(`https://mcp.example.com/mcp/${id}`, {
    method: "POST",
    headers: { accept: "application/json, text/event-stream", ...JSON_TYPE, ...headers },
    body: JSON.stringify(message),
  });
}
