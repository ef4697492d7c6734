// `tenantry operator`: who may use the admin API.

import { expect, test } from "vitest";
import { commandLine } from "../../support/command-line.ts";

test("operators are created with a role, listed and deleted", async () => {
  const { admin, cli } = await commandLine();
  const args = ["operator", "create", "team", "--role", "tenant-admin", "-t", "acme", "-t", "globex"];
  expect((await cli.run(args)).stdout).toBe("tno_shown_once\n");
  expect(admin.operators.get("team")).toMatchObject({ role: "tenant-admin", tenants: ["acme", "globex"] });
  expect((await cli.run(["operator", "list"])).stdout).toMatch(/^team +tenant-admin +acme, globex /m);
  expect((await cli.run(["operator", "delete", "team", "-y"])).exit).toBe(0);
  expect(admin.operators.size).toBe(0);
});
