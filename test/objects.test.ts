// `tenantry/objects` has every class and entrypoint that a Worker needs, and the configurations of the repository name every class.

import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const ROOT = join(import.meta.dirname, "..");
const read = (file: string) => readFileSync(join(ROOT, file), "utf8");
/** The names in the list that follows. */
const listed = (text: string, before: RegExp) =>
  [...(before.exec(text)?.[1] ?? "").matchAll(/"(\w+)"/g)].map(([, name]) => name ?? "");

const classes = listed(read("src/tenants/directory/namespaces.ts"), /CLASSES = \[([^\]]*)\]/);
const entrypoints = listed(read("src/deployment/check-configuration.ts"), /ENTRYPOINTS = \[([^\]]*)\]/);

test("it exports the classes and the entrypoints, and nothing else", () => {
  const exported = [...read("src/objects.ts").matchAll(/^export (?:\{ (\w+) \}|class (\w+))/gm)];
  const names = exported.map(([, handed, own]) => handed ?? own ?? "");
  expect(names.toSorted()).toEqual([...classes, ...entrypoints].toSorted());
});

const configurations = globSync(["wrangler.toml", "{test/fixtures,examples/*,bench/workers}/*.toml"], { cwd: ROOT });

test.each(configurations)("%s names every class in a migration", (file) => {
  expect(listed(read(file), /new_sqlite_classes = \[([^\]]*)\]/).toSorted()).toEqual(classes.toSorted());
});
