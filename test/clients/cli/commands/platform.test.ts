// What belongs to no tenant, from the shell: base documents, runs of them, and tools that are blocked everywhere.

import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { commandLine } from "../../../support/command-line.ts";

const AT = "2026-11-25T10:00:00.123Z";

test("a base document is written, printed as YAML, listed and deleted", async () => {
  const { admin, cli, folder } = await commandLine();
  await writeFile(join(folder, "standard.yaml"), "title: Standard\n");
  const put = await cli.run(["base", "put", "standard", "-f", "standard.yaml"]);
  expect(put).toEqual({
    exit: 0,
    stdout: "standard: written (revision 1)\n",
    stderr: "Tenants take it when they are applied next: tenantry fleet apply standard -f standard.yaml\n",
  });
  expect((await cli.run(["base", "show", "standard"])).stdout).toBe("title: Standard\n");
  const items = [{ name: "standard", revision: 1, tenants: 2, changed: AT }];
  admin.intercept = ({ method }) => (method === "GET" ? { json: { items } } : { status: 204 });
  expect((await cli.run(["base", "list"])).stdout).toBe(
    "BASE      REVISION  TENANTS  CHANGED\nstandard         1        2  2026-11-25T10:00:00Z\n",
  );
  expect((await cli.run(["base", "delete", "standard", "--yes"])).stdout).toBe("standard is deleted\n");
  expect(admin.requests.at(-1)).toBe("DELETE /admin/v1/bases/standard");
});

test("what a base breaks is said where it stands in the file", async () => {
  const { admin, cli, folder } = await commandLine();
  await writeFile(join(folder, "standard.yaml"), "title: Standard\ntools:\n  note_wriet: {}\n");
  const errors = [{ field: "tools.note_wriet", rule: "there is no tool of this name: did you mean note_write?" }];
  admin.intercept = () => ({ status: 422, json: { title: "The input breaks a rule", status: 422, errors } });
  const { exit, stderr } = await cli.run(["base", "put", "standard", "-f", "standard.yaml"]);
  expect({ exit, stderr }).toEqual({
    exit: 1,
    stderr:
      "tenantry: The input breaks a rule: tools.note_wriet (standard.yaml:3:3): there is no tool of this name: did you mean note_write?\n",
  });
});

test("runs are listed, a dry run as one", async () => {
  const { admin, cli } = await commandLine();
  const run = { id: "run-2", base: "standard", state: "done", dryRun: true, continueOnError: false, created: AT };
  const items = [{ ...run, total: 3, done: 3, failed: [{ tenant: "a", error: "x" }], effectiveAt: null }];
  admin.intercept = () => ({ json: { items } });
  expect((await cli.run(["fleet", "list"])).stdout).toBe(
    "RUN    BASE      STATE            BEGUN                 TENANTS  FAILED\n" +
      "run-2  standard  done, a dry run  2026-11-25T10:00:00Z  3 of 3        1\n",
  );
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
