import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { createWorker, defineResource, defineTool, gateway } from "../../src/tenantry.ts";
import { policyStore } from "../../src/tenants/object/policy-store.ts";
import { sectionsIn } from "../../src/tenants/object/section-hash-store.ts";
import { createRpcClient } from "../../src/tenants/object/store.ts";
import type { TenantDocument } from "../../src/tenants/document/tenant-document.ts";
import { sendTo, servedTenant } from "../support/workerd/served-tenant.ts";
import { inside, type FreshTenant } from "../support/workerd/tenant.ts";
import { restoreFixtureWorker } from "../support/workerd/fixture-registry.ts";
import { upstreamAt, workerAt } from "../support/workerd/upstreams.ts";

const worker = createWorker({ tenants: {}, features: [gateway()] });

/** Speaks both eras; a tenant of its own for each test, in the same objects. */
function upstreamWorker(name: string) {
  const add = defineTool({
    name: "add",
    description: `Adds, at ${name}.`,
    input: { type: "object", properties: { a: { type: "number" }, b: { type: "number" } }, required: ["a", "b"] },
    handler: ({ a, b }) => `${a + b} from ${name}`,
  });
  const made = createWorker({ tenants: { acme: { maxStalenessMs: 60_000 } }, tools: [add] });
  // `createWorker` made this one the Worker that objects call; refreshes have to run in the fixture's.
  restoreFixtureWorker();
  return made;
}

type Json = Record<string, unknown>;
interface Answer {
  readonly result?: Json & { readonly tools?: readonly { readonly name: string }[]; readonly _meta?: Json };
  readonly error?: { readonly code: number; readonly message: string; readonly data?: Json };
}

const META = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientInfo": { name: "test", version: "1" },
  "io.modelcontextprotocol/clientCapabilities": {},
};

async function ask(id: string, era: "2025" | "2026", method: string, params: Json = {}): Promise<Answer> {
  return JSON.parse(await textOf(id, era, method, params)) as Answer;
}

/** The answer as it was written. */
async function textOf(id: string, era: "2025" | "2026", method: string, params: Json = {}): Promise<string> {
  const is2026 = era === "2026";
  const message = { jsonrpc: "2.0", id: 1, method, params: is2026 ? { ...params, _meta: META } : params };
  const headers: Record<string, string> = is2026
    ? {
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": method,
        ...(typeof params["name"] === "string" && { "mcp-name": params["name"] }),
      }
    : {};
  const response = await sendTo(worker, id, { message, headers });
  const text = await response.text();
  const isStream = response.headers.get("content-type")?.startsWith("text/event-stream");
  return isStream ? (/^data: (.*)$/m.exec(text)?.[1] ?? "{}") : text;
}

type Upstreams = NonNullable<TenantDocument["upstreams"]>;

const documentWith = (upstreams: Upstreams): TenantDocument => ({ mode: "open", maxStalenessMs: 50, upstreams });

async function tenantWith(upstreams: Upstreams): Promise<string> {
  const { id } = await servedTenant(documentWith(upstreams));
  return id;
}

/** As an operator's write does. */
async function rewrite({ stub }: FreshTenant, upstreams: Upstreams): Promise<void> {
  const policy = createRpcClient(stub, policyStore);
  const ifRevision = (await policy.read(false))?.revision ?? 0;
  const document = documentWith(upstreams);
  await policy.write({
    own: document,
    effective: document,
    deprecatedNames: [],
    ifRevision,
    actor: { name: "ann" },
    action: "apply",
  });
}

const sectionNames = (tenant: FreshTenant) =>
  inside(tenant, ({ storage }) => sectionsIn(storage.sql).map(([name]) => name));

async function toolsOf(id: string, era: "2025" | "2026" = "2025") {
  const { result } = await ask(id, era, "tools/list");
  return { names: result?.tools?.map(({ name }) => name) ?? [], missing: result?._meta?.["tenantry/missing"] };
}

describe.each(["2025", "2026"] as const)("an upstream of era %s", (era) => {
  it("is read at a tenant's first request, and its tools are there soon", async () => {
    const arrival = Promise.withResolvers<void>();
    const one = upstreamWorker("one");
    const url = upstreamAt(async (request) => {
      await arrival.promise;
      return one.fetch(request, env, createExecutionContext());
    });
    const id = await tenantWith({ sums: { url, era } });
    expect(await toolsOf(id, era)).toEqual({
      names: [],
      missing: [{ source: "sums", why: "the upstream has not been read yet" }],
    });
    arrival.resolve();
    await expect
      .poll(() => toolsOf(id, era), { timeout: 10_000 })
      .toEqual({ names: ["sums__add"], missing: undefined });
  });

  it.each(["2025", "2026"] as const)("answers a call of a client of era %s", async (client) => {
    const id = await tenantWith({ sums: { url: workerAt(upstreamWorker("two")), era } });
    await expect.poll(async () => (await toolsOf(id)).names, { timeout: 10_000 }).toEqual(["sums__add"]);
    const answer = await ask(id, client, "tools/call", { name: "sums__add", arguments: { a: 1, b: 2 } });
    expect(answer.result?.["content"]).toEqual([{ type: "text", text: "3 from two" }]);
  });
});

