// The authority after a later release was rolled back: its tables have columns that this one does not know. What is written
// to them is written all the same.

import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { expect, it } from "vitest";
import { gatewayTables } from "../../src/gateway/gateway-tables.ts";
import { resultTables } from "../../src/gateway/budget/result-tables.ts";
import { reviewTables } from "../../src/gateway/review/review-tables.ts";
import { sectionTables } from "../../src/tenants/authority/section-tables.ts";
import { policyTables } from "../../src/tenants/authority/policy-tables.ts";
import { remote } from "../../src/tenants/authority/tables.ts";
import { servedTenant } from "../support/workerd/served-tenant.ts";
import { rowsOf } from "../support/workerd/tenant.ts";

it("upstreams are read, reviewed and kept where every table has a column more", async () => {
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
  const gateway = remote(stub, gatewayTables);
  const one = { id: "up", config: "c" };
  expect(await gateway.due({ revision: 1, upstreams: [one] })).toMatchObject({ claimed: ["up"] });
  expect(await gateway.own({ ...one, uris: ["x://1"] })).toEqual([]);
  const definition = { kind: "tool", name: "go", digest: "d", text: "{}" };
  expect(await remote(stub, reviewTables).seen({ ...one, definitions: [definition] })).toBe("kept");
  expect(await gateway.settle({ ...one, why: null, afterMs: 0, chance: 0 })).toBeNull();
  const body = new Uint8Array([123, 125]).buffer;
  const section = { name: "upstream:up", hash: "h", body, resent: null, unstored: true };
  expect(await remote(stub, sectionTables).put(section)).toMatchObject({ state: "written" });
  const kept = { id: "r", owner: "o", principal: "p", tool: "go", body: new Uint8Array(10) };
  expect(await remote(stub, resultTables).keep(kept)).toBeGreaterThan(0);
  const actor = { name: "ann" };
  await remote(stub, policyTables).suspend({ kind: "tool", name: "go", note: "n" }, actor);
  expect(await rowsOf(tenant, "SELECT id FROM upstreams")).toEqual([{ id: "up" }]);
});
