// A principal has at most 20 stored results of upstreams, over all endpoints and eras.

import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { createKey } from "../../../src/auth/api-key.ts";
import { createWorker, defineTool, gateway } from "../../../src/tenantry.ts";
import { policyStore } from "../../../src/tenants/object/policy-store.ts";
import { createRpcClient } from "../../../src/tenants/object/store.ts";
import { servedTenant } from "../../support/workerd/served-tenant.ts";
import { rowsOf } from "../../support/workerd/tenant.ts";
import { workerAt } from "../../support/workerd/upstreams.ts";

type Json = Record<string, unknown>;
const MOST = 20;
const BYTES = 1500;

const LONG = "a".repeat(4 * BYTES);
const long = defineTool({ name: "long", handler: () => [{ type: "text", text: LONG }] });
const upstream = createWorker({ tenants: { acme: { maxStalenessMs: 60_000 } }, tools: [long] });
const worker = createWorker({ tenants: {}, features: [gateway()] });
const META = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientInfo": { name: "test", version: "1" },
  "io.modelcontextprotocol/clientCapabilities": {},
};

interface UpstreamRequest {
  readonly endpoint: "mcp" | "gateway";
  readonly era: "2025" | "2026";
  readonly method: string;
  readonly params: Json;
}

async function ask(path: string, token: string, { endpoint, era, method, params }: UpstreamRequest): Promise<string> {
  const name = params["name"] ?? params["uri"];
  const own = era === "2026" ? { ...params, _meta: META } : params;
  const server = endpoint === "gateway" ? { server_id: "up" } : {};
  const request = new Request(`https://mcp.example.com/${endpoint}/${path}`, {
    method: "POST",
    headers: {
      accept: "application/json",
      "content-type": "application/json",
      authorization: `Bearer ${token}`,
      "mcp-protocol-version": era === "2026" ? "2026-07-28" : "2025-11-25",
      ...(era === "2026" && { "mcp-method": method }),
      ...(era === "2026" && typeof name === "string" && { "mcp-name": name }),
    },
    body: JSON.stringify({ ...server, jsonrpc: "2.0", id: 1, method, params: own }),
  });
  return (await worker.fetch(request, env, createExecutionContext())).text();
}

it("long results are stored up to the limit, whichever endpoint they came by", async () => {
  const upstreams = { up: { url: workerAt(upstream) } };
  const profiles = { brief: { resultBudget: { bytes: BYTES } } };
  const tenant = await servedTenant({ mode: "open", maxStalenessMs: 50, upstreams, profiles });
  const { id, token, hash } = await createKey();
  const key = { id, hash, name: "k", scopes: null, profile: null, expires: null };
  await createRpcClient(tenant.stub, policyStore).addKey(key, { name: "ann" });
  const path = `${tenant.id}/brief`;
  const listing: UpstreamRequest = { endpoint: "mcp", era: "2025", method: "tools/list", params: {} };
  await expect.poll(() => ask(path, token, listing), { timeout: 10_000 }).toContain("up__long");

  const links: string[] = [];
  for (let at = 0; at < MOST + 4; at += 1) {
    const endpoint = at % 2 === 0 ? "mcp" : "gateway";
    const params = { name: endpoint === "mcp" ? "up__long" : "long", arguments: {} };
    const text = await ask(path, token, { endpoint, era: at % 4 < 2 ? "2025" : "2026", method: "tools/call", params });
    links.push(/tenantry:\/\/results\/[\w-]+/.exec(text)?.[0] ?? text);
  }
  expect(new Set(links).size).toBe(MOST + 4);
  const read = async (uri: string) =>
    ask(path, token, { endpoint: "mcp", era: "2025", method: "resources/read", params: { uri } });
  // A refusal names the link, whose id may have some of the letter.
  const isKept: boolean[] = [];
  for (const link of links) isKept.push((await read(link)).includes(LONG));
  expect(isKept).toEqual(links.map((_link, at) => at >= 4));
  const [kept] = await rowsOf(tenant, "SELECT count(*) AS kept FROM results");
  expect(kept).toEqual({ kept: MOST });
});
