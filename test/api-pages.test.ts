// The pages on resources, questions and testing keep to what there is: each block is a file that node:test
// runs. test/pages-blocks.test.ts type-checks them.

import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { projectOf } from "./support/page-project.ts";

const ROOT = join(import.meta.dirname, "..");

/** By name, the files that a page shows. */
function filesOf(page: string): ReadonlyMap<string, string> {
  const blocks = readFileSync(join(ROOT, "docs", page), "utf8").matchAll(
    /^```ts\n\/\/ ([\w.-]+\.ts)\n([\s\S]*?)^```$/gm,
  );
  return new Map([...blocks].map(([, name = "", code = ""]) => [name, code]));
}

function run(folder: string, args: readonly string[]): { readonly status: number | null; readonly output: string } {
  const env = { ...process.env, NODE_TEST_CONTEXT: undefined, NODE_OPTIONS: undefined };
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: folder, encoding: "utf8", env });
  return { status, output: stdout + stderr };
}

it("the tests that docs/api-questions.md, docs/api-resources.md and docs/api-testing.md show pass", () => {
  const files = ["api-questions.md", "api-resources.md", "api-testing.md"].flatMap((page) => [...filesOf(page)]);
  const { status, output } = run(projectOf(new Map(files)), ["--test", "--test-reporter=tap"]);
  expect(output).toMatch(/^# pass [1-9]/m);
  expect(status, output).toBe(0);
});
