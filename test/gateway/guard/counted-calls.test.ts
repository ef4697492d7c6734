// Each message to an upstream counts once: every method, at both endpoints, in both eras, alone, in batches, at once,
// sent again, as a stream.

import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import * as fc from "fast-check";
import { beforeEach, describe, expect, it } from "vitest";
import { createWorker, gateway } from "../../../src/tenantry.ts";
import type { TenantDocument } from "../../../src/tenants/document/tenant-document.ts";
import { SEED } from "../../support/seed.ts";
import { servedTenant } from "../../support/workerd/served-tenant.ts";
import { freshAddress } from "../../support/workerd/tenant.ts";
import { upstreamAt } from "../../support/workerd/upstreams.ts";

type Json = Record<string, unknown>;
const ENDPOINTS = ["mcp", "gateway"] as const;
const ERAS = ["2025", "2026"] as const;

interface Way {
  readonly endpoint: (typeof ENDPOINTS)[number];
  readonly era: (typeof ERAS)[number];
}

/** By method: its params under the upstream's own name, which is `NAME`. Those in `FAR` are asked of the upstream. */
const METHODS: Readonly<Record<string, Json>> = {
  "tools/call": { name: "NAME", arguments: {} },
  "prompts/get": { name: "NAME" },
  "resources/read": { uri: "file:///a" },
  "completion/complete": { ref: { type: "ref/prompt", name: "NAME" }, argument: { name: "a", value: "" } },
  "tools/list": {},
  "prompts/list": {},
  "resources/list": {},
  "resources/templates/list": {},
  "no/such": {},
};
const FAR = new Set(["tools/call", "prompts/get", "resources/read", "completion/complete"]);
const WAYS: readonly Way[] = ENDPOINTS.flatMap((endpoint) => ERAS.map((era) => ({ endpoint, era })));
const METHOD_WAYS = WAYS.flatMap((way) => Object.keys(METHODS).map((method) => ({ ...way, method })));

const RESULTS: Readonly<Record<string, Json>> = {
  "server/discover": { supportedVersions: ["2026-07-28"], capabilities: { tools: {}, prompts: {}, resources: {} } },
  initialize: {
    protocolVersion: "2025-11-25",
    capabilities: { tools: {}, prompts: {}, resources: {}, completions: {} },
    serverInfo: { name: "counting", version: "1" },
  },
  "tools/list": { tools: [{ name: "go", inputSchema: { type: "object" }, annotations: { readOnlyHint: true } }] },
  "prompts/list": { prompts: [{ name: "go" }] },
  "resources/list": { resources: [{ uri: "file:///a", name: "a" }] },
  "resources/templates/list": { resourceTemplates: [] },
  "prompts/get": { messages: [] },
  "resources/read": { contents: [{ uri: "file:///a", text: "a" }] },
  "completion/complete": { completion: { values: [] } },
};
const WENT: Json = { content: [{ type: "text", text: "went" }] };

const worker = createWorker({ tenants: {}, features: [gateway()] });

/** What came to the upstream, and how it answers calls of its tool. */
let requests: string[] = [];
let calling: (id: unknown) => Response | Promise<Response>;
const answerOf = (id: unknown, result: Json) =>
  Response.json({ jsonrpc: "2.0", id, result: { resultType: "complete", ...result } });

beforeEach(() => {
  requests = [];
  calling = (id) => answerOf(id, WENT);
});

function countingUpstream(): string {
  return upstreamAt(async (request) => {
    if (request.method !== "POST") return new Response(null, { status: 405 });
    const { id, method } = await request.json<{ id?: unknown; method: string }>();
    if (id === undefined) return new Response(null, { status: 202 });
    requests.push(method);
    if (method === "tools/call") return calling(id);
    const result = RESULTS[method];
    return result ? answerOf(id, result) : Response.json({ jsonrpc: "2.0", id, error: { code: -32601, message: "?" } });
  });
}

const far = () => requests.filter((method) => FAR.has(method)).length;

interface Sender {
  readonly tenant: string;
  readonly address: string;
}

interface Answered {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

const META = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientInfo": { name: "test", version: "1" },
  "io.modelcontextprotocol/clientCapabilities": {},
};

function messageOf({ endpoint, era }: Way, method: string, id: number): Json {
  const name = endpoint === "mcp" ? "up__go" : "go";
  const own = JSON.parse(JSON.stringify(METHODS[method] ?? {}).replaceAll("NAME", name)) as Json;
  const params = era === "2026" ? { ...own, _meta: META } : own;
  return { ...(endpoint === "gateway" && { server_id: "up" }), jsonrpc: "2.0", id, method, params };
}

