// What `wrangler deploy` would upload: that it builds from wrangler.toml, and how much of it a cold start must load. Once
// with everything, and once with tools alone, which shows that a feature that nobody asked for is not in it.

import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { expect, onTestFinished, test } from "vitest";
import { BUNDLE_BUDGETS } from "../../bench/budgets.ts";
import { bundle } from "../../bench/runtime.ts";
import { BUILD_MS, deployedFolder } from "../support/deployed-worker.ts";

const { toolsAlone, everything } = BUNDLE_BUDGETS;

test(
  `wrangler deploy --dry-run succeeds with a bundle of at most ${kibibytes(everything)} gzip`,
  async () => {
    const folder = await deployedFolder();
    const uploaded = readdirSync(folder).filter((name) => !name.endsWith(".map") && name !== "README.md");
    expect(uploaded).toContain("worker.js");
    const bytes = sum(uploaded.map((name) => gzipSync(readFileSync(join(folder, name))).length));
    console.log(`Worker bundle: ${kibibytes(bytes)} gzip of ${kibibytes(everything)} (${uploaded.length} modules)`);
    expect(bytes).toBeLessThanOrEqual(everything);
  },
  BUILD_MS,
);

test(
  `a Worker with tools alone, built the same way, has at most ${kibibytes(toolsAlone)} gzip`,
  async () => {
    const { gzipBytes, modules } = await bundle("workers/tools-alone.ts", emptyFolder());
    console.log(`Tools alone: ${kibibytes(gzipBytes)} gzip of ${kibibytes(toolsAlone)} (${modules.length} modules)`);
    expect(gzipBytes).toBeLessThanOrEqual(toolsAlone);
  },
  BUILD_MS,
);

function emptyFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "tenantry-bundle-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

function kibibytes(bytes: number): string {
  return `${(bytes / 1024).toFixed(1)} KiB`;
}

function sum(numbers: number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
