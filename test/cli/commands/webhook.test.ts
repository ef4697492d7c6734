// `tenantry webhook`: who is told, and trying one.

import { expect, test } from "vitest";
import { commandLine } from "../../support/command-line.ts";

async function serving(json: object) {
  const { admin, cli } = await commandLine();
  admin.addTenant("acme");
  admin.intercept = ({ url }) => (url.includes("/webhooks") ? { json } : undefined);
  return { admin, cli };
}

test("webhooks are listed with their events, and how many deliveries wait", async () => {
  const items = [{ name: "ops", url: "https://ops.example.com/", events: null, enabled: true }];
  const { cli } = await serving({ items, waiting: 2, dropped: 1 });
  const { stdout } = await cli.run(["webhook", "list", "acme"]);
  expect(stdout).toMatch(/ops +https:\/\/ops\.example\.com\/ +all +yes/);
  expect(stdout).toContain("2 waiting, 1 given up");
});

test("a test says whether it was taken, and fails where it was not", async () => {
  const taken = await serving({ delivered: true, status: 204, why: null, milliseconds: 12 });
  expect((await taken.cli.run(["webhook", "test", "acme", "ops"])).stdout).toContain("ops accepted it: 204, in 12 ms");
  expect(taken.admin.requests.at(-1)).toBe("POST /admin/v1/tenants/acme/webhooks/ops/test");
  const refused = await serving({ delivered: false, status: 500, why: "it answered 500", milliseconds: 12 });
  const { exit, stderr } = await refused.cli.run(["webhook", "test", "acme", "ops"]);
  expect([exit, stderr]).toEqual([1, expect.stringContaining("ops did not accept it: it answered 500")]);
});