async function post({ tenant, address }: Sender, { endpoint, era }: Way, body: unknown): Promise<Answered> {
  const { method, params } = (Array.isArray(body) ? {} : body) as { method?: string; params?: Json };
  const name = params?.["name"] ?? params?.["uri"];
  const request = new Request(`https://mcp.example.com/${endpoint}/${tenant}`, {
    method: "POST",
    headers: {
      accept: "application/json, text/event-stream",
      "content-type": "application/json",
      "cf-connecting-ip": address,
      // Batches were in one revision alone.
      "mcp-protocol-version": era === "2026" ? "2026-07-28" : Array.isArray(body) ? "2025-03-26" : "2025-11-25",
      ...(era === "2026" && { "mcp-method": String(method) }),
      ...(era === "2026" && typeof name === "string" && { "mcp-name": name }),
    },
    body: JSON.stringify(body),
  });
  const response = await worker.fetch(request, env, createExecutionContext());
  return { status: response.status, headers: response.headers, text: await response.text() };
}

const send = (sender: Sender, way: Way, method: string, id = 1) => post(sender, way, messageOf(way, method, id));

async function serving(limits: TenantDocument["limits"], more: Json = {}): Promise<Sender> {
  const up = { url: countingUpstream(), era: "2025" as const, ...more };
  const document = { mode: "open", maxStalenessMs: 50, upstreams: { up }, limits } as TenantDocument;
  const { id: tenant } = await servedTenant(document);
  const list = async () =>
    (await send({ tenant, address: freshAddress() }, { endpoint: "mcp", era: "2025" }, "tools/list")).text;
  await expect.poll(list, { timeout: 10_000 }).toContain("up__go");
  requests = [];
  return { tenant, address: freshAddress() };
}

/** In the shape of the era of whoever asked. */
function expectRefusal({ status, headers, text }: Answered, era: Way["era"], limit: string, most: number): void {
  expect(status).toBe(429);
  expect(Number(headers.get("retry-after"))).toBeGreaterThan(0);
  expect(headers.get("ratelimit-policy")).toContain(`"${limit}";q=${most}`);
  const { error } = JSON.parse(text) as { error: Json };
  expect(error).toMatchObject({ code: era === "2025" ? -32005 : -32603, data: { limit, most } });
  expect((error["data"] as Json)["retryAfter"]).toBeGreaterThan(0);
}

describe.each(WAYS)("a message at /$endpoint in era $era", (way) => {
  it("counts once, whatever its method, and past the limit no method reaches the upstream", async () => {
    const methods = Object.keys(METHODS);
    const most = methods.length;
    const sender = await serving({ addressMessages: most });
    for (const method of methods) expect((await send(sender, way, method)).status, method).not.toBe(429);
    expect(far()).toBe(FAR.size);
    const before = requests.length;
    for (const method of methods) expectRefusal(await send(sender, way, method), way.era, "addressMessages", most);
    expect(requests).toHaveLength(before);
  });
});

describe("requests of all kinds, in any order", () => {
  it("are served until the message limit, whichever they are", { timeout: 60_000 }, async () => {
    const most = 6;
    const asked = fc.constantFrom(...METHOD_WAYS);
    const property = fc.asyncProperty(fc.array(asked, { minLength: most + 1, maxLength: 12 }), async (all) => {
      const sender = await serving({ addressMessages: most });
      const statuses: boolean[] = [];
      for (const { method, ...way } of all) statuses.push((await send(sender, way, method)).status !== 429);
      expect(statuses).toEqual(all.map((_one, at) => at < most));
      const calls = all.slice(0, most).filter(({ method }) => FAR.has(method)).length;
      expect(far()).toBe(calls);
    });
    await fc.assert(property, { ...SEED, numRuns: 12 });
  });

  it("count each call of a tool against the tool, the day and the key's day, however they are mixed", async () => {
    const most = 3;
    for (const limit of ["addressToolCalls", "dailyToolCalls", "principalDailyToolCalls"] as const) {
      const sender = await serving({ [limit]: most, exact: true });
      for (const { method, ...way } of METHOD_WAYS) {
        if (method !== "tools/call") expect((await send(sender, way, method)).status).not.toBe(429);
      }
      requests = [];
      const answers: Answered[] = [];
      for (const way of WAYS) answers.push(await send(sender, way, "tools/call"));
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 429]);
      expectRefusal(answers.at(-1) as Answered, WAYS.at(-1)?.era ?? "2025", limit, most);
      expect(far()).toBe(most);
    }
  });
});

