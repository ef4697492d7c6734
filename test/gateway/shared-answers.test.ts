// An upstream's answers that are public among its own callers are not public here: a view stands between.

import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { createKey } from "../../src/auth/api-key.ts";
import { toPrivateScope } from "../../src/gateway/guard/cache-scope.ts";
import { createWorker, gateway } from "../../src/tenantry.ts";
import { policyStore } from "../../src/tenants/object/policy-store.ts";
import { createRpcClient } from "../../src/tenants/object/store.ts";
import type { TenantDocument } from "../../src/tenants/document/tenant-document.ts";
import { servedTenant } from "../support/workerd/served-tenant.ts";
import { upstreamAt } from "../support/workerd/upstreams.ts";

type Json = Record<string, unknown>;

const worker = createWorker({ tenants: {}, features: [gateway()] });
const REVISION = "2026-07-28";
const META = {
  "io.modelcontextprotocol/protocolVersion": REVISION,
  "io.modelcontextprotocol/clientInfo": { name: "test", version: "1" },
  "io.modelcontextprotocol/clientCapabilities": {},
};
const STAMPS = { resultType: "complete", ttlMs: 60_000, cacheScope: "public" };
const RESULTS: Json = {
  "server/discover": { supportedVersions: [REVISION], capabilities: { tools: {}, prompts: {}, resources: {} } },
  "tools/list": { tools: [{ name: "go", inputSchema: { type: "object" } }] },
  "prompts/list": { prompts: [{ name: "say" }] },
  "resources/list": { resources: [{ uri: "up://a", name: "a" }] },
  "resources/templates/list": { resourceTemplates: [{ uriTemplate: "up://of/{what}", name: "of" }] },
  "resources/read": { contents: [{ uri: "up://a", text: '"cacheScope":"public"' }] },
};
const REQUESTS: readonly (readonly [where: "mcp" | "gateway", method: string, params: Json])[] = [
  ...Object.keys(RESULTS).map(
    (method) => ["gateway", method, method === "resources/read" ? { uri: "up://a" } : {}] as const,
  ),
  ["mcp", "resources/read", { uri: "up://a" }],
  ["mcp", "resources/read", { uri: "up://of/a" }],
];

async function serve(mode: "open" | "key") {
  const url = upstreamAt(async (request) => {
    const { id, method = "" } = await request.json<{ readonly id: number; readonly method?: string }>();
    return Response.json({ jsonrpc: "2.0", id, result: { ...STAMPS, ...(RESULTS[method] as Json) } });
  });
  const document: TenantDocument = {
    mode,
    maxStalenessMs: 50,
    upstreams: { up: { url, era: "2026" } },
    scopes: { some: { tools: ["*"], prompts: ["*"], resources: ["*"] } },
  };
  const { id, stub } = await servedTenant(document);
  const keyOf = async (scopes: readonly string[] | null) => {
    const { token, ...key } = await createKey();
    await createRpcClient(stub, policyStore).addKey(
      { ...key, name: "k", scopes, profile: null, expires: null },
      { name: "ann" },
    );
    return token;
  };
  const keys = { whole: await keyOf(null), scoped: await keyOf(["some"]) };
  const ask = async (token: string | undefined, where: "mcp" | "gateway", method: string, params: Json) => {
    const message = { jsonrpc: "2.0", id: 1, method, params: { ...params, _meta: META } };
    const headers = {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": REVISION,
      "mcp-method": method,
      ...(typeof params["uri"] === "string" && { "mcp-name": params["uri"] }),
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
    };
    const body = JSON.stringify(where === "gateway" ? { ...message, server_id: "up" } : message);
    const request = new Request(`https://mcp.example.com/${where}/${id}`, { method: "POST", headers, body });
    const text = await (await worker.fetch(request, env, createExecutionContext())).text();
    return JSON.parse(/^data: (.*)$/m.exec(text)?.[1] ?? text) as { readonly result?: Json };
  };
  await expect.poll(async () => JSON.stringify(await ask(keys.whole, "mcp", "tools/list", {}))).toContain("up__go");
  return { ask, keys };
}

describe("an answer that an upstream marks as public", () => {
  it.each([
    ["every key, where only keys are let in", "key", "whole", "private"],
    ["a key with scopes, where others see more", "open", "scoped", "private"],
    ["a key that sees what everybody sees", "open", "whole", "public"],
    ["everybody", "open", undefined, "public"],
  ] as const)("has the right cacheScope for %s, for every method", async (_whom, mode, key, cacheScope) => {
    const { ask, keys } = await serve(mode);
    for (const [where, method, params] of REQUESTS) {
      const { result } = await ask(key && keys[key], where, method, params);
      expect(result, `${where} ${method}`).toEqual({ ...STAMPS, ...(RESULTS[method] as Json), cacheScope });
    }
  });
});

describe("a text for one caller", () => {
  it.each([
    ['{"cacheScope":"public"}', '{"cacheScope":"private"}'],
    ['{ "cacheScope" : "public" , "a": [1.0] }', '{ "cacheScope" : "private" , "a": [1.0] }'],
    ['{"cache\\u0053cope":"publi\\u0063"}', '{"cache\\u0053cope":"private"}'],
    ['{"cacheScope":"public","cacheScope":"public"}', '{"cacheScope":"private","cacheScope":"private"}'],
    ['{"cacheScope":{"a":1},"b":"cacheScope"}', '{"cacheScope":"private","b":"cacheScope"}'],
    ['{"a":{"cacheScope":"public"},"b":"\\"cacheScope\\":\\"public\\""}', undefined],
    ['{"contents":[]}', undefined],
  ])("%s", (json, expected = json) => {
    expect(toPrivateScope(json)).toBe(expected);
  });

  it("is read in linear time, however often it says so", () => {
    const often = (scope: string) => `{${`"cacheScope":"${scope}",`.repeat(30_000)}"a":1}`;
    const began = performance.now();
    expect(toPrivateScope(often("public"))).toBe(often("private"));
    expect(performance.now() - began).toBeLessThan(5000);
  });
});
