// What pages list by hand is complete. `npm run reference` writes the pages of commands, routes, fields, errors, metrics and the
// Worker's variables.

import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { TENANT_EVENTS } from "../src/tenants/object/tenant-events.ts";

const ROOT = join(import.meta.dirname, "..");
const read = (file: string) => readFileSync(join(ROOT, file), "utf8");

test("a page has every environment variable of the command line", () => {
  const pages = globSync(["README.md", "docs/*.md"], { cwd: ROOT }).map(read).join("\n");
  const names = globSync("src/cli/**/*.ts", { cwd: ROOT }).flatMap(
    (file) => read(file).match(/\bTENANTRY_[A-Z_]+\b/g) ?? [],
  );
  expect([...new Set(names)].filter((name) => !pages.includes(name))).toEqual([]);
});

test("the page of webhooks has every event", () => {
  const page = read("docs/webhooks.md");
  expect(TENANT_EVENTS.filter((event) => !page.includes(`\`${event}\``))).toEqual([]);
});
