import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { scriptOptions } from "../../scripts/script-options.ts";
import { installPackages } from "../../test/support/install-packages.ts";
import { comparedPage } from "./compared-page.ts";
import { compare, furnish, peers } from "./comparing.ts";
import type { Product } from "./mistakes.ts";
import { PRODUCTS } from "./products.ts";

const ROOT = join(import.meta.dirname, "../..");
const PAGE = join(ROOT, "docs/compared.md");
const NAMES = Object.keys(PRODUCTS) as readonly Product[];

async function main(): Promise<void> {
  const values = scriptOptions(
    `npx node bench/authors/compare.ts [--only PRODUCT] [--saves N]

Writes docs/compared.md: the same first tool in four packages, ten mistakes in each and the messages about them, and the
time from saving a file to a call that has it. Minutes.

  --only PRODUCT  print only ${NAMES.join(", ")}
  --saves N       how often a file is saved, else 5`,
    { only: { type: "string" }, saves: { type: "string", default: "5" } },
  );
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
