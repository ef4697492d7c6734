// Of what stands behind no two dashes npm keeps every option. By npm itself, with a script that has the name of ours.

import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { shellEnvironment } from "../../support/application.ts";
import { commandLine } from "../../support/command-line.ts";

const MAIN = join(import.meta.dirname, "../../../src/clients/cli/main.ts");

async function throughNpm(...args: string[]): Promise<{ exit: unknown; said: string }> {
  const { admin, folder } = await commandLine();
  const scripts = { tenantry: `"${process.execPath}" "${MAIN}"` };
  await writeFile(join(folder, "package.json"), JSON.stringify({ name: "shop", scripts }));
  const env = { ...shellEnvironment(), HOME: folder, TENANTRY_URL: admin.url, TENANTRY_TOKEN: "wrong" };
  return new Promise((resolve) => {
    execFile("npm", ["run", "-s", "tenantry", ...args], { cwd: folder, env }, (error, _stdout, stderr) => {
      resolve({ exit: error?.code ?? 0, said: `${stderr}${admin.requests.join(" ")}` });
    });
  });
}

test.each([
  [["tenant", "list", "--url", "http://127.0.0.1:1"], "npm run -s tenantry -- tenant list --url"],
  [["operator", "create", "ann", "--role=tenant-admin"], "npm run -s tenantry -- operator create --role"],
  [["suspend", "acme", "--tool", "note_write"], "npm run -s tenantry -- suspend --tool"],
  [["key", "create", "acme", "--scope", "read"], "npm run -s tenantry -- key create --scope"],
  [["apply", "-f", "tenant.yaml", "--dry-run"], "npm run -s tenantry -- apply --dry-run"],
  [["tenant", "list", "--json"], "npm run -s tenantry -- tenant list --json"],
])(
  "npm run tenantry %j, without two dashes, is refused with how it is typed, and nothing is asked",
  async (args, typed) => {
    const { exit, said } = await throughNpm(...args);
    expect(exit).toBe(2);
    expect(said.trim()).toMatch(new RegExp(`two dashes are missing: ${typed}$`));
  },
);

test.each([
  [["--scope", "@acme", "--", "key", "create", "acme", "-n", "x", "--scope", "read", "--url", "http://127.0.0.1:1"]],
  [["--yes", "--", "resource", "delete", "acme", "--prefix", "a", "--yes", "--url", "http://127.0.0.1:1"]],
])("what npm has of its own is not ours, and with the two dashes nothing is kept: %j", async (args) => {
  const { exit, said } = await throughNpm(...args);
  expect([exit, said]).toEqual([6, expect.stringContaining("127.0.0.1:1")]);
});