describe("calls to an upstream of era 2026", () => {
  it("have ids of their own, as the answer to a question must", async () => {
    const requests: string[] = [];
    const id = await tenantWith({ sums: { url: workerAt(upstreamWorker("ids"), requests), era: "2026" } });
    await expect.poll(async () => (await toolsOf(id)).names, { timeout: 10_000 }).toEqual(["sums__add"]);
    for (let call = 0; call < 3; call += 1)
      await ask(id, "2026", "tools/call", { name: "sums__add", arguments: { a: 1, b: 2 } });
    const sent = requests.map((body) => JSON.parse(body) as { id: unknown; method: string });
    const ids = sent.filter(({ method }) => method === "tools/call").map((message) => message.id);
    expect(new Set(ids).size).toBe(3);
  });
});

describe("an upstream that refuses every connection", () => {
  it("leaves the others whole, and is named with its reason", async () => {
    const id = await tenantWith({
      dead: { url: "https://nobody.example.com/mcp" },
      sums: { url: workerAt(upstreamWorker("three")) },
    });
    await expect
      .poll(() => toolsOf(id), { timeout: 10_000 })
      .toEqual({
        names: ["sums__add"],
        missing: [{ source: "dead", why: expect.stringMatching(/lost|reached/) as string }],
      });
  });
});

describe("an upstream that goes away", () => {
  it("keeps what it listed last, and a call says that it cannot be reached", async () => {
    const working = upstreamWorker("four");
    let isAway = false;
    const url = upstreamAt((request) => {
      if (isAway) throw new TypeError("Network connection lost.");
      return working.fetch(request, env, createExecutionContext());
    });
    const id = await tenantWith({ sums: { url } });
    await expect.poll(async () => (await toolsOf(id)).names, { timeout: 10_000 }).toEqual(["sums__add"]);
    isAway = true;
    const { error } = await ask(id, "2025", "tools/call", { name: "sums__add", arguments: { a: 1, b: 2 } });
    expect(error).toEqual({
      code: -32000,
      message: "Failed to connect to server",
      data: { server: "sums", fault: "lost" },
    });
    expect((await toolsOf(id)).names).toEqual(["sums__add"]);
  });
});

describe("an upstream that an operator", () => {
  it("points elsewhere offers nothing of what was there before", async () => {
    const tenant = await servedTenant(documentWith({ sums: { url: workerAt(upstreamWorker("five")) } }));
    await expect.poll(async () => (await toolsOf(tenant.id)).names, { timeout: 10_000 }).toEqual(["sums__add"]);
    let requestCount = 0;
    const silent = upstreamAt(() => {
      requestCount += 1;
      return new Promise<Response>(() => {});
    });
    await rewrite(tenant, { sums: { url: silent, timeoutMs: 1000 } });
    const before = { names: [], missing: [{ source: "sums", why: "the upstream has not been read yet" }] };
    await expect.poll(() => toolsOf(tenant.id), { timeout: 10_000 }).toEqual(before);
    await expect.poll(() => requestCount).toBeGreaterThan(0);
  });

  it.each<[string, (url: string) => Upstreams]>([
    ["switches off", (url) => ({ sums: { url, enabled: false } })],
    ["takes away", () => ({})],
  ])("%s is gone at once, and so is what was read of it", async (_what, after) => {
    const url = workerAt(upstreamWorker("six"));
    const tenant = await servedTenant(documentWith({ sums: { url } }));
    await expect.poll(async () => (await toolsOf(tenant.id)).names, { timeout: 10_000 }).toEqual(["sums__add"]);
    await rewrite(tenant, after(url));
    await expect.poll(() => toolsOf(tenant.id)).toEqual({ names: [], missing: undefined });
    const { error } = await ask(tenant.id, "2025", "tools/call", { name: "sums__add", arguments: { a: 1, b: 2 } });
    expect(error?.code).toBe(-32602);
    await expect.poll(() => sectionNames(tenant), { timeout: 10_000 }).toEqual([]);
  });
});

