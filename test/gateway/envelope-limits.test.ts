// /gateway counts messages and calls as /mcp does.

import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { createWorker, defineTool, gateway } from "../../src/tenantry.ts";
import type { TenantDocument } from "../../src/tenants/document/tenant-document.ts";
import { servedTenant } from "../support/workerd/served-tenant.ts";
import { freshAddress } from "../support/workerd/tenant.ts";
import { workerAt } from "../support/workerd/upstreams.ts";

type Json = Record<string, unknown>;
type Endpoint = "mcp" | "gateway";

const go = defineTool({ name: "go", handler: () => "gone" });
const upstream = createWorker({ tenants: { acme: { maxStalenessMs: 60_000 } }, tools: [go] });
const worker = createWorker({ tenants: {}, features: [gateway()] });

const ADDRESS = freshAddress();

async function send(endpoint: Endpoint, path: string, body: string | undefined, method = "POST") {
  const request = new Request(`https://mcp.example.com/${endpoint}/${path}`, {
    method,
    headers: {
      accept: method === "POST" ? "application/json" : "text/event-stream",
      "content-type": "application/json",
      "cf-connecting-ip": ADDRESS,
    },
    ...(body === undefined ? {} : { body }),
  });
  const response = await worker.fetch(request, env, createExecutionContext());
  const text = await response.text();
  return { status: response.status, policy: response.headers.get("ratelimit-policy"), text };
}

async function serving(document: TenantDocument): Promise<string> {
  const { id } = await servedTenant({
    mode: "open",
    maxStalenessMs: 50,
    upstreams: { up: { url: workerAt(upstream), era: "2025" } },
    ...document,
  });
  const list = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" });
  await expect.poll(async () => (await send("mcp", id, list)).text, { timeout: 10_000 }).toContain("up__go");
  return id;
}

const message = (name: string, more: Json = {}) =>
  JSON.stringify({ ...more, jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: {} } });

describe.each([
  ["addressToolCalls", 4],
  ["dailyToolCalls", 4],
  ["principalDailyToolCalls", 4],
] as const)("%s", (limit, most) => {
  it("holds for both endpoints together, though a profile calls the tool by another name", async () => {
    const profiles = { p: { tools: { rename: { up__go: { name: "went" } } } } };
    const path = `${await serving({ profiles, limits: { [limit]: most, exact: true } })}/p`;
    const sendEnvelope = () => send("gateway", path, message("go", { server_id: "up" }));
    const own = () => send("mcp", path, message("went"));
    for (let times = 0; times < most; times += 1) {
      expect((await (times % 2 === 0 ? sendEnvelope() : own())).text).toContain("gone");
    }
    for (const over of [await sendEnvelope(), await own()]) {
      expect([over.status, over.policy]).toEqual([429, expect.stringContaining(limit)]);
    }
  });
});

describe("addressMessages", () => {
  it.each([
    ["a message that names no upstream", message("go")],
    ["a message that is none", '{"server_id":"up"}'],
    ["what is no object", "[]"],
    ["what is no JSON", "{"],
    ["a request of another method of HTTP", undefined],
  ])("counts %s", async (_what, body) => {
    const most = 20;
    const id = await serving({ limits: { addressMessages: most } });
    const statuses: number[] = [];
    for (let times = 0; times < most + 1; times += 1) {
      statuses.push((await send("gateway", id, body, body === undefined ? "GET" : "POST")).status);
    }
    expect(statuses.at(-1)).toBe(429);
  });
});
