// A rollback: the tables have columns that this release does not know, and writes still work.

import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { expect, it } from "vitest";
import { gatewayStore } from "../../src/gateway/gateway-store.ts";
import { resultStore } from "../../src/gateway/budget/result-store.ts";
import { reviewStore } from "../../src/gateway/review/review-store.ts";
import { sectionStore } from "../../src/tenants/object/section-store.ts";
import { policyStore } from "../../src/tenants/object/policy-store.ts";
import { createRpcClient } from "../../src/tenants/object/store.ts";
import { servedTenant } from "../support/workerd/served-tenant.ts";
import { rowsOf } from "../support/workerd/tenant.ts";

it("upstreams are read, reviewed and stored if every table has one more column", async () => {
  const tenant = await servedTenant({ mode: "open" });
  const { stub, object } = tenant;
  const added = await runInDurableObject(object, (_instance, { storage: { sql } }) => {
    const query =
      "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT GLOB '_*' AND name NOT GLOB 'sqlite_*'";
    const names = sql.exec<{ name: string }>(query).toArray();
    for (const { name } of names) sql.exec(`ALTER TABLE "${name}" ADD COLUMN of_a_later_release TEXT`);
    return names.map(({ name }) => name);
  });
  expect(added).toContain("upstreams");
  await evictDurableObject(object);
  const gateway = createRpcClient(stub, gatewayStore);
  const one = { id: "up", configHash: "c" };
  expect(await gateway.claimDue({ revision: 1, upstreams: [one] })).toMatchObject({ claimed: ["up"] });
  expect(await gateway.claimUris({ ...one, uris: ["x://1"] })).toEqual([]);
  const definition = { kind: "tool", name: "go", digest: "d", text: "{}" };
  expect(await createRpcClient(stub, reviewStore).recordListed({ ...one, definitions: [definition] })).toBe("stored");
  expect(await gateway.completeRefresh({ ...one, why: null, afterMs: 0, jitter: 0 })).toBeNull();
  const body = new Uint8Array([123, 125]).buffer;
  const section = { name: "upstream:up", hash: "h", body, resendToken: null, unstored: true };
  expect(await createRpcClient(stub, sectionStore).put(section)).toMatchObject({ state: "written" });
  const kept = { id: "r", owner: "o", principal: "p", tool: "go", body: new Uint8Array(10) };
  expect(await createRpcClient(stub, resultStore).put(kept)).toBeGreaterThan(0);
  const actor = { name: "ann" };
  await createRpcClient(stub, policyStore).suspend({ kind: "tool", name: "go", note: "n" }, actor);
  expect(await rowsOf(tenant, "SELECT id FROM upstreams")).toEqual([{ id: "up" }]);
});
