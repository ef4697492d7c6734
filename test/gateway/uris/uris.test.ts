import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { createWorker, defineTool, gateway } from "../../../src/tenantry.ts";
import type { TenantDocument } from "../../../src/tenants/document/tenant-document.ts";
import { sendTo, servedTenant } from "../../support/workerd/served-tenant.ts";
import { upstreamAt } from "../../support/workerd/upstreams.ts";

const store = defineTool({
  name: "store",
  description: "Stores a text.",
  input: { type: "object", properties: { uri: { type: "string" } }, required: ["uri"] },
  handler: async ({ uri }, ctx) => {
    await ctx.resources.write({ uri, name: "stored", text: "from the tenant" });
    return "stored";
  },
});
const worker = createWorker({ tenants: {}, features: [gateway()] });
const storing = createWorker({ tools: [store], tenants: {}, features: [gateway()] });
type Json = Record<string, unknown>;

/** Of era 2026. `heard` gets the URIs that it was asked for; what has braces is a template. */
function upstreamWith(
  name: string,
  all: readonly string[],
  requests: string[] = [],
  until: Promise<unknown> = Promise.resolve(),
): string {
  const uris = all.filter((uri) => !uri.includes("{"));
  const templates = all.filter((uri) => uri.includes("{"));
  const tool = { name: "show", inputSchema: { type: "object" }, _meta: { ui: { resourceUri: "ui://panel" } } };
  const result = (method: string, params: Json): Json => {
    if (method === "server/discover") {
      return { supportedVersions: ["2026-07-28"], capabilities: { tools: {}, resources: {} } };
    }
    if (method === "tools/list") return { tools: [tool] };
    if (method === "resources/list") return { resources: uris.map((uri) => ({ uri, name: uri })) };
    if (method === "resources/templates/list") {
      return { resourceTemplates: templates.map((uriTemplate) => ({ uriTemplate, name: uriTemplate })) };
    }
    if (method === "resources/read") {
      requests.push(String(params["uri"]));
      return { contents: [{ uri: params["uri"], text: `from ${name}` }] };
    }
    const content = [
      { type: "resource_link", uri: "ui://panel", name: "panel" },
      { type: "resource", resource: { uri: "ui://panel", text: "<p>" } },
      { type: "text", text: "see ui://panel" },
    ];
    return { content, _meta: { ui: { resourceUri: "ui://panel" } }, resultType: "complete" };
  };
  return upstreamAt(async (request) => {
    const { id, method, params = {} } = await request.json<{ id: number; method: string; params?: Json }>();
    await until;
    const answered = { jsonrpc: "2.0", id, result: result(method, params) };
    return Response.json(answered);
  });
}

interface Listed {
  readonly names: readonly unknown[];
  readonly why: readonly unknown[] | undefined;
}

async function tenantWith(
  upstreams: NonNullable<TenantDocument["upstreams"]>,
  by: Pick<typeof worker, "fetch"> = worker,
) {
  const { id } = await servedTenant({ mode: "open", maxStalenessMs: 50, upstreams });
  const ask = async (method: string, params: Json = {}) => {
    const response = await sendTo(by, id, { message: { jsonrpc: "2.0", id: 1, method, params } });
    return response.json<{ result?: Json; error?: { code: number } }>();
  };
  const listed = async (): Promise<Listed> => {
    const { result = {} } = await ask("resources/list");
    const resources = (result["resources"] ?? []) as { uri: string }[];
    const missing = ((result["_meta"] ?? {}) as Json)["tenantry/missing"] as Json[] | undefined;
    return { names: resources.map(({ uri }) => uri), why: missing?.map(({ source, why }) => [source, why]) };
  };
  const read = async (uri: string) => {
    const { result, error } = await ask("resources/read", { uri });
    const [first] = (result?.["contents"] ?? []) as Json[];
    return error?.code ?? first;
  };
  const sendEnvelope = async (message: Json) => {
    const request = new Request(`https://mcp.example.com/gateway/${id}`, {
      method: "POST",
      headers: { "content-type": "application/json", accept: "application/json, text/event-stream" },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, ...message }),
    });
    return (await worker.fetch(request, env, createExecutionContext())).json<{ result?: Json; error?: Json }>();
  };
  return { ask, listed, read, sendEnvelope };
}

