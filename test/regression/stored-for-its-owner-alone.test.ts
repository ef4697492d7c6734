// What `npm start` stores and `tenantry backup` writes was for every user of the machine to read, sealing keys among it, with
// which whoever reads them signs in.

import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { startApplication } from "../support/application.ts";
import { CommandLine } from "../support/command-line.ts";

const folder = mkdtempSync(join(tmpdir(), "tenantry-private-"));
const state = join(folder, "state");
// Others may read it.
mkdirSync(state);
chmodSync(state, 0o755);
const application = await startApplication(state);
afterAll(async () => {
  await application.stop();
  rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
});

function modesIn(of: string): string[] {
  const modes = readdirSync(of, { recursive: true, withFileTypes: true }).map((entry) => {
    const mode = (statSync(join(entry.parentPath, entry.name)).mode & 0o777).toString(8);
    return `${entry.isDirectory() ? "folder" : "file"} ${mode}`;
  });
  return [...new Set([...modes, `folder ${(statSync(of).mode & 0o777).toString(8)}`])].toSorted();
}

test("a backup, also in a folder that was there", async () => {
  const env = { HOME: folder, TENANTRY_URL: application.origin, TENANTRY_TOKEN: application.adminToken };
  const cli = new CommandLine(folder, env);
  await cli.print("tenant", "create", "acme");
  writeFileSync(join(folder, "body.txt"), "A");
  await cli.print("resource", "put", "acme", "body.txt", "--uri", "file:///deep/a.txt");
  mkdirSync(join(folder, "there"));
  chmodSync(join(folder, "there"), 0o755);
  for (const to of ["fresh", "there"]) {
    await cli.print("backup", "acme", "-o", to);
    expect([to, modesIn(join(folder, to))]).toEqual([to, ["file 600", "folder 700"]]);
  }
});

test("the folder of what is stored, and all that wrangler writes there", () => {
  expect(modesIn(state)).toEqual(["file 600", "folder 700"]);
});
