// An upstream of which nobody knows yet what it lists: whoever could see nothing of it, whatever that is, is told the same as
// where there is none.

import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { createKey } from "../../src/auth/api-key.ts";
import { createWorker, gateway } from "../../src/tenantry.ts";
import { policyTables } from "../../src/tenants/authority/policy-tables.ts";
import { remote } from "../../src/tenants/authority/tables.ts";
import type { TenantDocument } from "../../src/tenants/document/tenant-document.ts";
import { servedTenant } from "../support/worker/deployed.ts";
import { upstreamAt } from "../support/worker/upstreams.ts";

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
  },
};

async function answers(upstreams: TenantDocument["upstreams"], profile: string | undefined, scope?: string) {
  const { id, stub } = await servedTenant({ ...document, ...(upstreams && { upstreams }) });
  const { id: key, token, hash } = await createKey();
  const made = { id: key, hash, name: "k", scopes: scope === undefined ? null : [scope], profile: null, expires: null };
  await remote(stub, policyTables).addKey(made, { name: "ann" });
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
  return [
    ...(await Promise.all(["tools/list", "prompts/list", "resources/list"].map((method) => ask("mcp", { method })))),
    await ask("gateway", { server_id: "vault", method: "tools/list" }),
  ];
}

const unread = () => ({ vault: { url: upstreamAt(() => new Response(null, { status: 500 })) } });

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
    const [tools, , , wrapped] = await answers(unread(), profile, scope);
    expect(tools).toContain('"source":"vault"');
    expect(wrapped).not.toContain("not found");
  });
});