const SOON = { timeout: 20_000 };

describe("a resource that the tenant stores", { timeout: 40_000 }, () => {
  it("is read and listed as the tenant's, whatever an upstream lists, unless a prefix says otherwise", async () => {
    const stored = ["note://mine/1", "NOTE://mine/%32", "note://theirs/1"];
    const requests: string[] = [];
    const { promise: isStored, resolve } = Promise.withResolvers<undefined>();
    const { ask, listed, read } = await tenantWith(
      {
        taking: {
          url: upstreamWith("taking", [...stored, "note://free", "{+uri}"], requests, isStored),
          uris: ["note://theirs/"],
        },
      },
      storing,
    );
    for (const uri of stored) {
      const { result } = await ask("tools/call", { name: "store", arguments: { uri } });
      expect(result?.["isError"]).toBeUndefined();
    }
    resolve(undefined);
    await expect.poll(listed, SOON).toMatchObject({
      why: [
        [
          "taking",
          expect.stringContaining("2 definitions are left out: note://mine/1: a stored resource has this URI"),
        ],
      ],
    });
    const { names } = await listed();
    expect(names).toHaveLength(new Set(names).size);
    expect(names).toEqual(expect.arrayContaining(["note://mine/1", "note://mine/2", "note://theirs/1", "note://free"]));
    expect(await read("note://mine/1")).toMatchObject({ text: "from the tenant" });
    expect(await read("note://mine/2")).toMatchObject({ text: "from the tenant" });
    expect(requests).toEqual([]);
    expect(await read("note://theirs/1")).toMatchObject({ text: "from taking" });
  });
});

describe("a prefix in the document", { timeout: 40_000 }, () => {
  it("decides the upstream of a URI, and the other upstream's is omitted with the reason", async () => {
    const both = ["file:///a/1", "file:///b/1"];
    const first = { url: upstreamWith("first", both) };
    const tenant = await tenantWith({ first, second: { url: upstreamWith("second", both), uris: ["file:///b/"] } });
    const why = "1 definition is left out: file:///b/1: second has the prefix file:///b/";
    await expect.poll(tenant.listed, SOON).toMatchObject({
      why: [
        ["first", why],
        ["second", expect.anything()],
      ],
    });
    expect((await tenant.listed()).names).toEqual(["file:///a/1", "file:///b/1"]);
    expect(await tenant.read("file:///b/1")).toMatchObject({ text: "from second" });
    expect(await tenant.read("file:///a/1")).toMatchObject({ text: "from first" });
  });

  it.each(["file:///{+path}", "{+uri}", "FILE:///own/{path}", "file:///%6fwn/{path}", "file:///own/{path}"])(
    "gives nothing of it to another upstream's template %s, even where its own is switched off",
    async (template) => {
      const requests: string[] = [];
      const { listed, read, sendEnvelope } = await tenantWith({
        wide: { url: upstreamWith("wide", ["file:///elsewhere", template], requests) },
        owner: { url: upstreamWith("owner", []), uris: ["file:///own/"], enabled: false },
      });
      await expect.poll(listed, SOON).toMatchObject({ names: ["file:///elsewhere"] });
      expect(await read("file:///own/1")).toBe(-32002);
      const message = { server_id: "wide", method: "resources/read", params: { uri: "file:///own/1" } };
      expect(await sendEnvelope(message)).toMatchObject({ error: { code: -32002 } });
      expect(requests).toEqual([]);
    },
  );

  it("leads to nothing that waits for approval", async () => {
    const requests: string[] = [];
    const own = {
      url: upstreamWith("own", ["file:///own/1"], requests),
      uris: ["file:///own/"],
      trust: "review" as const,
    };
    const { ask, read, sendEnvelope } = await tenantWith({ own });
    const waits = async () => JSON.stringify((await ask("resources/list")).result);
    await expect.poll(waits, SOON).toContain("2 definitions wait for approval");
    expect(await read("file:///own/1")).toBe(-32002);
    expect(await read("file:///own/unlisted")).toBe(-32002);
    const message = { server_id: "own", method: "resources/read", params: { uri: "file:///own/1" } };
    expect(await sendEnvelope(message)).toMatchObject({ error: { code: -32002 } });
    expect(requests).toEqual([]);
  });

  it("routes an unlisted URI to its upstream, the longest prefix first, and nothing else", async () => {
    const requests: string[] = [];
    const tenant = await tenantWith({
      wide: { url: upstreamWith("wide", ["x://a"]), uris: ["x:"] },
      narrow: { url: upstreamWith("narrow", ["x://n/a"], requests), uris: ["X://n/"] },
    });
    await expect.poll(tenant.listed, SOON).toEqual({ names: ["x://a", "x://n/a"], why: undefined });
    expect(await tenant.read("x://n/Other%7e")).toEqual({ uri: "x://n/Other%7e", text: "from narrow" });
    expect(await tenant.read("x://m")).toMatchObject({ text: "from wide" });
    expect(await tenant.read("y://m")).toBe(-32002);
    expect(requests).toEqual(["x://n/Other%7e"]);
    const message = { server_id: "narrow", method: "resources/read", params: { uri: "x://n/unlisted" } };
    expect((await tenant.sendEnvelope(message)).result).toMatchObject({ contents: [{ text: "from narrow" }] });
  });
});

