// `tenantry restore` of what is no backup; backups and the way back are in test/e2e/backup.test.ts.

import { mkdtemp, rm } from "node:fs/promises";
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
    "kept.json is not there: tenantry backup writes it; for a folder of export, tenantry apply -f",
  );
});
