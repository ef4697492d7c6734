// `tenantry explain`: why somebody sees a thing, or does not.

import { expect, test } from "vitest";
import { commandLine } from "../../support/command-line.ts";

test("explain gives the reasons", async () => {
  const { admin, cli } = await commandLine();
  admin.addTenant("acme");
  const { stdout } = await cli.run(["explain", "acme", "tool", "note_write", "--profile", "public"]);
  expect(stdout).toBe("visible   no\ncallable  no\n\n- tools note_write\n- profile public denies it\n");
  expect((await cli.run(["explain", "acme", "resource", "file:///a b"])).stdout).toContain("- resources file:///a b");
});

test("explain says beside an upstream what helps, and what is asked where no key is named", async () => {
  const { admin, cli } = await commandLine();
  admin.addTenant("acme");
  const ask = ["explain", "acme", "tool", "barred__find"];
  const { stdout, stderr } = await cli.run(ask);
  expect(stdout).toContain(
    "- barred went fishing\n  what to do: check that the server runs, and see its log. tenantry secret set acme TOKEN, then tenantry upstream refresh acme barred\n",
  );
  expect(stdout).toContain("because   a key is what it takes\n");
  expect(stdout).toContain("\n> a key is what it takes\n");
  expect(stdout).toMatch(/\n\? principal: no key is named, so its limits are unknown\n\n> decides\n$/);
  expect(stderr).toBe(
    "This is the answer for a caller without a key. For a key, add --key ID: tenantry key list acme shows the ids.\n",
  );
  const env = { TENANTRY_KEY: "tnt_Yk3v0Qp8sD_secret" };
  expect((await cli.run(ask, { env })).stderr).toBe(
    "This is the answer for a caller without a key. For the key in TENANTRY_KEY, add --key Yk3v0Qp8sD.\n",
  );
  expect((await cli.run([...ask, "--key", "k"])).stderr).toBe("");
});