describe("a user interface", { timeout: 40_000 }, () => {
  it("has its upstream in its name, in every place, though two upstreams call theirs alike", async () => {
    const requests: string[] = [];
    const tenant = await tenantWith({
      a: { url: upstreamWith("a", ["ui://panel"], requests) },
      b: { url: upstreamWith("b", ["ui://panel"]) },
    });
    await expect.poll(tenant.listed, SOON).toEqual({ names: ["ui://a/panel", "ui://b/panel"], why: undefined });
    const { result = {} } = await tenant.ask("tools/list");
    expect(result["tools"]).toMatchObject([
      { name: "a__show", _meta: { ui: { resourceUri: "ui://a/panel" } } },
      { name: "b__show", _meta: { ui: { resourceUri: "ui://b/panel" } } },
    ]);
    const called = await tenant.ask("tools/call", { name: "b__show", arguments: {} });
    expect(called.result).toMatchObject({
      content: [{ uri: "ui://b/panel" }, { resource: { uri: "ui://b/panel" } }, { text: "see ui://panel" }],
      _meta: { ui: { resourceUri: "ui://b/panel" } },
    });
    expect(await tenant.read("ui://a/panel")).toEqual({ uri: "ui://a/panel", text: "from a" });
    expect(await tenant.read("ui://a/part/of/it")).toEqual({ uri: "ui://a/part/of/it", text: "from a" });
    expect(requests).toEqual(["ui://panel", "ui://part/of/it"]);
    expect(await tenant.read("ui://panel")).toBe(-32002);
  });

  it("has its own name on /gateway, where the upstream is named beside it", async () => {
    const tenant = await tenantWith({ a: { url: upstreamWith("a", ["ui://panel"]) } });
    await expect.poll(async () => (await tenant.listed()).names, SOON).toEqual(["ui://a/panel"]);
    const read = { server_id: "a", method: "resources/read", params: { uri: "ui://panel" } };
    expect((await tenant.sendEnvelope(read)).result).toMatchObject({
      contents: [{ uri: "ui://panel", text: "from a" }],
    });
    const list = await tenant.sendEnvelope({ server_id: "a", method: "resources/list" });
    expect(list.result).toMatchObject({ resources: [{ uri: "ui://panel" }] });
    const call = { server_id: "a", method: "tools/call", params: { name: "show" } };
    expect((await tenant.sendEnvelope(call)).result).toMatchObject({ content: [{ uri: "ui://panel" }, {}, {}] });
  });
});
