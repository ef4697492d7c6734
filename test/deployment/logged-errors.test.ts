// An error whose id a client was told is found again by operators, and by the tenant's own administrator; of another tenant
// nobody is shown anything, and what is kept is bounded.

import { createExecutionContext, waitOnExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { admin, createWorker, defineTool, telemetry, type Env } from "../../src/tenantry.ts";
import { errorLogStore } from "../../src/tenants/object/error-log-store.ts";
import { createRpcClient } from "../../src/tenants/object/store.ts";
import { ROOT } from "../support/workerd/admin.ts";
import { freshTenant } from "../support/workerd/tenant.ts";

const SECRET = "tnt_0123456789abcdef";

const worker = createWorker({
  tenants: { faulty: { mode: "open" }, other: { mode: "open" } },
  tools: [
    defineTool({
      name: "breaks",
      handler: () => {
        throw new Error(`broken by ${SECRET}`, { cause: new Error("the cause") });
      },
    }),
  ],
  features: [admin(), telemetry({ to: () => {} })],
});
const bindings = { ...env, ADMIN_TOKEN: ROOT } as Env;

async function send(url: string, init: RequestInit): Promise<Response> {
  const ctx = createExecutionContext();
  const response = await worker.fetch(new Request(`https://mcp.example.com${url}`, init), bindings, ctx);
  const text = await response.text();
  await waitOnExecutionContext(ctx);
  return new Response(text, response);
}

async function broken(tenant: string): Promise<string> {
  const message = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "breaks" } };
  const headers = { "content-type": "application/json", "mcp-protocol-version": "2025-11-25" };
  const answered = await send(`/mcp/${tenant}`, { method: "POST", headers, body: JSON.stringify(message) });
  return /under request ([\w-]+)/.exec(await answered.text())?.[1] ?? "";
}

interface Fault {
  readonly requestId: string;
  readonly tenant: string;
  readonly message: string;
  readonly stack: string;
}

const ask = async (path: string, token = ROOT) =>
  send(`/admin/v1${path}`, { headers: { authorization: `Bearer ${token}` } });
const faultsAt = async (path: string, token = ROOT) =>
  (await (await ask(path, token)).json<{ items: readonly Fault[] }>()).items;

beforeEach(() => {
  const logged = vi.spyOn(console, "error").mockImplementation(() => {});
  return () => logged.mockRestore();
});

describe("an error whose id a client got", () => {
  it("is found by that id alone, with its stack and its cause, and without what looks like a key", async () => {
    const requestId = await broken("faulty");
    await broken("faulty");
    const found = await faultsAt(`/errors?requestId=${requestId}`);
    expect(found).toMatchObject([
      { requestId, tenant: "faulty", method: "tools/call", name: "breaks", message: "Error: broken by [credential]" },
    ]);
    expect(found[0]?.stack).toContain("caused by Error: the cause");
    expect(JSON.stringify(found)).not.toContain(SECRET);
  });

  it("is among the last of its tenant, newest first, and not among another's", async () => {
    const first = await broken("faulty");
    const second = await broken("faulty");
    const elsewhere = await broken("other");
    const ids = (await faultsAt("/tenants/faulty/errors")).map(({ requestId }) => requestId);
    expect(ids.slice(0, 2)).toEqual([second, first]);
    expect(ids).not.toContain(elsewhere);
    expect(await faultsAt(`/tenants/faulty/errors?requestId=${elsewhere}`)).toEqual([]);
  });

  it("is shown to the tenant's own administrator without the stack, and to no other", async () => {
    const requestId = await broken("faulty");
    const made = await send("/admin/v1/operators", {
      method: "POST",
      headers: { authorization: `Bearer ${ROOT}`, "content-type": "application/json" },
      body: JSON.stringify({ name: `ann-${crypto.randomUUID()}`, role: "tenant-admin", tenants: ["faulty"] }),
    });
    const { token } = await made.json<{ token: string }>();
    expect(await faultsAt(`/tenants/faulty/errors?requestId=${requestId}`, token)).toMatchObject([
      { requestId, stack: "" },
    ]);
    for (const path of [`/errors?requestId=${requestId}`, "/tenants/other/errors", "/metrics"]) {
      expect((await ask(path, token)).status, path).toBeGreaterThanOrEqual(403);
    }
    expect((await ask("/errors", "nobody")).status).toBe(401);
  });
});

it("leaves room for others' errors, however often one tenant's callers make a tool fail", async () => {
  const ids = await Promise.all(Array.from({ length: 25 }, () => broken("faulty")));
  const found = (await faultsAt("/errors?limit=100")).filter(({ requestId }) => ids.includes(requestId));
  expect(found.length).toBeLessThanOrEqual(10);
});

it("keeps no more than the last two hundred of a tenant, and cuts what is long", async () => {
  const { stub } = freshTenant();
  const faults = createRpcClient(stub, errorLogStore);
  const fault = {
    tenant: "t",
    method: "m".repeat(900),
    name: "n",
    message: "x".repeat(9000),
    stack: "y".repeat(90_000),
  };
  for (let at = 0; at < 203; at += 1) await faults.recordError({ ...fault, requestId: `id-${at}` });
  const kept = await faults.listErrors({ requestId: null, before: null, limit: 1000 });
  expect(kept).toHaveLength(200);
  expect(kept.at(-1)?.requestId).toBe("id-3");
  expect(JSON.stringify(kept[0]).length).toBeLessThan(9000);
});

it("counts for operators what isolates see, refusals by the key of their error", async () => {
  // Somebody is private here, so a name of nobody is refused as a private one is.
  await send("/mcp/nobody", { method: "POST", headers: { "content-type": "application/json" }, body: "{}" });
  const { counts, refusals, levels } = await (
    await ask("/metrics")
  ).json<{
    counts: Record<string, number>;
    refusals: Record<string, number>;
    levels: Record<string, number>;
  }>();
  expect(Object.keys(levels)).toEqual(["openStreams", "backlog"]);
  expect(counts["requests"]).toBeGreaterThan(0);
  expect(refusals["unauthorized"]).toBeGreaterThan(0);
});

it("says that errors are not stored if the Worker has no telemetry()", async () => {
  const bare = createWorker({ tenants: { faulty: {} }, features: [admin()] });
  const request = new Request("https://mcp.example.com/admin/v1/errors", {
    headers: { authorization: `Bearer ${ROOT}` },
  });
  const answered = await bare.fetch(request, bindings, createExecutionContext());
  expect([answered.status, await answered.text()]).toEqual([409, expect.stringContaining("telemetry()")]);
});
