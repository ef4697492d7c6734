// One object was in the way of every cold request of every tenant. Now KV says where a tenant is, and who is nobody's is asked of
// the object that has the name.

import { beforeAll, expect, test } from "vitest";
import { sharedWorkerPair, type SharedWorkerPair } from "../support/worker-pair.ts";

let workers: SharedWorkerPair;
beforeAll(async () => {
  workers = await sharedWorkerPair();
});

async function ping(tenant: string): Promise<number> {
  const { status } = await fetch(`${workers.two.origin}/mcp/${tenant}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" }),
  });
  return status;
}

test.each(["open", "key"])("a cold request of a tenant (%s) is one call to an object, its lease", async (mode) => {
  const id = `cold-${mode}`;
  await workers.one.admin("POST", "/tenants", { id, document: { mode } });
  await expect.poll(() => workers.one.value(`placement/${id}`)).toContain("created");
  await workers.two.reset();
  expect(await ping(id)).toBe(mode === "open" ? 200 : 401);
  expect(await workers.two.calls()).toEqual(["BODIES get", "TenantObject policy.lease"]);
});

test("a name of nobody is one call too, and brings no tenant's object to life", async () => {
  await workers.both[0].reset();
  await workers.two.reset();
  expect(await ping("nobody-at-all")).toBe(401);
  expect(await workers.two.calls()).toEqual(["BODIES get", "DirectoryObject lookup"]);
  expect(await workers.one.lives()).not.toContain("TenantObject");
});

test("many names bring many objects to life, and a tenant that was deleted is asked about once more", async () => {
  await workers.one.admin("POST", "/tenants", { id: "ends", document: { mode: "open", maxStalenessMs: 50 } });
  await expect.poll(() => workers.one.value("placement/ends")).toContain("created");
  expect(await ping("ends")).toBe(200);
  await workers.one.admin("DELETE", "/tenants/ends");
  expect(await workers.one.value("placement/ends")).toBeNull();
  await workers.two.reset();
  expect(await ping("ends")).toBe(401);
  expect(await workers.two.calls()).toEqual(["TenantObject policy.lease", "DirectoryObject lookup"]);
});
