import { env, exports } from "cloudflare:workers";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { createWorker, gateway, type Env } from "../../../src/tenantry.ts";
import { sendTo, servedTenant, sessionAt } from "../../support/workerd/served-tenant.ts";
import { upstreamAt } from "../../support/workerd/upstreams.ts";

const worker = createWorker({ tenants: {}, features: [gateway()] });
const JSON_ONLY = { accept: "application/json, text/event-stream" };
const TIMEOUT_MS = 20_000;
/** Far less than a call may take, and than an answer that never comes. */
const SOON_MS = 8_000;
const LATE = { timeout: 40_000 };

type Levelled = (answer: () => Response) => Response | Promise<Response>;

/** A tenant whose upstream of era 2025 answers `logging/setLevel` like this; `heard`: what it was asked in sessions. */
async function tenantWith(levelled: Levelled) {
  const requests: string[] = [];
  const url = upstreamAt(async (request) => {
    if (request.method !== "POST") return new Response(null, { status: request.method === "DELETE" ? 204 : 405 });
    const { id, method, params } = await request.json<{ id?: number; method: string; params?: { level?: string } }>();
    if (id === undefined) return new Response(null, { status: 202 });
    requests.push(`${method} ${params?.level ?? ""}`.trim());
    const results: Record<string, object> = {
      initialize: {
        protocolVersion: "2025-11-25",
        capabilities: { tools: {}, logging: {} },
        serverInfo: { name: "up", version: "1" },
      },
      "tools/list": { tools: [{ name: "go", inputSchema: { type: "object" } }] },
      "tools/call": { content: [{ type: "text", text: "gone" }] },
    };
    const headers = { "mcp-session-id": "s1" };
    const answer = () => Response.json({ jsonrpc: "2.0", id, result: results[method] ?? {} }, { headers });
    return method === "logging/setLevel" ? levelled(answer) : answer();
  });
  const { id } = await servedTenant({
    mode: "open",
    maxStalenessMs: 50,
    upstreams: { up: { url, timeoutMs: TIMEOUT_MS } },
  });
  const list = { jsonrpc: "2.0", id: 1, method: "tools/list", params: {} };
  await vi.waitFor(async () => expect(await (await sendTo(worker, id, { message: list })).text()).toContain("up__go"), {
    timeout: 10_000,
    interval: 50,
  });
  const session = { ...JSON_ONLY, ...(await sessionAt(worker, id)) };
  const level = { jsonrpc: "2.0", id: 2, method: "logging/setLevel", params: { level: "info" } };
  expect(await (await sendTo(worker, id, { message: level, headers: session })).text()).toContain('"result":{}');
  requests.length = 0;
  const call = async (at: Env = env) => {
    const message = { jsonrpc: "2.0", id: 3, method: "tools/call", params: { name: "up__go", arguments: {} } };
    const began = Date.now();
    const text = await (await sendTo(worker, id, { message, headers: session, at })).text();
    return { text, ms: Date.now() - began };
  };
  return { call, requests };
}

describe("the level of log messages", () => {
  it("is sent to an upstream before the call, if it answers", async () => {
    const { call, requests } = await tenantWith((answer) => answer());
    expect((await call()).text).toContain("gone");
    expect(requests).toEqual(["initialize", "logging/setLevel info", "tools/call"]);
  });

  it("does not wait for an upstream that never acknowledges it", LATE, async () => {
    const ends = Promise.withResolvers<Response>();
    onTestFinished(() => ends.resolve(new Response(null, { status: 202 })));
    const { call, requests } = await tenantWith(() => ends.promise);
    const { text, ms } = await call();
    expect(text).toContain("gone");
    expect(requests).toContain("logging/setLevel info");
    expect(ms).toBeLessThan(SOON_MS);
  });

  it.each<[string, Levelled]>([
    ["fails", () => new Response("no", { status: 500 })],
    ["speaks something else", () => new Response("<html>", { headers: { "content-type": "text/html" } })],
    ["refuses", () => Response.json({ jsonrpc: "2.0", id: 2, error: { code: -32601, message: "no" } })],
    [
      "breaks the connection",
      () => {
        throw new TypeError("Network connection lost.");
      },
    ],
  ])("fails no call where the upstream %s", async (_what, levelled) => {
    const { call, requests } = await tenantWith(levelled);
    expect((await call()).text).toContain("gone");
    expect(requests).toEqual(["initialize", "logging/setLevel info", "tools/call"]);
  });

  it("is not waited for where the session's own object does not say it", LATE, async () => {
    const { call, requests } = await tenantWith((answer) => answer());
    const getByName = (name: string) => {
      const stub = exports.SessionObject.getByName(name) as unknown as Record<string, (...given: unknown[]) => unknown>;
      const method = (property: string) => (given: unknown[]) =>
        property === "logLevel" ? new Promise(() => {}) : stub[property]?.(...given);
      return new Proxy(stub, {
        get:
          (_stub, property) =>
          (...given: unknown[]) =>
            method(String(property))(given),
      });
    };
    const { text, ms } = await call({ ...env, SessionObject: { getByName } as never });
    expect(text).toContain("gone");
    expect(requests).toEqual(["initialize", "tools/call"]);
    expect(ms).toBeLessThan(SOON_MS);
  });
});
