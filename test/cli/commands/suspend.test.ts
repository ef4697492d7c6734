// `tenantry suspend` and `tenantry resume`.

import { expect, test } from "vitest";
import { commandLine } from "../../support/command-line.ts";

test.each([
  { args: ["acme"], key: "tenant ", says: "acme" },
  { args: ["acme", "--profile", "public"], key: "profile public", says: "profile public of acme" },
  { args: ["acme", "--principal", "key1"], key: "principal key1", says: "principal key1 of acme" },
  { args: ["acme", "--tool", "note_write"], key: "tool note_write", says: "tool note_write of acme" },
])("suspend and resume $args", async ({ args, key, says }) => {
  const { admin, cli } = await commandLine();
  const tenant = admin.addTenant("acme");
  expect((await cli.run(["suspend", ...args, "--note", "Unpaid"])).stdout).toBe(`${says}: suspended\n`);
  expect(tenant.suspensions.get(key)?.note).toBe("Unpaid");
  expect((await cli.run(["tenant", "show", "acme"])).stdout).toMatch(/^suspended .*: Unpaid$/m);
  const state = key === "tenant " ? "suspended" : "active";
  expect((await cli.run(["tenant", "show", "acme"])).stdout).toMatch(new RegExp(`^state +${state}$`, "m"));
  const listed = async () => (await cli.run(["tenant", "list"])).stdout;
  expect(await listed()).toMatch(new RegExp(`^acme +${state} `, "m"));
  expect((await cli.run(["resume", ...args])).stdout).toBe(`${says}: resumed\n`);
  expect(await listed()).toMatch(/^acme +active /m);
  expect(tenant.suspensions.size).toBe(0);
  expect((await cli.run(["resume", ...args])).exit).toBe(3);
});
