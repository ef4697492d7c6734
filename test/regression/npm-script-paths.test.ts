// npm runs a script in the folder of its package.json; a path that a person writes is one of the folder where they are.

import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { commandLine } from "../support/command-line.ts";

async function subfolder() {
  const { admin, cli, folder } = await commandLine();
  const there = join(folder, "tenants");
  await mkdir(there);
  await writeFile(join(there, "acme.yaml"), "id: acme\ntitle: Acme\n");
  return { admin, cli, folder, there };
}

test("npm run tenantry in a subfolder reads and writes files of that folder", async () => {
  const { admin, cli, there } = await subfolder();
  const env = { npm_lifecycle_event: "tenantry", INIT_CWD: there };
  expect(await cli.run(["apply", "-f", "acme.yaml"], { env })).toMatchObject({ exit: 0, stderr: "" });
  expect(admin.tenants.get("acme")?.own).toEqual({ title: "Acme" });
  expect(await cli.run(["export", "acme", "-o", "copy"], { env })).toMatchObject({ exit: 0 });
  expect(await readFile(join(there, "copy/tenant.yaml"), "utf8")).toContain("title: Acme");
});

test("a script of another name, which chose its folder itself, has paths of that one", async () => {
  const { cli, there } = await subfolder();
  const env = { npm_lifecycle_event: "deploy", INIT_CWD: there };
  expect(await cli.run(["apply", "-f", "tenants/acme.yaml"], { env })).toMatchObject({ exit: 0 });
});
