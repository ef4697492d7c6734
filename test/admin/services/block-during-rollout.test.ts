// A tenant-admin saw a block of all tenants before it reached their tenant, and renamed the tool in time.

import { exports } from "cloudflare:workers";
import { expect, it } from "vitest";
import { ask, newTenant, operator } from "../../support/workerd/admin.ts";
import { spoil } from "../platform-faults.ts";
import { upstreamAt } from "../../support/workerd/upstreams.ts";

const lost = () => Promise.reject(new Error("Network connection lost."));

it("a block on its way keeps a tenant-admin from changing the upstreams", async () => {
  const url = upstreamAt(lost);
  const bounds = { upstreamBounds: { hosts: [new URL(url).host], most: 5 } };
  const id = await newTenant({ ...bounds, upstreams: { crm: { url } } });
  const { token } = await operator("tenant-admin", { tenants: [id] });
  const back = await spoil(exports.TenantObject.getByName(id), (method) =>
    method === "policy.takeBlocks" ? lost() : undefined,
  );
  await ask("POST", "/tools/crm__go/block", { json: { note: "recalled" } });
  const rename = () =>
    ask("PUT", `/tenants/${id}/document`, {
      token,
      json: { mode: "open", ...bounds, upstreams: { crm2: { url } } },
    });
  expect(await rename()).toMatchObject({
    status: 403,
    body: { errors: [{ field: "upstreams", rule: expect.stringContaining("stopped the tool crm__go") as string }] },
  });
  back();
  await ask("DELETE", "/tools/crm__go/block");
  await expect.poll(async () => (await rename()).status).toBe(200);
});
