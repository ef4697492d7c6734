// The local platform has regions, which cannot be seen from inside, and no jurisdictions: asking for one fails, which
// shows that it was asked for.

import { createExecutionContext, waitOnExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { findTenant } from "../../../src/endpoint/find-tenant.ts";
import { createWorker, type Env } from "../../../src/tenantry.ts";
import { directoryOf } from "../../../src/tenants/directory/directory-stub.ts";
import { DEFAULT_PLACEMENT } from "../../../src/tenants/directory/placement.ts";
import { tenantStubOf } from "../../../src/tenants/directory/tenant-stubs.ts";
import { adminEnv, ask, newTenant, ORIGIN, rules } from "../../support/workerd/admin.ts";

const whole = adminEnv as unknown as Env;
const worker = createWorker({ tenants: { coded: {} }, hooks: { onError: () => {} } });

async function ping(tenant: string): Promise<number> {
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" });
  const request = new Request(`${ORIGIN}/mcp/${tenant}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body,
  });
  const ctx = createExecutionContext();
  const { status } = await worker.fetch(request, whole, ctx);
  await waitOnExecutionContext(ctx);
  return status;
}

it("is shown by the API and in an export, and is nowhere for a tenant that did not say", async () => {
  const json = { id: "placed", document: { mode: "open" }, region: "weur" };
  expect((await ask("POST", "/tenants", { json })).body).toMatchObject({ region: "weur", jurisdiction: null });
  expect((await ask("GET", "/tenants/placed")).body).toMatchObject({ region: "weur", jurisdiction: null });
  const [line = ""] = (await ask("GET", "/tenants/placed/export")).text.split("\n");
  expect(JSON.parse(line)).toMatchObject({ kind: "tenant", id: "placed", region: "weur", jurisdiction: null });
  for (const id of [await newTenant(), "demo"]) {
    expect((await ask("GET", `/tenants/${id}`)).body).toMatchObject(DEFAULT_PLACEMENT);
  }
  expect(await ping("placed")).toBe(200);
});

it("is asked of the directory once, and remembered with the snapshot", async () => {
  await ask("POST", "/tenants", { json: { id: "remembered", document: { mode: "open" }, region: "apac" } });
  const placement = { region: "apac", jurisdiction: null };
  const first = await findTenant(adminEnv, { tenants: new Map() }, "remembered");
  expect(first?.placement).toMatchObject(placement);
  expect(await ping("remembered")).toBe(200);
  // The directory would not know it any more.
  const { entry } = await directoryOf(env, "remembered").lookup("remembered");
  if (entry) await directoryOf(env, entry.id).remove(entry);
  expect((await findTenant(adminEnv, { tenants: new Map() }, "remembered"))?.placement).toMatchObject(placement);
});

it("decides which object a caller's request reaches", async () => {
  await directoryOf(env, "abroad").add("abroad", { region: null, jurisdiction: "eu" });
  expect(() =>
    tenantStubOf(adminEnv, { id: "abroad", placement: { region: null, jurisdiction: "eu" }, uid: "" }),
  ).toThrow();
  expect(await ping("abroad")).toBe(503);
  await directoryOf(env, "here-placed").add("here-placed", { region: null, jurisdiction: null });
  expect(await ping("here-placed")).toBe(401);
});

it("is refused where the platform does not have it, and no tenant is made", async () => {
  const refused = await ask("POST", "/tenants", { json: { id: "elsewhere", jurisdiction: "eu" } });
  expect(rules(refused)).toEqual([422, ["jurisdiction", "eu is not available here"]]);
  expect((await ask("GET", "/tenants/elsewhere")).status).toBe(404);
});
