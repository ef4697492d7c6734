// What belongs to no tenant, from the shell: base documents, rollouts, and tools that are blocked everywhere.

import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { commandLine } from "../../support/command-line.ts";

const AT = "2026-11-25T10:00:00.123Z";

test("a base document is written, printed as YAML, listed and deleted", async () => {
  const { admin, cli, folder } = await commandLine();
  await writeFile(join(folder, "standard.yaml"), "title: Standard\n");
  const put = await cli.run(["base", "put", "standard", "-f", "standard.yaml"]);
  expect(put).toEqual({
    exit: 0,
    stdout: "standard: written (revision 1)\n",
    stderr: "Tenants use it from their next apply on; to change them now, run tenantry base rollout standard\n",
  });
  expect((await cli.run(["base", "show", "standard"])).stdout).toBe("title: Standard\n");
  const items = [{ name: "standard", revision: 1, tenants: 2, changed: AT }];
  admin.intercept = ({ method }) => (method === "GET" ? { json: { items } } : { status: 204 });
  expect((await cli.run(["base", "list"])).stdout).toMatch(/^standard +1 +2 +2026-11-25T10:00:00Z/m);
  expect((await cli.run(["base", "delete", "standard", "--yes"])).stdout).toBe("standard is deleted\n");
  expect(admin.requests.at(-1)).toBe("DELETE /admin/v1/bases/standard");
});

test("a rule that a base breaks is said with its place in the file", async () => {
  const { admin, cli, folder } = await commandLine();
  await writeFile(join(folder, "standard.yaml"), "title: Standard\ntools:\n  note_wriet: {}\n");
  const errors = [{ field: "tools.note_wriet", rule: "there is no tool of this name: did you mean note_write?" }];
  admin.intercept = () => ({ status: 422, json: { title: "Invalid input", status: 422, errors } });
  const { exit, stderr } = await cli.run(["base", "put", "standard", "-f", "standard.yaml"]);
  expect({ exit, stderr }).toEqual({
    exit: 1,
    stderr:
      "tenantry: Invalid input: tools.note_wriet (standard.yaml:3:3): there is no tool of this name: did you mean note_write?\n",
  });
});

const ROLLOUT = {
  version: 7,
  about: "base standard",
  state: "done",
  actor: "root",
  begun: AT,
  tenants: 3,
  missing: [],
  refused: [],
} as const;

test("rollouts are listed, shown and stopped", async () => {
  const { admin, cli } = await commandLine();
  admin.intercept = () => ({ json: { items: [{ ...ROLLOUT, missing: ["a"] }] } });
  expect((await cli.run(["rollout", "list"])).stdout).toMatch(/^ +7 +base standard +done .* 3 +1 +0$/m);
  admin.intercept = () => ({ json: { ...ROLLOUT, state: "stopped", missing: ["a"] } });
  const lines = "Rollout 7, base standard: stopped, 3 tenants visited\nnot reached: a\n";
  expect((await cli.run(["rollout", "show", "7"])).stdout).toBe(lines);
  expect((await cli.run(["rollout", "stop", "7"])).stdout).toBe(lines);
  expect(admin.requests.at(-1)).toBe("POST /admin/v1/rollouts/7/stop");
});

test("a base is rolled out, and the command follows until it is in force", async () => {
  const { admin, cli } = await commandLine();
  const requests: string[] = [];
  admin.intercept = ({ method, url }) => {
    requests.push(`${method} ${url}`);
    if (method === "POST") return { status: 202, json: { rollout: 7 } };
    return { json: { ...ROLLOUT, state: requests.length < 3 ? "running" : "done" } };
  };
  expect(await cli.run(["base", "rollout", "standard"])).toEqual({
    exit: 0,
    stdout: "Rollout 7, base standard: done, 3 tenants visited\n",
    stderr: "",
  });
  const follow = "GET /admin/v1/rollouts/7";
  expect(requests).toEqual(["POST /admin/v1/bases/standard/rollout", follow, follow]);
});

test("tenants that were not reached, or refuse a base, are named, and the command ends with 1", async () => {
  const { admin, cli } = await commandLine();
  const refused = [{ tenant: "b", error: "mode: is bad" }];
  const found = { ...ROLLOUT, state: "incomplete", missing: ["a"], refused };
  admin.intercept = ({ method }) => (method === "POST" ? { status: 202, json: { rollout: 7 } } : { json: found });
  expect(await cli.run(["base", "rollout", "standard"])).toMatchObject({
    exit: 1,
    stderr:
      "tenantry: not in effect in every tenant: 1 tenant not reached: a. The server keeps trying; refused by b: mode: is bad\n",
  });
});

test("a suspension that nobody confirmed is said to be on its way, and the command ends with 1", async () => {
  const { admin, cli } = await commandLine();
  admin.addTenant("acme");
  admin.intercept = () => ({ status: 202, json: { revision: 0, changed: true, effectiveAt: null } });
  const { exit, stderr } = await cli.run(["suspend", "acme", "--note", "n"]);
  expect(exit).toBe(1);
  expect(stderr).toContain("acme: not confirmed");
});

test("a tool is blocked in every tenant, listed and let go on, and what is no tool of the code is warned of", async () => {
  const { admin, cli } = await commandLine();
  const add = ["block", "add", "note_delete", "--note", "Fix under way"];
  expect((await cli.run(add)).stdout).toBe("note_delete: blocked in every tenant\n");
  expect(admin.blocks.get("note_delete")).toBe("Fix under way");
  expect((await cli.run(["block", "lift", "note_delete"])).stdout).toBe("note_delete: no longer blocked\n");
  admin.rewrite = (json) => ({ ...(json as object), warnings: [{ field: "name", rule: "it is not in the code" }] });
  expect((await cli.run(add)).stderr).toBe("Warning: it is not in the code\n");
  admin.rewrite = (json) => ({ ...(json as object), changed: false });
  expect(await cli.run(["block", "lift", "x"])).toMatchObject({ exit: 3, stderr: "tenantry: x: was not blocked\n" });
  admin.intercept = () => ({ json: { items: [{ name: "x", since: AT, note: "Fix" }] } });
  expect((await cli.run(["block", "list"])).stdout).toBe(
    "TOOL  SINCE                 NOTE\nx     2026-11-25T10:00:00Z  Fix\n",
  );
});

test("an operator of a tenant that is not there is made, and the name is said", async () => {
  const { admin, cli } = await commandLine();
  admin.addTenant("acme");
  const args = ["operator", "create", "ann", "--role", "tenant-admin", "--tenant", "acme", "--tenant", "nosuch"];
  const { exit, stderr } = await cli.run(args);
  expect([exit, stderr.match(/there is no tenant .*/g)]).toEqual([0, ["there is no tenant nosuch yet"]]);
  // Its token is shown this once, whatever becomes of the rest.
  admin.intercept = ({ url }) => (url.includes("/tenants/") ? { status: 403, json: {} } : undefined);
  const made = await cli.run(args.with(2, "bob"));
  expect([made.exit, made.stdout.trim()]).toEqual([0, expect.stringMatching(/./)]);
});
