// What the code reports is on a page: each counter, each member of a request's event, each environment variable of the command line.
// Commands, members of the tenant document, the Worker's variables and errors are on pages that `npm run reference` writes.

import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { COUNTERS } from "../src/telemetry/counters.ts";
import { GAUGES } from "../src/telemetry/gauges.ts";
import { BLOBS, DOUBLES } from "../src/telemetry/request-event.ts";

const ROOT = join(import.meta.dirname, "..");
const read = (file: string) => readFileSync(join(ROOT, file), "utf8");
const missing = (names: Iterable<string>, text: string) =>
  [...new Set(names)].filter((name) => !text.includes(`\`${name}`));

/** The first cells of the tables. */
const telemetry = [...read("docs/telemetry.md").matchAll(/^\| ([^|]*)\|/gm)].map(([, cell]) => cell).join("\n");

test("docs/telemetry.md has every counter and level", () => {
  expect(missing(Object.keys({ ...COUNTERS.total, ...GAUGES }), telemetry)).toEqual([]);
});

test("docs/telemetry.md has every column of a request's event", () => {
  expect(missing([...BLOBS, ...DOUBLES], telemetry)).toEqual([]);
});

test("a page has every environment variable of the command line", () => {
  const pages = globSync(["README.md", "docs/*.md"], { cwd: ROOT }).map(read).join("\n");
  const names = globSync("src/cli/**/*.ts", { cwd: ROOT }).flatMap(
    (file) => read(file).match(/\bTENANTRY_[A-Z_]+\b/g) ?? [],
  );
  expect([...new Set(names)].filter((name) => !pages.includes(name))).toEqual([]);
});
