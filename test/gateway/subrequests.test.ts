// The requests that a refresh costs, as docs/gateway-calls.md says, for plans with few subrequests.

import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { gatewayStore } from "../../src/gateway/gateway-store.ts";
import { UpstreamRefreshes } from "../../src/gateway/refresh-entrypoint.ts";
import { configHashOf } from "../../src/gateway/upstream-config.ts";
import { policyStore } from "../../src/tenants/object/policy-store.ts";
import { createRpcClient } from "../../src/tenants/object/store.ts";
import { DEFAULT_PLACEMENT } from "../../src/tenants/directory/placement.ts";
import type { TenantDocument } from "../../src/tenants/document/tenant-document.ts";
import { createWorker, gateway } from "../../src/tenantry.ts";
import { sendTo, servedTenant } from "../support/workerd/served-tenant.ts";
import { upstreamAt } from "../support/workerd/upstreams.ts";

const LIST = { jsonrpc: "2.0", id: 1, method: "tools/list", params: {} };

/** An upstream with so many tools, one on a page, and no resources; `heard` is all that leaves, with what DNS is asked. */
function upstream(era: "2025" | "2026", tools = 3) {
  const requests: string[] = [];
  const answers = era === "2025" ? OF_2025 : OF_2026;
  const url = upstreamAt(async (request) => {
    if (request.method !== "POST") return new Response(null, { status: 204 });
    const { id, method, params } = await request.json<UpstreamRequest>();
    if (id === undefined) return new Response(null, { status: 202 });
    const result = method === "tools/list" ? pageOf(Number(params?.cursor ?? 0), tools) : answers[method];
    const answer = result
      ? { result: { resultType: "complete", ...result } }
      : { error: { code: -32601, message: "no" } };
    return Response.json({ jsonrpc: "2.0", id, ...answer }, method === "initialize" ? IN_SESSION : {});
  });
  const { fetch: answering } = globalThis;
  vi.stubGlobal("fetch", async (input: Request | string, init?: RequestInit) => {
    const request = new Request(input, init);
    requests.push(await nameOf(request.clone()));
    return answering(request);
  });
  onTestFinished(() => void vi.unstubAllGlobals());
  return { url, requests };
}

async function nameOf(request: Request): Promise<string> {
  if (new URL(request.url).host === "cloudflare-dns.com") return "DNS";
  return request.method === "POST" ? (await request.json<UpstreamRequest>()).method : request.method;
}

interface UpstreamRequest {
  readonly id?: number;
  readonly method: string;
  readonly params?: { readonly cursor?: string };
}

const IN_SESSION = { headers: { "mcp-session-id": "s1" } };
const capabilities = { tools: {}, resources: {} };
const NO_RESOURCES = { "resources/list": { resources: [] }, "resources/templates/list": { resourceTemplates: [] } };
const OF_2025: Readonly<Record<string, object>> = {
  ...NO_RESOURCES,
  initialize: { protocolVersion: "2025-11-25", capabilities, serverInfo: { name: "up", version: "1" } },
};
const OF_2026: Readonly<Record<string, object>> = {
  ...NO_RESOURCES,
  "server/discover": { supportedVersions: ["2026-07-28"], capabilities },
};

function pageOf(at: number, of: number): object {
  const tools = [{ name: `tool_${at}`, inputSchema: { type: "object" } }];
  return at + 1 < of ? { tools, nextCursor: String(at + 1) } : { tools };
}

async function readBy(worker: ReturnType<typeof createWorker>, url: string, era: string) {
  const { id } = await servedTenant({
    mode: "open",
    maxStalenessMs: 50,
    upstreams: { up: { url, era: era as "auto" } },
  });
  const listed = async () => (await sendTo(worker, id, { message: LIST })).text();
  await vi.waitFor(async () => expect(await listed()).toContain("up__tool_0"), { timeout: 10_000, interval: 50 });
  return { id, listed };
}

describe("reading an upstream", () => {
  const worker = createWorker({ tenants: {}, features: [gateway()] });
  const PAGES = ["tools/list", "tools/list", "tools/list", "resources/list", "resources/templates/list"];

  it.each([
    ["2025", "2025", ["initialize", "notifications/initialized", ...PAGES, "DELETE"]],
    ["2026", "2026", ["server/discover", ...PAGES]],
    ["auto", "2026", ["server/discover", ...PAGES]],
    ["auto", "2025", ["server/discover", "initialize", "notifications/initialized", ...PAGES, "DELETE"]],
  ] as const)(
    "of era %s that speaks %s costs the documented requests and one a page, and a list costs none",
    async (era, speaks, request) => {
      const { url, requests } = upstream(speaks);
      const { listed } = await readBy(worker, url, era);
      await expect.poll(() => requests.filter((one) => one !== "DNS")).toEqual(request);
      // The name is looked up once for both kinds of address.
      expect(requests.filter((one) => one === "DNS")).toHaveLength(2);
      requests.length = 0;
      await listed();
      expect(requests).toEqual([]);
    },
  );

  it("stops after the pages that gateway({ pages }) allows, and lists say why", async () => {
    const { url, requests } = upstream("2026", 10);
    const document: TenantDocument = { mode: "open", upstreams: { up: { url } } };
    const { id, stub } = await servedTenant(document);
    const created = (await createRpcClient(stub, policyStore).tenantUid(false)) ?? "";
    const configHash = configHashOf({ url });
    await createRpcClient(stub, gatewayStore).claimDue({ revision: 1, upstreams: [{ id: "up", configHash }] });
    const order = {
      tenant: id,
      placement: DEFAULT_PLACEMENT,
      uid: created,
      id: "up",
      configHash,
      upstream: { url },
      resolvedHeaders: { headers: {}, trace: {}, secrets: [] },
      clientInfo: { name: "test", version: "1" },
      prefixes: [],
    };
    createWorker({ features: [gateway({ pages: 4 })] });
    await new UpstreamRefreshes(createExecutionContext() as never, env).refresh(order);
    expect(requests.filter((one) => one !== "DNS")).toEqual([
      "server/discover",
      ...Array<string>(4).fill("tools/list"),
    ]);
    const text = await (await sendTo(worker, id, { message: LIST })).text();
    expect(text).toContain("up__tool_3");
    expect(text).toContain(
      "the server lists more than 4 pages, the limit in gateway({ pages }); only the first 4 are listed here",
    );
  });

  it("refuses a number of pages that is not a whole number from 1 on", () => {
    for (const pages of [0, -1, 1.5, Number.NaN]) expect(() => gateway({ pages })).toThrow("whole number from 1");
    expect(() => gateway({ pages: 1 })).not.toThrow();
  });
});