describe.each(WAYS)("a call at /$endpoint in era $era", (way) => {
  it("counts once, though it is sent to the upstream three times", async () => {
    const sender = await serving({ addressToolCalls: 2 }, { retry: 2 });
    let failed = 0;
    calling = (id) => (failed++ % 3 < 2 ? new Response(null, { status: 503 }) : answerOf(id, WENT));
    for (let id = 0; id < 2; id += 1) expect((await send(sender, way, "tools/call", id)).text).toContain("went");
    expect(far()).toBe(6);
    expectRefusal(await send(sender, way, "tools/call"), way.era, "addressToolCalls", 2);
    expect(far()).toBe(6);
  });

  it("counts as running while it waits for the upstream, and makes room when it ends", async () => {
    const most = 3;
    const sender = await serving({ concurrentCalls: most });
    const gate = { isOpen: false };
    calling = async (id) => {
      // Each request waits in its own invocation.
      while (!gate.isOpen) await scheduler.wait(20);
      return answerOf(id, WENT);
    };
    const calls = Array.from({ length: 8 }, async (_none, id) => send(sender, way, "tools/call", id));
    const over = new Set<Answered>();
    for (const call of calls) void call.then((answered) => over.add(answered));
    await expect.poll(() => over.size + far(), { timeout: 10_000 }).toBe(8);
    for (const answered of over) expectRefusal(answered, way.era, "concurrentCalls", most);
    expect(far()).toBe(most);
    gate.isOpen = true;
    const all = await Promise.all(calls);
    expect(all.filter(({ text }) => text.includes("went"))).toHaveLength(most);
    expect((await send(sender, way, "tools/call")).text).toContain("went");
  });

  it.each([
    ["whole", (id: unknown) => answerOf(id, { content: [{ type: "text", text: "x".repeat(5000) }] })],
    ["as a stream", (id: unknown) => streamed(id)],
  ])("is an error where the result is too long, %s", async (_what, answer) => {
    const sender = await serving({ resultBytes: 2000 });
    calling = answer;
    const { text } = await send(sender, way, "tools/call");
    expect(text).not.toContain("xxx");
    expect(text).toContain('"limit":"resultBytes"');
    expect(far()).toBe(1);
  });
});

/** With something to say before the result. */
function streamed(id: unknown): Response {
  const log = { jsonrpc: "2.0", method: "notifications/message", params: { level: "info", data: "soon" } };
  const result = { resultType: "complete", content: [{ type: "text", text: "x".repeat(5000) }] };
  const events = [log, { jsonrpc: "2.0", id, result }].map((message) => `data: ${JSON.stringify(message)}\n\n`);
  return new Response(events.join(""), { headers: { "content-type": "text/event-stream" } });
}

describe("a batch of calls of an upstream", () => {
  it("is as many messages as it has, and those past the limit have an error each and go nowhere", async () => {
    const sender = await serving({ addressToolCalls: 3 });
    const way: Way = { endpoint: "mcp", era: "2025" };
    const batch = Array.from({ length: 5 }, (_none, id) => messageOf(way, "tools/call", id));
    const { status, text } = await post(sender, way, batch);
    expect(status).toBe(200);
    const answers = JSON.parse(text) as { id: number; error?: Json }[];
    expect(answers.map(({ error }) => error?.["code"])).toEqual([undefined, undefined, undefined, -32005, -32005]);
    expect(far()).toBe(3);
    const again = await post(sender, way, batch);
    expect(again.status).toBe(429);
    expect(Number(again.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(far()).toBe(3);
  });

  it("is refused at /gateway: it counts, and nothing of it is sent", async () => {
    const sender = await serving({ addressMessages: 2 });
    for (const era of ERAS) {
      const way: Way = { endpoint: "gateway", era };
      const batch = Array.from({ length: 5 }, (_none, id) => messageOf(way, "tools/call", id));
      expect((await post(sender, way, batch)).text).toContain('"code":-32600');
    }
    expect((await send(sender, { endpoint: "gateway", era: "2025" }, "tools/call")).status).toBe(429);
    expect(far()).toBe(0);
  });
});
