// A source as a feature brings one, which nothing in the Worker knows: a tool, a prompt, a template and a resource list
// that fails.

import { createExecutionContext, waitOnExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import type { NotificationFilter } from "../../src/protocol/source.ts";
import type { Source } from "../../src/protocol/source.ts";
import { createWorker, defineTool, type SourceTool } from "../../src/tenantry.ts";
import { policyStore } from "../../src/tenants/object/policy-store.ts";
import type { DeprecatedName } from "../../src/tenants/object/policy-records.ts";
import { createRpcClient } from "../../src/tenants/object/store.ts";
import { directoryOf } from "../../src/tenants/directory/directory-stub.ts";
import { sourceContract } from "../contract/source-contract.ts";
import { callOf } from "../support/workerd/calls.ts";
import { freshTenant } from "../support/workerd/tenant.ts";

const requests: string[] = [];

const shout: SourceTool = {
  name: "shout",
  wire: { name: "shout", description: "Says it louder.", inputSchema: { type: "object" } },
  paramHeaders: [],
  repeatable: false,
  call: async (args) => ({
    kind: "complete",
    result: { content: [{ type: "text", text: String(args.text).toUpperCase() }] },
  }),
};

const toy: Source<unknown> = {
  id: "toy",
  state: { kind: "fresh" },
  instructions: "Shout politely.",
  tools: [shout],
  prompts: [],
  resources: [],
  templates: [
    {
      wire: { uriTemplate: "toy:{colour}", name: "toys" },
      read: async ({ uri, asked }) =>
        uri === "toy:red" ? { kind: "complete", result: { contents: [{ uri: asked, text: "a red toy" }] } } : undefined,
      complete: async ({ value }) => ["red", "green"].filter((colour) => colour.startsWith(value)),
    },
  ],
  shelf: { list: () => Promise.reject(new Error("the toys are away")), read: async () => undefined },
  interest: ({ uris }: NotificationFilter) => {
    requests.push(`begins ${uris.join()}`);
    return () => requests.push("ends");
  },
};

sourceContract("a toy", async () => ({ make: () => toy, host: undefined, call: callOf }));

const worker = createWorker({
  tools: [defineTool({ name: "own", handler: () => "own" })],
  tenants: {},
  features: [{ name: "toys", sources: () => [toy] }],
  hooks: { onError: () => {} },
});

/** A tenant whose profile `p` calls the toy's tool something else, and did before. */
async function made(): Promise<string> {
  const { id, stub } = freshTenant();
  await directoryOf(env, id).add(id, { jurisdiction: null, region: null });
  const policy = createRpcClient(stub, policyStore);
  const document = { mode: "open", profiles: { p: { tools: { rename: { shout: { name: "call_out" } } } } } } as const;
  const by = { actor: { name: "ann" }, action: "apply" };
  await policy.create({ own: {}, effective: {}, ...by });
  const until = Date.now() + 60_000;
  const retired: DeprecatedName[] = [
    { kind: "tools", profile: "p", name: "yell", target: "shout", successor: "call_out", until },
  ];
  await policy.write({ own: document, effective: document, deprecatedNames: retired, ifRevision: null, ...by });
  return id;
}

async function ask(path: string, method: string, params: object = {}) {
  const ctx = createExecutionContext();
  const request = new Request(`https://mcp.example.com/mcp/${path}`, {
    method: "POST",
    headers: { "content-type": "application/json", "mcp-protocol-version": "2025-11-25" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
  });
  const response = await worker.fetch(request, env, ctx);
  await waitOnExecutionContext(ctx);
  const { result } = await response.json<{ result: { tools?: { name: string }[]; instructions?: string } }>();
  return result;
}

describe("a source that a feature brings", () => {
  it("is listed after the tenant's own, and its instructions with theirs", async () => {
    const id = await made();
    expect((await ask(id, "tools/list")).tools?.map(({ name }) => name)).toEqual(["own", "shout"]);
    const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "t", version: "1" } };
    expect((await ask(id, "initialize", params)).instructions).toBe("toy: Shout politely.");
  });

  it("is renamed by a profile, and called by its new name and by the one that retires", async () => {
    const id = await made();
    expect((await ask(`${id}/p`, "tools/list")).tools?.map(({ name }) => name)).toEqual(["own", "call_out"]);
    for (const name of ["call_out", "yell"]) {
      const called = await ask(`${id}/p`, "tools/call", { name, arguments: { text: "hi" } });
      expect(called).toEqual({ content: [{ type: "text", text: "HI" }] });
    }
    expect(await ask(`${id}/p`, "tools/call", { name: "shout" })).toBeUndefined();
  });

  it("is read and completed through its template", async () => {
    const id = await made();
    expect(await ask(id, "resources/read", { uri: "toy:red" })).toMatchObject({ contents: [{ text: "a red toy" }] });
    expect(await ask(id, "resources/read", { uri: "toy:blue" })).toBeUndefined();
    const argument = { name: "colour", value: "g" };
    const completed = await ask(id, "completion/complete", {
      ref: { type: "ref/resource", uri: "toy:{colour}" },
      argument,
    });
    expect(completed).toMatchObject({ completion: { values: ["green"] } });
  });

  it("whose list fails leaves the others whole, and is named", async () => {
    const id = await made();
    await ask(id, "tools/list");
    const listed = await ask(id, "resources/list");
    expect(listed).toMatchObject({
      resources: [],
      _meta: { "tenantry/missing": [{ source: "toy", why: "its resources could not be listed" }] },
    });
  });

  it("that is degraded is named in every list", async () => {
    const id = await made();
    const half: Source<unknown> = { ...toy, state: { kind: "degraded", why: "half of it" }, tools: [] };
    const degraded = createWorker({ tenants: {}, features: [{ name: "toys", sources: () => [half] }] });
    const ctx = createExecutionContext();
    const body = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}';
    const headers = { "content-type": "application/json" };
    const request = new Request(`https://mcp.example.com/mcp/${id}`, { method: "POST", headers, body });
    const response = await degraded.fetch(request, env, ctx);
    await waitOnExecutionContext(ctx);
    expect(await response.json()).toMatchObject({
      result: { tools: [], _meta: { "tenantry/missing": [{ source: "toy", why: "half of it" }] } },
    });
  });

  it("is notified while a stream is open, and when it ends", async () => {
    const id = await made();
    requests.length = 0;
    const ctx = createExecutionContext();
    const _meta = {
      "io.modelcontextprotocol/protocolVersion": "2026-07-28",
      "io.modelcontextprotocol/clientCapabilities": {},
    };
    const notifications = { toolsListChanged: true, resourceSubscriptions: ["TOY:red"] };
    const request = new Request(`https://mcp.example.com/mcp/${id}`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept: "text/event-stream",
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "subscriptions/listen",
      },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "subscriptions/listen", params: { notifications, _meta } }),
    });
    const { body } = await worker.fetch(request, env, ctx);
    expect(requests).toEqual(["begins toy:red"]);
    await body?.cancel();
    expect(requests).toEqual(["begins toy:red", "ends"]);
    await waitOnExecutionContext(ctx);
  });
});

