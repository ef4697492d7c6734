// The export of a tenant that is written to ended with the first resource that had changed since it was listed: it never ended for
// a tenant that is written to all the time. A body that changed is read again, with what is said of it, some times.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { FakeAdmin } from "../support/fake-admin.ts";
import { commandLine } from "../support/command-line.ts";

/** Each of the next `times` readings of a body finds it changed since it was listed. */
function write(admin: FakeAdmin, times: number): void {
  admin.addTenant("acme");
  admin.addResource("acme", "docs://still.md", "still");
  admin.addResource("acme", "docs://busy.md", "version 0");
  const resources = admin.tenants.get("acme")?.resources;
  if (!resources) throw new Error("there is no tenant");
  const get = resources.get.bind(resources);
  let version = 0;
  resources.get = (uri) => {
    if (uri === "docs://busy.md" && version < times) {
      version += 1;
      admin.addResource("acme", uri, `version ${version}`);
    }
    return get(uri);
  };
}

test("what changes while it is exported is exported as it is then, body and description alike", async () => {
  const { admin, cli, folder } = await commandLine();
  write(admin, 3);
  expect(await cli.run(["export", "acme"])).toMatchObject({ exit: 0 });
  expect(await readFile(join(folder, "acme/resources/docs/busy.md"), "utf8")).toBe("version 3");
  const applied = await cli.run(["apply", "-f", "acme"]);
  expect(applied.stdout).toContain("2 files: 0 uploaded, 2 unchanged");
});

test("what never stops changing ends the export, and it is said what", async () => {
  const { admin, cli } = await commandLine();
  write(admin, Infinity);
  const { exit, stderr } = await cli.run(["export", "acme"]);
  expect(exit).not.toBe(0);
  expect(stderr).toContain("docs://busy.md changed during the download");
});
