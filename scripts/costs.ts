// `npm run costs [-- --count]`: writes docs/costs.md from what was counted. With `--count` it is counted again before.

import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import type { BilledTable } from "./costs/billed.ts";
import { costsPage } from "./costs/page.ts";

const ROOT = join(import.meta.dirname, "..");
const PAGE = join(ROOT, "docs/costs.md");
const TABLE = join(ROOT, "scripts/costs/billed.json");
const COUNTING = ["run", "test/e2e/billed-operations.test.ts"];

const { values } = parseArgs({ options: { count: { type: "boolean", default: false } } });

function run(program: string, args: readonly string[], env: Readonly<Record<string, string>> = {}): void {
  const options = { cwd: ROOT, stdio: "inherit", env: { ...process.env, ...env } } as const;
  const { status } = spawnSync(join(ROOT, "node_modules/.bin", program), args, options);
  if (status !== 0) throw new Error(`${program} failed`);
}

if (values.count) run("vitest", COUNTING, { COSTS: "count" });
writeFileSync(PAGE, costsPage(JSON.parse(readFileSync(TABLE, "utf8")) as BilledTable));
run("oxfmt", [PAGE, TABLE]);