describe("a source whose resource list cannot be read", () => {
  const away: Source<unknown> = {
    ...toy,
    id: "away",
    tools: [],
    templates: [],
    shelf: {
      list: async () => ({ items: [] }),
      read: async ({ uri }) => {
        if (uri.startsWith("toy:") || uri.startsWith("far:")) throw new Error("a secret of the far side");
        return undefined;
      },
    },
  };
  const both = createWorker({
    tenants: {},
    features: [{ name: "both", sources: () => [away, toy] }],
    hooks: { onError: () => {} },
  });

  async function read(id: string, uri: string) {
    const ctx = createExecutionContext();
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "resources/read", params: { uri } });
    const headers = { "content-type": "application/json" };
    const request = new Request(`https://mcp.example.com/mcp/${id}`, { method: "POST", headers, body });
    const response = await both.fetch(request, env, ctx);
    await waitOnExecutionContext(ctx);
    return response.text();
  }

  it("leaves what others have whole, and does not say that there is nothing where it may have it", async () => {
    const id = await made();
    expect(await read(id, "toy:red")).toContain("a red toy");
    expect(await read(id, "far:one")).toContain("try again");
    expect(await read(id, "far:one")).not.toContain("secret");
    expect(await read(id, "none:one")).toContain("Resource not found");
  });
});
