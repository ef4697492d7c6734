// An upstream whose lists are not known yet: a caller who may see nothing of it gets the same answer as without it.

import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { createKey } from "../../src/auth/api-key.ts";
import { createWorker, gateway } from "../../src/tenantry.ts";
import { policyStore } from "../../src/tenants/object/policy-store.ts";
import { createRpcClient } from "../../src/tenants/object/store.ts";
import type { TenantDocument } from "../../src/tenants/document/tenant-document.ts";
import { servedTenant } from "../support/workerd/served-tenant.ts";
import { upstreamAt } from "../support/workerd/upstreams.ts";

const worker = createWorker({ tenants: {}, features: [gateway()] });
const NOTES = { allow: ["note_*"] };
const document: TenantDocument = {
  mode: "open",
  maxStalenessMs: 50,
  scopes: { notes: { tools: ["note_*"] }, vault: { tools: ["vault__open"] } },
  profiles: {
    none: { tools: NOTES, prompts: NOTES, resources: { allow: ["note:*"] } },
    denied: { tools: { deny: ["vault__*"] }, prompts: { deny: ["vault*"] }, resources: { deny: ["*"] } },
    some: { tools: { allow: ["vault__open"] }, prompts: NOTES, resources: { allow: ["note:*"] } },
    open: { tools: NOTES },
    opens: { tools: { allow: ["vault__open*"] } },
  },
};

/** `until`: what a list has when its upstreams are read. */
async function answers(
  upstreams: TenantDocument["upstreams"],
  profile: string | undefined,
  scope?: string,
  until?: string,
) {
  const { id, stub } = await servedTenant({ ...document, ...(upstreams && { upstreams }) });
  const { id: key, token, hash } = await createKey();
  const made = { id: key, hash, name: "k", scopes: scope === undefined ? null : [scope], profile: null, expires: null };
  await createRpcClient(stub, policyStore).addKey(made, { name: "ann" });
  const ask = async (endpoint: string, message: object) => {
    const request = new Request(
      `https://mcp.example.com/${endpoint}/${id}${profile === undefined ? "" : `/${profile}`}`,
      {
        method: "POST",
        headers: {
          accept: "application/json",
          "content-type": "application/json",
          ...(scope === undefined ? {} : { authorization: `Bearer ${token}` }),
        },
        body: JSON.stringify({ jsonrpc: "2.0", id: 1, ...message }),
      },
    );
    return (await worker.fetch(request, env, createExecutionContext())).text();
  };
  const list = () => ask("mcp", { method: "tools/list" });
  if (until !== undefined) await expect.poll(list, { timeout: 10_000 }).toContain(until);
  return [
    ...(await Promise.all(["tools/list", "prompts/list", "resources/list"].map((method) => ask("mcp", { method })))),
    await ask("gateway", { server_id: "vault", method: "tools/list" }),
  ];
}

const unread = () => ({ vault: { url: upstreamAt(() => new Response(null, { status: 500 })) } });

/** Of era 2026: with tools of these names, and others that no list can have. */
function vaultWith(good: readonly string[], bad: readonly string[]): string {
  const tools = [
    ...good.map((name) => ({ name, inputSchema: { type: "object" } })),
    ...bad.map((name) => ({ name, inputSchema: {} })),
  ];
  return upstreamAt(async (request) => {
    const { id, method } = await request.json<{ id: number; method: string }>();
    const discovered = { supportedVersions: ["2026-07-28"], capabilities: { tools: {} } };
    return Response.json({ jsonrpc: "2.0", id, result: method === "tools/list" ? { tools } : discovered });
  });
}

describe("a definition that is left out", { timeout: 30_000 }, () => {
  const many = Array.from({ length: 120 }, (_, at) => `hidden_${at}`);

  it.each([
    ["some", undefined],
    ["opens", "vault"],
    [undefined, "vault"],
  ])("is not spoken of to profile %s with scope %s, who would not see it", async (profile, scope) => {
    const looks = (bad: readonly string[]) =>
      answers({ vault: { url: vaultWith(["open"], bad) } }, profile, scope, "vault__open");
    expect(await looks(["hidden"])).toEqual(await looks([]));
    expect(await looks(many)).toEqual(await looks([]));
  });

  it("is named to callers who could see it, and not counted for others", async () => {
    const vault = { url: vaultWith(["open"], ["hidden", "open_too"]) };
    expect((await answers({ vault }, undefined, undefined, "vault__open"))[0]).toContain("2 definitions are left out");
    const [tools] = await answers({ vault }, "opens", undefined, "vault__open");
    expect(tools).toContain("1 definition is left out: open_too");
    expect(tools).not.toContain("hidden");
  });
});

describe("an upstream that was not read yet", () => {
  it.each([
    ["none", undefined],
    ["denied", undefined],
    [undefined, "notes"],
    ["open", "notes"],
  ])("is nothing to profile %s with scope %s", async (profile, scope) => {
    expect(await answers(unread(), profile, scope)).toEqual(await answers(undefined, profile, scope));
  });

  it.each([
    ["some", undefined],
    ["open", undefined],
    [undefined, undefined],
    [undefined, "vault"],
  ])("is named to profile %s with scope %s", async (profile, scope) => {
    const [tools, , , enveloped] = await answers(unread(), profile, scope);
    expect(tools).toContain('"source":"vault"');
    expect(enveloped).not.toContain("not found");
  });
});
