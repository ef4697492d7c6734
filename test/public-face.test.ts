// What the package exports is what authors use: each name is imported by an example, or by a block of a page.

import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { pageBlocks } from "./support/page-blocks.ts";

const ROOT = join(import.meta.dirname, "..");
const read = (file: string) => readFileSync(join(ROOT, file), "utf8");

const examples = globSync("examples/**/*.ts", { cwd: ROOT, exclude: (path) => path.includes("node_modules") }).map(
  read,
);
const blocks = pageBlocks().flatMap(({ language, text }) => (language === "ts" ? text : []));

/** From an entry of the package, by whoever imports names from it. */
function importedFrom(entry: string): ReadonlySet<string> {
  const imports = new RegExp(`import (?:type )?\\{([^}]*)\\} from "${entry}"`, "g");
  const lists = [...examples, ...blocks].flatMap((text) => [...text.matchAll(imports)]);
  return new Set(lists.flatMap(([, names = ""]) => names.split(",").map((name) => name.trim().replace(/^type /, ""))));
}

it.each([
  ["tenantry", "api/tenantry.md"],
  ["tenantry/admin", "api/admin.md"],
  ["tenantry/testing", "api/testing.md"],
])("each name that %s exports is used on a page or in an example", (entry, report) => {
  const exported = [...read(report).matchAll(/^- (\w+)$/gm)].map(([, name = ""]) => name);
  expect(exported.length).toBeGreaterThan(3);
  const used = importedFrom(entry);
  expect(exported.filter((name) => !used.has(name))).toEqual([]);
});
