// `tenantry restore` of what is no backup; backups and the way back are in test/e2e/backup.test.ts.

import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { commandLine } from "../../support/command-line.ts";

test("a folder that is no backup is refused with what writes one, and nothing is asked", async () => {
  const folder = await mkdtemp(join(tmpdir(), "tenantry-restore-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const { admin, cli } = await commandLine();
  let requestCount = 0;
  admin.intercept = () => void requestCount++;
  const { exit, stderr } = await cli.run(["restore", folder]);
  expect([exit, requestCount]).toEqual([2, 0]);
  expect(stderr).toContain(
    "kept.json does not exist: tenantry backup writes it. For a folder of tenantry export, run tenantry apply -f",
  );
});

test.each([
  ["acme2", "tenantry: keys of acme now also work at /mcp/acme2\n"],
  ["acme", ""],
])("keys that are restored as %s are said to open it where the name is another", async (name, warning) => {
  const { admin, cli, folder } = await commandLine();
  const backup = join(folder, "backup");
  await mkdir(backup);
  await writeFile(join(backup, "tenant.yaml"), "id: acme\nmode: key\n");
  await writeFile(join(backup, "resources.ndjson"), "");
  const content = { tenant: "acme", keys: [{ id: "Yk3v0Qp8sD" }], suspensions: [], secrets: [], approved: {} };
  await writeFile(join(backup, "kept.json"), JSON.stringify(content));
  admin.intercept = ({ url }) => (url.endsWith("/backup") ? { json: { rows: 1 } } : undefined);
  const { exit, stderr } = await cli.run(["restore", "backup", "-t", name, "--quiet"]);
  expect([exit, stderr]).toEqual([0, warning]);
});
