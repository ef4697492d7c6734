// `npm run compare`: the same first tool in four packages, ten mistakes in each, and who says what about them when; and how long
// an author waits from saving a file to a call that has it. Writes docs/compared.md. Needs what package.json here names.

import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs, promisify } from "node:util";
import { installPackages } from "../../test/support/install-packages.ts";
import { comparedPage } from "./compared-page.ts";
import { compare, furnish, peers } from "./comparing.ts";
import type { Product } from "./mistakes.ts";
import { PRODUCTS } from "./products.ts";

const ROOT = join(import.meta.dirname, "../..");
const PAGE = join(ROOT, "docs/compared.md");
const NAMES = Object.keys(PRODUCTS) as readonly Product[];

async function main(): Promise<void> {
  const { values } = parseArgs({ options: { only: { type: "string" }, saves: { type: "string", default: "5" } } });
  const run = promisify(execFile);
  await installPackages(import.meta.dirname);
  await run("npm", ["run", "build"], { cwd: ROOT });
  const folder = await mkdtemp(join(tmpdir(), "compared-"));
  try {
    await furnish(folder, ROOT, await peers());
    const chosen = NAMES.filter((name) => values.only === undefined || values.only === name);
    const compared = [];
    for (const product of chosen) compared.push(await compare(product, folder, Number(values.saves)));
    const page = comparedPage(compared);
    process.stdout.write(page);
    if (values.only !== undefined) return;
    await writeFile(PAGE, page);
    await run("npx", ["oxfmt", PAGE], { cwd: ROOT });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

await main();
