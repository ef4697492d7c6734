// The endpoint where its isolate is behind the authority, or cannot reach it: what only a test inside the isolate can
// bring about. The rest is in test/http.

import { createExecutionContext, waitOnExecutionContext } from "cloudflare:test";
import { env, exports } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { fromNow, untilInForce } from "../../../src/admin/apply/in-force.ts";
import { createWorker, type Env, type TenantDefinition } from "../../../src/tenantry.ts";
import type { TenantDocument } from "../../../src/tenants/document/tenant-document.ts";
import { directoryOf } from "../../../src/tenants/directory/directory.ts";
import { policyTables } from "../../../src/tenants/authority/policy-tables.ts";
import { dropSnapshot } from "../../../src/tenants/isolate/snapshot.ts";
import { remote } from "../../../src/tenants/authority/tables.ts";
import { ask as askAdmin } from "../../support/worker/admin.ts";
import { anyTenant, freshTenant } from "../../support/worker/tenant.ts";

const ANN = { name: "ann" };
const REACHED: Env = env;

/** Every object of a tenant is away. */
function away(overloaded: boolean, called = () => {}): Env {
  const run = () => {
    called();
    return Promise.reject(Object.assign(new Error("away"), { overloaded }));
  };
  const TenantObject = new Proxy(exports.TenantObject, {
    get: (objects, member) => (member === "getByName" ? () => ({ run }) : (Reflect.get(objects, member) as unknown)),
  });
  return { ...env, TenantObject };
}

interface Asking {
  readonly bindings?: Env;
  readonly tenants?: Readonly<Record<string, TenantDefinition>>;
  readonly headers?: Readonly<Record<string, string>>;
}

async function ask(tenant: string, body: object, { bindings = REACHED, tenants = {}, headers }: Asking = {}) {
  const worker = createWorker({ tenants, hooks: { onError: () => {} } });
  const request = new Request(`https://mcp.example.com/mcp/${tenant}`, {
    method: "POST",
    headers: { "content-type": "application/json", accept: "application/json", ...headers },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, ...body }),
  });
  const ctx = createExecutionContext();
  const response = await worker.fetch(request, bindings, ctx);
  await waitOnExecutionContext(ctx);
  return { response, message: await response.json<{ result?: unknown; error?: { message: string } }>() };
}

const LIST = { method: "tools/list" };
const INITIALIZE = {
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "t", version: "1" } },
};

/** In the directory and in its object, with a lease that ends at once where a test needs it asked again. */
async function made(document: TenantDocument): Promise<string> {
  const tenant = freshTenant();
  const entry = await directoryOf(env, tenant.id).add(tenant.id, { jurisdiction: null, region: null });
  const policy = remote(tenant.stub, policyTables);
  await policy.create({ created: entry.created, own: document, effective: document, actor: ANN, action: "create" });
  return tenant.id;
}

it("a name that no tenant has looks like a private tenant, whatever tenants there are", async () => {
  const closed = await ask("closed", LIST, { tenants: { closed: { mode: "key" } } });
  expect(closed.response.status).toBe(401);
  for (const tenants of [{ closed: { mode: "key" } }, { open: {} }] as const) {
    const never = await ask("never", LIST, { tenants });
    expect([never.response.status, never.message]).toEqual([closed.response.status, closed.message]);
  }
  // No tenant can have it.
  const impossible = await ask("No_Tenant", LIST, { tenants: { open: {} } });
  expect(impossible.message.error?.message).toContain("/mcp/{tenant}");
});

describe("while the authority is away", () => {
  const STALE: TenantDocument = { mode: "open", outage: "stale" };

  it("an isolate that never served the tenant answers from the copy, marked", async () => {
    const id = await made(STALE);
    await ask(id, LIST);
    dropSnapshot(id);
    const { response, message } = await ask(id, LIST, { bindings: away(false) });
    expect([response.status, message.result]).toEqual([200, { tools: [] }]);
    expect(response.headers.get("warning")).toBe('110 - "Response is stale"');
  });

  it("a client of era 2025 begins without a session, because there is no key to seal one with", async () => {
    const id = await made(STALE);
    expect((await ask(id, INITIALIZE)).response.headers.has("mcp-session-id")).toBe(true);
    dropSnapshot(id);
    const { response, message } = await ask(id, INITIALIZE, { bindings: away(false) });
    expect([response.status, message.result]).toMatchObject([200, { protocolVersion: "2025-11-25" }]);
    expect(response.headers.has("mcp-session-id")).toBe(false);
  });

  it("is not asked again with each request, while what it said last is repeated", async () => {
    const id = await made(STALE);
    await ask(id, LIST);
    dropSnapshot(id);
    let calls = 0;
    const bindings = away(false, () => {
      calls += 1;
    });
    for (let at = 0; at < 3; at += 1) expect((await ask(id, LIST, { bindings })).response.status).toBe(200);
    expect(calls).toBe(1);
    await ask(id, LIST, { bindings, headers: { authorization: "Bearer tnt_unknown" } });
    expect((await ask(id, LIST, { bindings })).response.status).toBe(200);
  });

  it("a tenant that takes keys by now is closed in an isolate that never saw it open", async () => {
    const id = await made({ ...STALE, maxStalenessMs: 50 });
    await ask(id, LIST);
    dropSnapshot(id);
    expect((await env.BODIES.list({ prefix: `outage/${id}` })).keys).toHaveLength(1);
    const next = await askAdmin("PUT", `/tenants/${id}/document`, { json: { mode: "key" } });
    expect(next.status).toBe(200);
    expect((await env.BODIES.list({ prefix: `outage/${id}` })).keys).toEqual([]);
    expect((await ask(id, LIST, { bindings: away(false) })).response.status).toBe(503);
  });

  it.each<[string, TenantDocument, boolean]>([
    ["chose nothing", { mode: "open" }, false],
    ["takes keys", { mode: "key", outage: "stale" }, false],
    ["is only asked too much", STALE, true],
  ])("a tenant that %s is unavailable, and says when to come again", async (_what, document, overloaded) => {
    const id = await made(document);
    await ask(id, LIST);
    dropSnapshot(id);
    const { response } = await ask(id, LIST, { bindings: away(overloaded) });
    expect([response.status, response.headers.get("retry-after")]).toEqual([503, "5"]);
  });
});

it("a name that does not exist looks protected though this isolate served it before it was deleted", async () => {
  await made({ mode: "key" });
  const id = await made({ mode: "open", maxStalenessMs: 50 });
  expect((await ask(id, LIST)).response.status).toBe(200);
  const policy = remote(anyTenant(id), policyTables);
  const created = (await policy.incarnation(false)) ?? "";
  const over = fromNow(await policy.close(created));
  await directoryOf(env, id).remove({ id, created });
  await untilInForce(over);
  const gone = await ask(id, LIST);
  const never = await ask("never-3", LIST);
  expect([gone.response.status, gone.message]).toEqual([never.response.status, never.message]);
  expect(gone.response.status).toBe(401);
});
