// Compares one package: its first tool, that tool with each of the mistakes, and who says what about them when.

import { cp, mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Compared } from "./compared-page.ts";
import { MISTAKES, type Mistake, type Product } from "./mistakes.ts";
import { caughtByTypes, type Finding } from "./products.ts";
import { caughtRunning, savedToCalled } from "./running.ts";

const ROOT = join(import.meta.dirname, "../..");
const OURS = ["@cloudflare/workers-types", "@types/node", "eventsource-parser", "hono", "jose", "zod"];

/** `saves`: how often the time from saving to a call is taken. */
export async function compare(product: Product, folder: string, saves: number): Promise<Compared> {
  const whole = await readFile(join(import.meta.dirname, "first-tool", `${product}.ts`), "utf8");
  const right = await find(product, folder, whole);
  if (right.when !== "never") throw new Error(`${product}: the first tool itself: ${right.when}: ${right.message}`);
  const findings = [];
  for (const mistake of MISTAKES) findings.push(await find(product, folder, withMistake(whole, product, mistake)));
  return {
    product,
    lines: whole.split("\n").filter((line) => line.trim() !== "").length,
    findings,
    saves: saves === 0 ? [] : await savedToCalled(product, folder, { whole, times: saves }),
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

/**
 * A project as an author has it: the packages, and what wrangler wants. `tenantry`: where the built package is; `others`: which
 * packages that are installed here it has beside it.
 */
export async function furnish(folder: string, tenantry: string, others: readonly string[]): Promise<void> {
  const modules = join(folder, "node_modules");
  const own = join(modules, "tenantry");
  await mkdir(own, { recursive: true });
  for (const part of ["package.json", "dist"]) await cp(join(tenantry, part), join(own, part), { recursive: true });
  const theirs = others.filter((name) => !OURS.includes(name));
  const links = [
    ...OURS.map((name) => [name, join(ROOT, "node_modules", name)] as const),
    ...theirs.map((name) => [name, join(import.meta.dirname, "node_modules", name)] as const),
  ];
  for (const [name, target] of links) {
    await mkdir(dirname(join(modules, name)), { recursive: true });
    await symlink(target, join(modules, name), "dir");
  }
  await writeFile(join(folder, "package.json"), '{ "type": "module" }');
  const wrangler = await readFile(join(ROOT, "examples/mounted-app/wrangler.toml"), "utf8");
  await writeFile(join(folder, "wrangler.toml"), wrangler.replace(/^main = .*$/m, 'main = "server.ts"'));
}

/** The packages that are compared with ours, and what they need. */
export async function peers(): Promise<readonly string[]> {
  const { dependencies } = JSON.parse(await readFile(join(import.meta.dirname, "package.json"), "utf8")) as {
    readonly dependencies: Readonly<Record<string, string>>;
  };
  return Object.keys(dependencies);
}
