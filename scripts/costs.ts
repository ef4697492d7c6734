import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { BilledTable } from "./costs/billed.ts";
import { costsPage } from "./costs/page.ts";
import { scriptOptions } from "./script-options.ts";

const ROOT = join(import.meta.dirname, "..");
const PAGE = join(ROOT, "docs/costs.md");
const TABLE = join(ROOT, "scripts/costs/billed.json");
const COUNTING = ["run", "test/e2e/billed-operations.test.ts"];

const { count } = scriptOptions(
  `npx node scripts/costs.ts [--count]

Writes docs/costs.md from scripts/costs/billed.json: what Cloudflare bills for each kind of request. 1 second.

  --count  count the requests again first, and write billed.json, too; a minute`,
  { count: { type: "boolean", default: false } },
);

function run(program: string, args: readonly string[], env: Readonly<Record<string, string>> = {}): void {
  const options = { cwd: ROOT, stdio: "inherit", env: { ...process.env, ...env } } as const;
  const { status } = spawnSync(join(ROOT, "node_modules/.bin", program), args, options);
  if (status !== 0) throw new Error(`${program} failed`);
}

if (count) run("vitest", COUNTING, { COSTS: "count" });
writeFileSync(PAGE, costsPage(JSON.parse(readFileSync(TABLE, "utf8")) as BilledTable));
run("oxfmt", [PAGE, TABLE]);
