// `npm run compare`: the same first tool in four packages, ten mistakes in each, and who says what about them when; and how long
// an author waits from saving a file to a call that has it. Writes docs/compared.md. Needs what package.json here names.

import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs, promisify } from "node:util";
import { installPackages } from "../../test/support/install-packages.ts";
import { comparedPage, type Compared } from "./compared-page.ts";
import { MISTAKES, type Mistake, type Product } from "./mistakes.ts";
import { caughtByTypes, PRODUCTS, type Finding } from "./products.ts";
import { caughtRunning, savedToCalled } from "./running.ts";

const ROOT = join(import.meta.dirname, "../..");
const PAGE = join(ROOT, "docs/compared.md");
const NAMES = Object.keys(PRODUCTS) as readonly Product[];

async function main(): Promise<void> {
  const { values } = parseArgs({ options: { only: { type: "string" }, saves: { type: "string", default: "5" } } });
  await installPackages(import.meta.dirname);
  await promisify(execFile)("npm", ["run", "build"], { cwd: ROOT });
  const folder = await mkdtemp(join(tmpdir(), "compared-"));
  try {
    await furnish(folder);
    const chosen = NAMES.filter((name) => values.only === undefined || values.only === name);
    const compared = [];
    for (const product of chosen) compared.push(await compare(product, folder, Number(values.saves)));
    const page = comparedPage(compared);
    if (values.only === undefined) await writeFile(PAGE, page);
    process.stdout.write(page);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function compare(product: Product, folder: string, saves: number): Promise<Compared> {
  const whole = await readFile(join(import.meta.dirname, "first-tool", `${product}.ts`), "utf8");
  const right = await find(product, folder, whole);
  if (right.when !== "never") throw new Error(`${product}: the first tool itself: ${right.when}: ${right.message}`);
  const findings = [];
  for (const mistake of MISTAKES) findings.push(await find(product, folder, withMistake(whole, product, mistake)));
  return {
    product,
    lines: whole.split("\n").filter((line) => line.trim() !== "").length,
    findings,
    saves: await savedToCalled(product, folder, { whole, times: saves }),
  };
}

function withMistake(whole: string, product: Product, { title, written }: Mistake): string {
  const [from, to] = written[product] ?? written.all ?? [];
  if (from === undefined || to === undefined) throw new Error(`${title}: ${product} is not in the table`);
  if (whole.split(from).length !== 2) throw new Error(`${title}: ${product}: "${from}" is not there once`);
  return whole.replace(from, () => to);
}

async function find(product: Product, folder: string, text: string): Promise<Finding> {
  await writeFile(join(folder, "server.ts"), text);
  return (await caughtByTypes(product, folder)) ?? caughtRunning(product, folder);
}

/** A project as an author has it: the packages, a configuration of TypeScript for each kind, and what wrangler wants. */
async function furnish(folder: string): Promise<void> {
  const modules = join(folder, "node_modules");
  await mkdir(modules);
  const { dependencies } = JSON.parse(await readFile(join(import.meta.dirname, "package.json"), "utf8")) as {
    readonly dependencies: Readonly<Record<string, string>>;
  };
  const links = [
    ...Object.keys(dependencies).map((name) => [name, join(import.meta.dirname, "node_modules", name)] as const),
    ...["@types/node", "@cloudflare/workers-types"].map((name) => [name, join(ROOT, "node_modules", name)] as const),
    ["tenantry", ROOT] as const,
  ];
  for (const [name, target] of links) {
    await mkdir(join(modules, name, ".."), { recursive: true });
    await symlink(target, join(modules, name), "dir");
  }
  await writeFile(join(folder, "package.json"), '{ "type": "module" }');
  const wrangler = await readFile(join(ROOT, "examples/mounted-app/wrangler.toml"), "utf8");
  await writeFile(join(folder, "wrangler.toml"), wrangler.replace(/^main = .*$/m, 'main = "server.ts"'));
}

await main();
