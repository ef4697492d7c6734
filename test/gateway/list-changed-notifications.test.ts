import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { createWorker, defineTool, gateway } from "../../src/tenantry.ts";
import { readerOf, sendTo, servedTenant, sessionAt } from "../support/workerd/served-tenant.ts";
import { upstreamAt } from "../support/workerd/upstreams.ts";

const worker = createWorker({ tenants: {}, features: [gateway()] });
const upstream = createWorker({ tenants: { acme: {} }, tools: [defineTool({ name: "add", handler: () => "added" })] });

const META = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientInfo": { name: "test", version: "1" },
  "io.modelcontextprotocol/clientCapabilities": {},
};

const CHANGED = "notifications/tools/list_changed";

/** Its upstream answers nothing before `answers`. */
async function tenantWithUpstream() {
  const { promise, resolve: answers } = Promise.withResolvers<void>();
  const url = upstreamAt(async (request) => {
    await promise;
    return upstream.fetch(request, env, createExecutionContext());
  });
  const { id } = await servedTenant({ mode: "open", maxStalenessMs: 50, upstreams: { sums: { url } } });
  return { id, answers };
}

/** What a stream says until it tells of other tools. */
async function toldOn(stream: Response): Promise<string> {
  const reader = readerOf(stream);
  const text = await reader.until(CHANGED);
  await reader.cancel();
  return text;
}

describe("a client that listens while an upstream is read", () => {
  it("hears in era 2026 that there are other tools now", async () => {
    const { id, answers } = await tenantWithUpstream();
    const params = { notifications: { toolsListChanged: true }, _meta: META };
    const stream = await sendTo(worker, id, {
      message: { jsonrpc: "2.0", id: 1, method: "subscriptions/listen", params },
      headers: { "mcp-protocol-version": "2026-07-28", "mcp-method": "subscriptions/listen" },
    });
    answers();
    expect(await toldOn(stream)).toContain(CHANGED);
  });

  it("hears it in era 2025 as well", async () => {
    const { id, answers } = await tenantWithUpstream();
    const stream = await sendTo(worker, id, { method: "GET", headers: await sessionAt(worker, id) });
    answers();
    expect(await toldOn(stream)).toContain(CHANGED);
  });
});
