// npm keeps what stands before two dashes: `npm run deploy --env=staging` deployed the Worker that everybody uses, `npm run setup --dry-run`
// made what it was to say, and `npm start --port=9000` started at another port.

import { execFile } from "node:child_process";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { keptByNpm } from "../../scripts/script-options.ts";

const ROOT = join(import.meta.dirname, "../..");

function ranIn(folder: string, script: string, kept: Readonly<Record<string, string>>): Promise<string> {
  const env = { ...process.env, ...kept };
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      [join(ROOT, `scripts/${script}.ts`)],
      { cwd: folder, env },
      (_error, _stdout, stderr) => {
        resolve(stderr);
      },
    );
  });
}

test.each([
  { script: "deploy", kept: { npm_config_env: "staging" }, says: "npm run deploy -- --env staging\n" },
  { script: "deploy", kept: { npm_config_check: "" }, says: "npm run deploy -- --no-check\n" },
  { script: "setup", kept: { npm_config_dry_run: "true" }, says: "npm run setup -- --dry-run\n" },
  { script: "start", kept: { npm_config_port: "9000" }, says: "npm start -- --port 9000\n" },
  { script: "start", kept: { npm_config_persist_to: "there" }, says: "npm start -- --persist-to there\n" },
])("$script does nothing without $kept, which npm kept, and says how it is written", async ({ script, kept, says }) => {
  const folder = await mkdtemp(join(tmpdir(), "tenantry-npm-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  expect(await ranIn(folder, script, kept)).toContain(`two dashes are missing: ${says}`);
  expect(await readdir(folder)).toEqual([]);
});

test("a value that npm handed on is said with its option", () => {
  expect(keptByNpm(["env"], ["staging"], { npm_config_env: "true" })).toBe("--env staging");
  expect(keptByNpm(["env"], [], { npm_config_dry_run: "true" })).toBeUndefined();
});
