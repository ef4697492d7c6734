// A page about the API shows a Worker that is there: its text is that of a fixture, which is type-checked and called.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";

const read = (file: string) => readFileSync(join(import.meta.dirname, "..", file), "utf8");

it.each([["docs/api-tools.md", "test/fixtures/api-tools-worker.ts"]])("%s shows what %s is", (page, fixture) => {
  const blocks = [...read(page).matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map(([, code]) => code);
  // A shorter path leaves all names room in one line.
  const inOneLine = (_all: string, names: string) =>
    `import { ${names.trim().split(/,\s+/).join(", ")} } from "tenantry"`;
  const source = read(fixture)
    .replace(/^\/\/.*\n\n/, "")
    .replace(/^import \{\n([^}]*),\n\} from "[^"]+"/, inOneLine)
    .replace("../../src/objects.ts", "tenantry/objects");
  expect(blocks).toEqual([source]);
});
