// The pages on resources, questions and testing keep to what there is: each block is a file, type-checked against the package's own face
// and run by node:test.

import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { projectOf, typeErrors } from "./support/page-project.ts";

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

describe("the files of docs/api-questions.md, docs/api-resources.md and docs/api-testing.md", () => {
  const files = new Map(
    ["api-questions.md", "api-resources.md", "api-testing.md"].flatMap((page) => [...filesOf(page)]),
  );

  it("are type-checked, and their tests pass", () => {
    expect([...files.keys()].toSorted()).toEqual(
      [
        "book.test.ts",
        "book.ts",
        "files.ts",
        "reports.ts",
        "resources.test.ts",
        "tickets.ts",
        "tools.test.ts",
        "tools.ts",
      ].toSorted(),
    );
    const folder = projectOf(files);
    expect(typeErrors(folder)).toBe("");
    const { status, output } = run(folder, ["--test", "--test-reporter=tap"]);
    expect(output).toContain("# pass 14\n");
    expect(status).toBe(0);
  });

  it("would be seen untrue", () => {
    const folder = projectOf(new Map([...files, ["wrong.ts", 'import { defineTools } from "tenantry";\n']]));
    expect(typeErrors(folder)).toContain("wrong.ts");
  });
});
