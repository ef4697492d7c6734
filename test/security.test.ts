// SECURITY.md keeps to what there is: every promise names tests that exist and an attack that is made, no attack stands
// for nothing, and what it says of settings and rules is what they are.

import { existsSync, globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ATTACKS } from "../scripts/attack/all-attacks.ts";

const ROOT = join(import.meta.dirname, "..");
const read = (file: string) => readFileSync(join(ROOT, file), "utf8");
const page = read("SECURITY.md");

interface Promised {
  readonly promise: string;
  readonly tests: readonly string[];
  readonly attack: string;
}

function sectionOf(text: string, title: string): string {
  return new RegExp(`^## ${title}$([\\s\\S]*?)^## `, "m").exec(text)?.[1] ?? "";
}

function promisesOf(text: string): readonly Promised[] {
  const tests = new Map(
    [...sectionOf(text, "Tests of the promises").matchAll(/^- \*\*(.+?)\*\*:([^\n]*(?:\n {2}[^\n]*)*)/gm)].map(
      ([, attack = "", files = ""]) => [attack, [...files.matchAll(/`([^`]+)`/g)].map(([, file = ""]) => file)],
    ),
  );
  const rows = sectionOf(text, "Promises")
    .split("\n")
    .filter((line) => line.startsWith("|"));
  return rows.slice(2).map((row) => {
    const [promise = "", attack = ""] = row
      .split("|")
      .slice(1)
      .map((cell) => cell.trim());
    return { promise, tests: tests.get(attack) ?? [], attack };
  });
}

/** What is wrong with a promise; nothing where it is held by tests that exist, and tried by an attack that does. */
function faultsOf({ promise, tests, attack }: Promised): readonly string[] {
  const missing = tests.filter((file) => !existsSync(join(ROOT, file)));
  const empty = tests.filter((file) => !missing.includes(file) && !/^\s*(?:it|test)[.(]/m.test(read(file)));
  return [
    ...(promise === "" ? ["a row without a promise"] : []),
    ...(tests.length === 0 ? [`"${promise}" names no test`] : []),
    ...missing.map((file) => `${file} does not exist`),
    ...empty.map((file) => `${file} has no test`),
    ...(ATTACKS.some(({ name }) => name === attack) ? [] : [`there is no attack "${attack}"`]),
  ];
}

describe("the promises", () => {
  const promises = promisesOf(page);

  it("are there", () => {
    expect(promises.length).toBeGreaterThanOrEqual(15);
  });

  it.each(promises)("$promise", (promised) => {
    expect(faultsOf(promised)).toEqual([]);
  });

  it("leave no attack out", () => {
    expect(promises.map(({ attack }) => attack).toSorted()).toEqual(ATTACKS.map(({ name }) => name).toSorted());
  });

  it("would be seen broken", () => {
    const table =
      "## Promises\n\n| a | b |\n| - | - |\n| nothing | none |\n| gone | roles |\n\n## Tests of the promises\n\n" +
      "- **roles**: `test/no.test.ts`,\n  `SECURITY.md`\n\n## End\n";
    expect(promisesOf(table).flatMap(faultsOf)).toEqual([
      '"nothing" names no test',
      'there is no attack "none"',
      "test/no.test.ts does not exist",
      "SECURITY.md has no test",
    ]);
  });
});

it("names boundaries that are folders or files of src", () => {
  const named = [...sectionOf(page, "Boundaries").matchAll(/^\| ([^|]*`[^|]*)\|/gm)].flatMap(([, cell = ""]) =>
    [...cell.matchAll(/`([^`]+)`/g)].map(([, path = ""]) => path),
  );
  expect(named.length).toBeGreaterThan(5);
  const missing = named.filter(
    (path) => !existsSync(join(ROOT, "src", path)) && !existsSync(join(ROOT, `src/${path}.ts`)),
  );
  expect(missing).toEqual([]);
});

it.each(globSync("{,examples/*/,test/fixtures/}wrangler.toml", { cwd: ROOT }))(
  "%s keeps fetch to the public internet",
  (file) => {
    expect(read(file)).toMatch(/^compatibility_flags = \[.*"global_fetch_strictly_public".*\]$/m);
  },
);

it("docs/outbound.md has every rule of the way out, and no other", () => {
  const rules = [...read("src/outbound/outbound-error.ts").matchAll(/^ {2}(\w+): "/gm)].map(([, rule = ""]) => rule);
  const shown = [...read("docs/outbound.md").matchAll(/^\| `([a-z]+)` /gm)].map(([, rule = ""]) => rule);
  expect(rules.length).toBeGreaterThan(10);
  expect(shown.toSorted()).toEqual(rules.toSorted());
});
