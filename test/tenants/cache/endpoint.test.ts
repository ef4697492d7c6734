// The isolate is behind the tenant's object or cannot reach it: only a test inside the isolate can do that. The rest is
// in test/endpoint.

import { createExecutionContext, waitOnExecutionContext } from "cloudflare:test";
import { env, exports } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { deadlineFrom, waitForLeases } from "../../../src/admin/services/propagation.ts";
import { createWorker, type Env, type TenantDefinition } from "../../../src/tenantry.ts";
import type { TenantDocument } from "../../../src/tenants/document/tenant-document.ts";
import { directoryOf } from "../../../src/tenants/directory/directory-stub.ts";
import { policyStore } from "../../../src/tenants/object/policy-store.ts";
import { evictPolicy } from "../../../src/tenants/cache/policy-cache.ts";
import { createRpcClient } from "../../../src/tenants/object/store.ts";
import { anyTenant, freshTenant } from "../../support/workerd/tenant.ts";
import { keeperOf } from "../../support/workerd/object-calls.ts";

const ANN = { name: "ann" };
const REACHED: Env = env;

/** Every object of a tenant is away. */
function away(overloaded: boolean): Env {
  const keeper = keeperOf(() => Promise.reject(Object.assign(new Error("away"), { overloaded })));
  const TenantObject = new Proxy(exports.TenantObject, {
    get: (objects, member) => (member === "getByName" ? () => keeper : (Reflect.get(objects, member) as unknown)),
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

/** In the directory and in its object, with a lease that ends at once where a test needs it asked again. */
async function made(document: TenantDocument): Promise<string> {
  const tenant = freshTenant();
  const entry = await directoryOf(env, tenant.id).add(tenant.id, { jurisdiction: null, region: null });
  const policy = createRpcClient(tenant.stub, policyStore);
  await policy.create({ created: entry.created, own: document, effective: document, actor: ANN, action: "create" });
  return tenant.id;
}

it("an unknown name looks like a private tenant, whatever tenants there are", async () => {
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
  it.each<[string, TenantDocument, boolean]>([
    ["is open", { mode: "open" }, false],
    ["takes keys", { mode: "key" }, false],
    ["is only asked too much", { mode: "open" }, true],
  ])("a tenant that %s is unavailable, with a Retry-After", async (_what, document, overloaded) => {
    const id = await made(document);
    await ask(id, LIST);
    evictPolicy(id);
    const { response } = await ask(id, LIST, { bindings: away(overloaded) });
    expect(response.status).toBe(503);
    expect(Number(response.headers.get("retry-after"))).toBeGreaterThanOrEqual(5);
  });
});

it("a name that does not exist looks protected though this isolate served it before it was deleted", async () => {
  await made({ mode: "key" });
  const id = await made({ mode: "open", maxStalenessMs: 50 });
  expect((await ask(id, LIST)).response.status).toBe(200);
  const policy = createRpcClient(anyTenant(id), policyStore);
  const created = (await policy.tenantUid(false)) ?? "";
  const over = deadlineFrom(await policy.close(created));
  await directoryOf(env, id).remove({ id, created });
  await waitForLeases(over);
  const gone = await ask(id, LIST);
  const never = await ask("never-3", LIST);
  expect([gone.response.status, gone.message]).toEqual([never.response.status, never.message]);
  expect(gone.response.status).toBe(401);
});
