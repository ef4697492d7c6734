// The gateway declares completions for all upstreams; an upstream without them is not asked.

import { describe, expect, it } from "vitest";
import { createWorker, gateway } from "../../src/tenantry.ts";
import { sendTo, servedTenant } from "../support/workerd/served-tenant.ts";
import { upstreamAt } from "../support/workerd/upstreams.ts";

const worker = createWorker({ tenants: {}, features: [gateway()] });

type Json = Record<string, unknown>;
const PROMPT = { name: "greet", arguments: [{ name: "who" }] };
const TEMPLATE = { name: "item", uriTemplate: "item://{id}" };

/** Of era 2025, without sessions: who asks it to complete is refused as by a server that has no such method. */
function upstream(protocolVersion: string, capabilities: Json, requests: string[]): string {
  const answers: Readonly<Record<string, Json>> = {
    initialize: { protocolVersion, capabilities, serverInfo: { name: "old", version: "1" } },
    "prompts/list": { prompts: [PROMPT] },
    "resources/list": { resources: [] },
    "resources/templates/list": { resourceTemplates: [TEMPLATE] },
  };
  return upstreamAt(async (request) => {
    if (request.method !== "POST") return new Response(null, { status: 405 });
    const { id, method } = (await request.json()) as { id?: unknown; method: string };
    requests.push(method);
    if (id === undefined) return new Response(null, { status: 202 });
    const result = answers[method];
    const error = { code: method === "completion/complete" ? -32603 : -32601, message: "Not implemented" };
    return Response.json({ jsonrpc: "2.0", id, ...(result === undefined ? { error } : { result }) });
  });
}

async function ask(tenant: string, method: string, params: Json = {}): Promise<Json> {
  const response = await sendTo(worker, tenant, { message: { jsonrpc: "2.0", id: 1, method, params } });
  return (await response.json()) as Json;
}

async function tenantOf(url: string): Promise<string> {
  const upstreams = { old: { url, era: "2025" } } as const;
  const { id } = await servedTenant({ mode: "open", maxStalenessMs: 50, upstreams });
  const listed = async () => ((await ask(id, "prompts/list"))["result"] as { prompts: Json[] }).prompts.length;
  await expect.poll(listed, { timeout: 10_000 }).toBe(1);
  return id;
}

const REFS = [
  { ref: { type: "ref/prompt", name: "old__greet" }, argument: { name: "who", value: "a" } },
  { ref: { type: "ref/resource", uri: "item://{id}" }, argument: { name: "id", value: "a" } },
];

describe("an upstream that completes nothing", () => {
  it.each(REFS)("gives no values, and is not asked ($ref.type)", async (asking) => {
    const requests: string[] = [];
    const id = await tenantOf(upstream("2025-11-25", { prompts: {}, resources: {} }, requests));
    expect(await ask(id, "completion/complete", asking)).toMatchObject({ result: { completion: { values: [] } } });
    expect(requests).not.toContain("completion/complete");
  });

  it.each([
    ["declares completions", "2025-11-25", { completions: {} }],
    ["is of a revision that has no word for them", "2024-11-05", {}],
  ])("is asked where it %s", async (_what, revision, more) => {
    const requests: string[] = [];
    const id = await tenantOf(upstream(revision, { prompts: {}, resources: {}, ...more }, requests));
    const [first] = REFS;
    expect(await ask(id, "completion/complete", first)).toHaveProperty("error.code", -32603);
    expect(requests).toContain("completion/complete");
  });
});