/** Lists one resource, and one tool that says that the list has changed. */
function listing(uri: string, more: readonly string[] = []) {
  const resources = [uri, ...more].map((one) => defineResource({ uri: one, name: "r", read: () => `from ${uri}` }));
  return createWorker({ tenants: { acme: { maxStalenessMs: 60_000 } }, resources });
}

describe("a URI that two upstreams list", () => {
  it("is the first one's, and the other says so and keeps the rest", async () => {
    const both = "file:///Both%20of%20them";
    const first = workerAt(listing(both));
    const second = workerAt(listing("file:///mine", [both]));
    const tenant = await servedTenant(documentWith({ zeta: { url: first } }));
    const uris = async () => {
      const { result } = await ask(tenant.id, "2025", "resources/list");
      const listed = (result?.["resources"] ?? []) as { readonly uri: string }[];
      return { uris: listed.map(({ uri }) => uri), missing: result?._meta?.["tenantry/missing"] };
    };
    await expect.poll(async () => (await uris()).uris, { timeout: 10_000 }).toEqual([both]);
    await rewrite(tenant, { alpha: { url: second }, zeta: { url: first } });
    const why = `1 definition is left out: ${both}: zeta listed this URI first`;
    await expect
      .poll(uris, { timeout: 10_000 })
      .toEqual({ uris: ["file:///mine", both], missing: [{ source: "alpha", why }] });
    const { result } = await ask(tenant.id, "2025", "resources/read", { uri: both });
    expect(JSON.stringify(result)).toContain(`from ${both}`);
  });
});

describe("definitions of an upstream", () => {
  it("are listed byte for byte, under the name of ours", async () => {
    const schema = '{"type":"object","properties":{"10":{"maximum":1.50},"9":{"const":12345678901234567890}}}';
    const url = upstreamAt(async (request) => {
      const { id, method } = await request.json<{ id: number; method: string }>();
      const results: Record<string, string> = {
        "server/discover": '{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}',
        "tools/list": `{"tools":[{"inputSchema":${schema},"name":"odd","description":"\\u00e9"}]}`,
      };
      return new Response(`{"jsonrpc":"2.0","id":${id},"result":${results[method] ?? "{}"}}`, {
        headers: { "content-type": "application/json" },
      });
    });
    const id = await tenantWith({ up: { url } });
    await expect.poll(async () => (await toolsOf(id)).names, { timeout: 10_000 }).toEqual(["up__odd"]);
    for (const era of ["2025", "2026"] as const) {
      expect(await textOf(id, era, "tools/list"), era).toContain(`"inputSchema":${schema}`);
    }
  });

  it("are read again soon when the upstream says during a call that they have changed", async () => {
    let isLater = false;
    const url = upstreamAt(async (request) => {
      const { id, method } = await request.json<{ id: number; method: string }>();
      const answered = (result: object) => `{"jsonrpc":"2.0","id":${id},"result":${JSON.stringify(result)}}`;
      if (method === "tools/call") {
        isLater = true;
        const notification = '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}';
        const body = `data: ${notification}\n\ndata: ${answered({ content: [] })}\n\n`;
        return new Response(body, { headers: { "content-type": "text/event-stream" } });
      }
      const tool = (name: string) => ({ name, inputSchema: { type: "object" } });
      const tools = isLater ? [tool("go"), tool("new")] : [tool("go")];
      const discovered = { supportedVersions: ["2026-07-28"], capabilities: { tools: {} } };
      return new Response(answered(method === "tools/list" ? { tools } : discovered), {
        headers: { "content-type": "application/json" },
      });
    });
    const tenant = await servedTenant(documentWith({ up: { url } }));
    const names = async () => (await toolsOf(tenant.id)).names;
    await expect.poll(names, { timeout: 10_000 }).toEqual(["up__go"]);
    // It was read some time ago.
    await inside(tenant, ({ storage }) => void storage.sql.exec("UPDATE upstreams SET read_at = read_at - 60000"));
    await ask(tenant.id, "2025", "tools/call", { name: "up__go", arguments: {} });
    await expect.poll(names, { timeout: 20_000 }).toEqual(["up__go", "up__new"]);
  });
});

describe("many first requests at once", () => {
  it("have an upstream read once", async () => {
    const requests: string[] = [];
    const id = await tenantWith({ sums: { url: workerAt(upstreamWorker("seven"), requests) } });
    await Promise.all(Array.from({ length: 20 }, () => toolsOf(id)));
    await expect.poll(async () => (await toolsOf(id)).names, { timeout: 10_000 }).toEqual(["sums__add"]);
    expect(requests.filter((body) => body.includes('"tools/list"'))).toHaveLength(1);
  });
});
