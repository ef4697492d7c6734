// A call from an upstream's user interface does not say who makes it: it is routed by its name.

import { describe, expect, it } from "vitest";
import { createWorker, defineTool, gateway } from "../../../src/tenantry.ts";
import type { TenantDocument } from "../../../src/tenants/document/tenant-document.ts";
import { sendTo, servedTenant } from "../../support/workerd/served-tenant.ts";
import { upstreamAt } from "../../support/workerd/upstreams.ts";

type Json = Record<string, unknown>;

const own = defineTool({ name: "own", handler: () => "from the tenant" });
const worker = createWorker({ tenants: {}, tools: [own], features: [gateway()] });

/** Of era 2026, with these tools: each says where it is, and has this `_meta`. */
function upstreamWith(name: string, tools: Readonly<Record<string, Json>>): string {
  const listed = Object.entries(tools).map(([tool, _meta]) => ({ name: tool, inputSchema: { type: "object" }, _meta }));
  return upstreamAt(async (request) => {
    const { id, method, params = {} } = await request.json<{ id: number; method: string; params?: Json }>();
    const results: Json = {
      "server/discover": { supportedVersions: ["2026-07-28"], capabilities: { tools: {} } },
      "tools/list": { tools: listed },
      "tools/call": {
        content: [{ type: "text", text: `${String(params["name"])} of ${name}` }],
        resultType: "complete",
      },
    };
    return Response.json({ jsonrpc: "2.0", id, result: results[method] ?? {} });
  });
}

const PANEL = { ui: { resourceUri: "ui://panel" } };
const forWhom = (...visibility: string[]) => ({ ui: { resourceUri: "ui://panel", visibility } });

/** `more`: upstreams at which nobody is. */
async function tenantWith(
  upstreams: Readonly<Record<string, string>>,
  profiles: TenantDocument["profiles"] = {},
  more: Readonly<Record<string, Json>> = {},
) {
  const nowhere = { url: "https://nowhere.example.com/mcp" };
  const { id } = await servedTenant({
    mode: "open",
    maxStalenessMs: 50,
    profiles,
    upstreams: {
      ...Object.fromEntries(Object.entries(upstreams).map(([up, url]) => [up, { url, era: "2026" as const }])),
      ...Object.fromEntries(Object.entries(more).map(([up, one]) => [up, { ...nowhere, ...one }])),
    },
  });
  const ask = async (method: string, params: Json = {}, path = id) => {
    const response = await sendTo(worker, path, { message: { jsonrpc: "2.0", id: 1, method, params } });
    return response.json<{ result?: Json; error?: { code: number; message: string } }>();
  };
  const names = async () => {
    const { result = {} } = await ask("tools/list");
    return ((result["tools"] ?? []) as { readonly name: string }[]).map(({ name }) => name);
  };
  const all = Object.keys(upstreams);
  const isRead = async () =>
    all.every(Boolean) && (await names()).filter((name) => name.includes("__")).map((name) => name.split("__")[0]);
  await expect.poll(isRead, { timeout: 10_000 }).toEqual(expect.arrayContaining(all));
  const call = async (name: string, profile?: string) => {
    const { result, error } = await ask(
      "tools/call",
      { name, arguments: {} },
      profile === undefined ? id : `${id}/${profile}`,
    );
    const [block] = (result?.["content"] ?? []) as Json[];
    return error?.message ?? block?.["text"];
  };
  return { names, call };
}

describe("a tool of an upstream with user interfaces", { timeout: 30_000 }, () => {
  it("can be called by its own name, which no list has", async () => {
    const { names, call } = await tenantWith({
      a: upstreamWith("a", { show: PANEL, refresh: forWhom("app"), plain: {} }),
    });
    for (const name of ["show", "refresh", "plain"]) {
      expect(await call(name)).toBe(`${name} of a`);
      expect(await names()).not.toContain(name);
    }
  });

  it("cannot be called by its own name where it is for the model alone", async () => {
    const { call } = await tenantWith({ a: upstreamWith("a", { show: PANEL, plan: forWhom("model") }) });
    expect(await call("plan")).toBe("Unknown tool: plan");
    expect(await call("a__plan")).toBe("plan of a");
  });

  it("cannot be called by its own name where two upstreams have the name", async () => {
    const { call } = await tenantWith({
      a: upstreamWith("a", { show: PANEL, one: PANEL }),
      b: upstreamWith("b", { show: PANEL }),
    });
    expect(await call("show")).toBe("Unknown tool: show; several sources have it, so use a name from the list");
    expect(await call("b__show")).toBe("show of b");
    expect(await call("one")).toBe("one of a");
  });

  it("yields to a tool that is listed under the name", async () => {
    const { call } = await tenantWith({ a: upstreamWith("a", { own: PANEL }) });
    expect(await call("own")).toBe("from the tenant");
    expect(await call("a__own")).toBe("own of a");
  });

  it.each([
    ["of one that is hidden", "b__show", "p"],
    ["of one that is switched off", "off__pay", undefined],
    ["of one that cannot be read", "away__pay", undefined],
    ["of one that is none", "was__pay", undefined],
    ["of one in capital letters", "B__show", undefined],
  ])("cannot be called by a name in the form of another upstream's: %s", async (_whose, name, profile) => {
    const { call, names } = await tenantWith(
      { a: upstreamWith("a", { [name]: PANEL, show: PANEL }), b: upstreamWith("b", { show: PANEL }) },
      { p: { tools: { deny: ["b__*"] } } },
      { off: { enabled: false }, away: {} },
    );
    expect(await names()).toContain(`a__${name}`);
    expect(await call(name, profile)).toBe(`Unknown tool: ${name}`);
    expect(await call(`a__${name}`, profile)).toBe(`${name} of a`);
  });

  it("cannot be called where a profile hides it, and does not hide another one then", async () => {
    const upstreams = { a: upstreamWith("a", { show: PANEL, gone: PANEL }), b: upstreamWith("b", { show: PANEL }) };
    const { call } = await tenantWith(upstreams, { p: { tools: { deny: ["b__*", "a__gone"] } } });
    expect(await call("show", "p")).toBe("show of a");
    expect(await call("gone", "p")).toBe("Unknown tool: gone");
  });
});

describe("a tool of an upstream without user interfaces", { timeout: 30_000 }, () => {
  it("is called by its listed name alone", async () => {
    const { call } = await tenantWith({ a: upstreamWith("a", { plain: {} }) });
    expect(await call("plain")).toBe("Unknown tool: plain");
    expect(await call("a__plain")).toBe("plain of a");
  });
});
