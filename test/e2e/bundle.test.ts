// What `wrangler deploy` would upload: that it builds from wrangler.toml, and how much of it a cold start must load.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { BUNDLE_BUDGET } from "../../bench/budgets.ts";
import { BUILD_MS, deployedFolder } from "./deployed-worker.ts";

test(
  "wrangler deploy --dry-run succeeds with a bundle of at most 1 MiB gzip",
  async () => {
    const folder = await deployedFolder();
    const uploaded = readdirSync(folder).filter((name) => !name.endsWith(".map") && name !== "README.md");
    expect(uploaded).toContain("worker.js");
    const bytes = uploaded.reduce((sum, name) => sum + gzipSync(readFileSync(join(folder, name))).length, 0);
    expect(bytes).toBeLessThanOrEqual(BUNDLE_BUDGET);
  },
  BUILD_MS,
);
