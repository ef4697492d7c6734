// The configurations of the repository name every class of Durable Objects.

import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const ROOT = join(import.meta.dirname, "..");
const read = (file: string) => readFileSync(join(ROOT, file), "utf8");
/** The names in the list that follows. */
const listed = (text: string, before: RegExp) =>
  [...(before.exec(text)?.[1] ?? "").matchAll(/"(\w+)"/g)].map(([, name]) => name ?? "");

const classes = listed(read("src/tenants/directory/namespaces.ts"), /OBJECT_CLASSES = \[([^\]]*)\]/);

const configurations = globSync(["wrangler.toml", "{test/fixtures,examples/*,bench/workers}/*.toml"], { cwd: ROOT });

test.each(configurations)("%s names every class in a migration", (file) => {
  expect(listed(read(file), /new_sqlite_classes = \[([^\]]*)\]/).toSorted()).toEqual(classes.toSorted());
});
