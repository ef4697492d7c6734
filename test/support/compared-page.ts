// What docs/compared.md says of packages, and what is true of them now, in one form: without times, which are another
// machine's.

import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { comparedPage, type Compared } from "../../bench/authors/compared-page.ts";
import { compare, furnish } from "../../bench/authors/comparing.ts";
import type { Product } from "../../bench/authors/mistakes.ts";
import { PRODUCTS } from "../../bench/authors/products.ts";
import { packedPackage } from "./packed-package.ts";

/** By package, its cells of the table, each after what it is about, and what authors read. */
export type Rows = ReadonlyMap<string, readonly string[]>;

/** `others`: packages that are installed in bench/authors. */
export async function measureComparison(products: readonly Product[], others: readonly string[]): Promise<Rows> {
  const folder = await mkdtemp(join(tmpdir(), "compared-"));
  try {
    await furnish(folder, (await packedPackage()).folder, others);
    const compared: Compared[] = [];
    for (const product of products) compared.push(await compare(product, folder, 0));
    return textResult(comparedPage(compared));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

export async function readComparison(): Promise<Rows> {
  return textResult(await readFile(join(import.meta.dirname, "../../docs/compared.md"), "utf8"));
}

function textResult(page: string): Rows {
  const lines = page.split("\n");
  const rows = lines.filter((line) => line.startsWith("|")).map((line) => line.split("|").map((cell) => cell.trim()));
  const [head = [], , ...body] = rows;
  const kept = body.filter(([, about = ""]) => !about.startsWith("milliseconds from saving"));
  return new Map(
    Object.values(PRODUCTS)
      .filter(({ title }) => head.includes(title))
      .map(({ title }) => {
        const cells = kept.map((row) => `${row[1]}: ${row[head.indexOf(title)]}`);
        return [title, [...cells, ...lines.filter((line) => line.startsWith(`${title}, `))]];
      }),
  );
}
