import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { definePrompt } from "../../src/handlers/prompt.ts";
import { defineResource, defineTemplate } from "../../src/handlers/resource.ts";
import { defineTool } from "../../src/handlers/tool.ts";
import { createCodeSource } from "../../src/catalog/code-source.ts";
import { createTenantCatalog } from "../../src/catalog/tenant-catalog.ts";
import { createStoredSource } from "../../src/catalog/stored-source.ts";
import { contentStore } from "../../src/resources/content-store.ts";
import { createResourceStore } from "../../src/resources/tenant-resource-store.ts";
import { createRpcClient } from "../../src/tenants/object/store.ts";
import { createManagedTenant } from "../../src/tenants/document/tenant-definition.ts";
import { sourceContract } from "../contract/source-contract.ts";
import { callOf, requestScopeOf } from "../support/workerd/calls.ts";
import { freshTenant } from "../support/workerd/tenant.ts";

const CATALOG = {
  server: { name: "t", version: "1" },
  instructions: undefined,
  tools: ["a", "b"].map((name) => defineTool({ name, resumable: name === "a", handler: () => name })),
  prompts: [definePrompt({ name: "p", arguments: { who: {} }, handler: () => "hi" })],
  resources: [
    defineResource({ uri: "code:one", name: "one", text: "1" }),
    defineResource({ uri: "code:two", name: "two", read: () => "2" }),
    defineTemplate({ uriTemplate: "code:{n}/x", name: "t", read: ({ n }) => n }),
  ],
};

sourceContract("code", async () => {
  const tenant = freshTenant();
  return {
    make: () => createCodeSource(CATALOG, createManagedTenant(tenant.id), new Set()),
    host: requestScopeOf(tenant),
    call: callOf,
  };
});

sourceContract("what is stored", async () => {
  const tenant = freshTenant();
  const store = createResourceStore({
    storageKey: tenant.id,
    content: createRpcClient(tenant.content, contentStore),
    bodies: env.BODIES,
  });
  const uris = Array.from({ length: 23 }, (_none, at) => `note:${String(at).padStart(2, "0")}`);
  await Promise.all(uris.map((uri) => store.write({ uri, name: uri, text: uri })));
  const prompts = { daily: { messages: [{ role: "user", content: { type: "text", text: "Hi" } }] } } as const;
  return { make: () => createStoredSource({ prompts }), host: requestScopeOf(tenant), call: callOf };
});

it("a prompt of the document that its arguments would make too large is refused before it is written", async () => {
  const text = "{{a}}".repeat(20_000);
  const prompts = {
    long: { arguments: [{ name: "a" }], messages: [{ role: "user", content: { type: "text", text } }] },
  } as const;
  const [prompt] = createStoredSource({ prompts }).prompts;
  const host = requestScopeOf(freshTenant());
  const get = (a: string) => prompt?.get({ a }, callOf({ method: "prompts/get" }), host);
  expect(await get("x")).toMatchObject({ kind: "complete" });
  await expect((async () => get("x".repeat(10_000)))()).resolves.toMatchObject({
    kind: "failure",
    error: "invalidParams",
  });
});

describe("a tenant's catalog", () => {
  it("has a prompt of its document in the place of one in code, and what features bring after its own", () => {
    const document = { prompts: { p: { messages: [] } } };
    const policy = { document, suspensions: [], deprecatedNames: [] };
    const further = createCodeSource({ ...CATALOG, tools: [] }, createManagedTenant("t"), new Set());
    const tenantCatalog = createTenantCatalog(CATALOG, createManagedTenant("t"), { policy, version: 1 }, [
      { ...further, id: "further" },
    ]);
    expect(tenantCatalog.sources.map(({ id, prompts }) => [id, prompts.map(({ name }) => name)])).toEqual([
      ["code", []],
      ["stored", ["p"]],
      ["further", ["p"]],
    ]);
  });
});
