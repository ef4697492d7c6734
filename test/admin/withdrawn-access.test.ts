// Every member of a document that can withdraw access: access is gone when the answer comes.

import { createExecutionContext, waitOnExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { createWorker } from "../../src/tenantry.ts";
import type { TenantDocument } from "../../src/tenants/document/tenant-document.ts";
import { adminOptions, ask, newTenant } from "../support/workerd/admin.ts";

const { tools, prompts } = adminOptions.catalog;
const worker = createWorker({ tools, prompts, tenants: {}, hooks: { onError: () => {} } });

/** Whether the thing can be had at this path. */
async function had(path: string, method: string, params: object): Promise<boolean> {
  const ctx = createExecutionContext();
  const request = new Request(`https://mcp.example.com/mcp/${path}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
  });
  const response = await worker.fetch(request, env, ctx);
  await waitOnExecutionContext(ctx);
  const { error } = await response.json<{ error?: unknown }>();
  return error === undefined;
}

const hello = { messages: [{ role: "user", content: { type: "text", text: "Hi" } }] } as const;
const call = (name: string) => ["tools/call", { name }] as const;
const get = (name: string) => ["prompts/get", { name }] as const;

interface Way {
  readonly what: string;
  readonly before?: TenantDocument;
  readonly after: TenantDocument;
  readonly profile?: "p";
  readonly request: readonly [method: string, params: object];
}

const WAYS: readonly Way[] = [
  { what: "a tool is switched off", after: { tools: { add: { enabled: false } } }, request: call("add") },
  { what: "a pattern of tools is switched off", after: { tools: { "a*": { enabled: false } } }, request: call("add") },
  {
    what: "a profile denies a tool",
    after: { profiles: { p: { tools: { deny: ["add"] } } } },
    profile: "p",
    request: call("add"),
  },
  {
    what: "a profile allows others",
    after: { profiles: { p: { tools: { allow: ["wipe"] } } } },
    profile: "p",
    request: call("add"),
  },
  {
    what: "a profile denies what it renames",
    after: { profiles: { p: { tools: { rename: { add: { name: "sum" } }, deny: ["add"] } } } },
    profile: "p",
    request: call("add"),
  },
  {
    what: "what was renamed is denied",
    before: { profiles: { p: { tools: { rename: { add: { name: "sum" } } } } } },
    after: { profiles: { p: { tools: { rename: { add: { name: "sum" } }, deny: ["add"] } } } },
    profile: "p",
    request: call("sum"),
  },
  { what: "a profile is gone", after: { profiles: {} }, profile: "p", request: call("add") },
  { what: "search is switched off", before: { search: true }, after: {}, request: call("search") },
  {
    what: "search of a profile is switched off",
    before: { search: true },
    after: { search: true, profiles: { p: { search: false } } },
    profile: "p",
    request: ["tools/call", { name: "search", arguments: { query: "a" } }],
  },
  { what: "a prompt of the document is gone", before: { prompts: { own: hello } }, after: {}, request: get("own") },
  {
    what: "a profile denies a prompt",
    after: { profiles: { p: { prompts: { deny: ["*"] } } } },
    profile: "p",
    request: get("hello"),
  },
  { what: "the tenant wants a key", after: { mode: "key" }, request: call("add") },
];

const OPEN: TenantDocument = { mode: "open", maxStalenessMs: 300, profiles: { p: {} } };

describe("access that is taken away", () => {
  it.each(WAYS)("is gone when acknowledged: $what", async ({ before, after, profile, request: [method, params] }) => {
    const id = await newTenant({ ...OPEN, ...before });
    const path = profile === undefined ? id : `${id}/${profile}`;
    const arguments_ = method === "tools/call" ? { arguments: { query: "a" } } : {};
    expect(await had(path, method, { ...arguments_, ...params })).toBe(true);
    const applied = await ask("PUT", `/tenants/${id}/document`, { json: { ...OPEN, ...after } });
    expect(applied.status).toBe(200);
    expect(await had(path, method, { ...arguments_, ...params })).toBe(false);
  });
});
