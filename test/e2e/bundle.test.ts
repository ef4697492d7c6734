// What `wrangler deploy` would upload: that it builds from wrangler.toml, and how much of it a cold start must load.

import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { expect, onTestFinished, test } from "vitest";

const ROOT = join(import.meta.dirname, "../..");
const WRANGLER = join(ROOT, "node_modules/wrangler/bin/wrangler.js");
const BUDGET_KIB = 120;

test(`wrangler deploy --dry-run succeeds with a bundle of at most ${BUDGET_KIB} KiB gzip`, () => {
  const folder = mkdtempSync(join(tmpdir(), "tenantry-bundle-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [WRANGLER, "deploy", "--dry-run", "--outdir", folder],
    { cwd: ROOT, encoding: "utf8", env: { ...process.env, WRANGLER_SEND_METRICS: "false" } },
  );
  expect(status, stdout + stderr).toBe(0);
  expect(stdout).toContain("--dry-run: exiting now");

  const uploaded = readdirSync(folder).filter((name) => !name.endsWith(".map") && name !== "README.md");
  expect(uploaded).toContain("worker.js");
  const kibibytes = sum(uploaded.map((name) => gzipSync(readFileSync(join(folder, name))).length)) / 1024;
  console.log(`Worker bundle: ${kibibytes.toFixed(1)} KiB gzip of ${BUDGET_KIB} KiB (${uploaded.length} modules)`);
  expect(kibibytes).toBeLessThanOrEqual(BUDGET_KIB);
});

function sum(numbers: number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
