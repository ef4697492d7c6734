// The configurations of the repository name every class of Durable Objects.

import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { OBJECT_CLASSES } from "../src/tenants/directory/object-classes.ts";

const ROOT = join(import.meta.dirname, "..");
const configurations = globSync(["wrangler.toml", "{test/fixtures,examples/*,bench/workers}/*.toml"], { cwd: ROOT });

test.each(configurations)("%s names every class in a migration", (file) => {
  const classes = /new_sqlite_classes = \[([^\]]*)\]/.exec(readFileSync(join(ROOT, file), "utf8"))?.[1];
  expect(classes?.match(/\w+/g)?.toSorted()).toEqual(OBJECT_CLASSES.toSorted());
});
