// A folder that somebody else could write makes `restore` upload nothing from elsewhere on this machine, and what is no backup is said
// before anything is sent.

import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { commandLine } from "../support/command-line.ts";

const KEPT = { tenant: "acme", keys: [], suspensions: [], secrets: [], approved: {} };

async function backedUp(memo: unknown = KEPT) {
  const here = await commandLine();
  const backup = join(here.folder, "backup");
  await mkdir(join(backup, "resources"), { recursive: true });
  await writeFile(join(here.folder, "id_ed25519"), "a private key");
  await writeFile(join(backup, "tenant.yaml"), "id: acme\nmode: open\n");
  const line = { uri: "file:///a", file: "resources/a", name: "a", mimeType: "text/plain" };
  await writeFile(join(backup, "resources.ndjson"), `${JSON.stringify(line)}\n`);
  await writeFile(join(backup, "kept.json"), JSON.stringify(memo));
  return { ...here, backup };
}

test("a link in the place of a body is refused before anything is sent", async () => {
  const { admin, cli, backup } = await backedUp();
  await symlink("../../id_ed25519", join(backup, "resources/a"));
  const { exit, stderr } = await cli.run(["restore", "backup"]);
  expect([exit, stderr]).toEqual([2, expect.stringContaining("must be a file, and not a link")]);
  expect([admin.requests, admin.tenants.size]).toEqual([[], 0]);
});

test("a link in the place of a folder of bodies is refused before anything is sent", async () => {
  const { admin, cli, backup, folder } = await backedUp();
  await mkdir(join(folder, "home"));
  await writeFile(join(folder, "home/a"), "somebody's");
  await symlink("../../home", join(backup, "resources/deep"));
  const line = { uri: "file:///a", file: "resources/deep/a", name: "a", mimeType: "text/plain" };
  await writeFile(join(backup, "resources.ndjson"), `${JSON.stringify(line)}\n`);
  const { exit, stderr } = await cli.run(["restore", "backup"]);
  expect([exit, stderr]).toEqual([2, expect.stringContaining("must be a file, and not a link")]);
  expect(admin.requests).toEqual([]);
});

test.each([
  ["nothing", null],
  ["a list", []],
  ["no lists", { ...KEPT, keys: "all" }],
  ["no approvals", { ...KEPT, approved: undefined }],
  ["approvals of another shape", { ...KEPT, approved: { far: "all" } }],
])("kept.json with %s is refused before anything is sent", async (_what, kept) => {
  const { admin, cli, backup } = await backedUp(kept);
  await writeFile(join(backup, "resources/a"), "A");
  const { exit, stderr } = await cli.run(["restore", "backup"]);
  expect([exit, stderr]).toEqual([2, expect.stringContaining("kept.json: is not a file of tenantry backup")]);
  expect(admin.requests).toEqual([]);
});
