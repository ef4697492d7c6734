// The pages on resources, questions and testing keep to what there is: each block is a file, type-checked against the package's own face
// and run by node:test.

import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";

const ROOT = join(import.meta.dirname, "..");

/** By name, the files that a page shows. */
function filesOf(page: string): ReadonlyMap<string, string> {
  const blocks = readFileSync(join(ROOT, "docs", page), "utf8").matchAll(
    /^```ts\n\/\/ ([\w.-]+\.ts)\n([\s\S]*?)^```$/gm,
  );
  return new Map([...blocks].map(([, name = "", code = ""]) => [name, code]));
}

/** Of Node's modules what the pages use: its types are others than those of Workers, which the sources are checked with. */
const NODE = `
declare module "node:test" {
  export default function test(name: string, run: () => Promise<void>): void;
}
declare module "node:assert/strict" {
  const assert: { equal(a: unknown, b: unknown): void; deepEqual(a: unknown, b: unknown): void };
  export default assert;
}
`;

/** A folder that has the sources as the package `tenantry`. */
function folderOf(files: ReadonlyMap<string, string>): string {
  const folder = mkdtempSync(join(tmpdir(), "tenantry-page-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const modules = join(folder, "node_modules");
  mkdirSync(join(modules, "tenantry"), { recursive: true });
  symlinkSync(join(ROOT, "src"), join(modules, "tenantry/src"), "dir");
  const { exports } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as { exports: unknown };
  const inSources = JSON.stringify(exports)
    .replaceAll("./dist/", "./src/")
    .replaceAll(/(?:\.d\.ts|\.js)"/g, '.ts"');
  const own = { name: "tenantry", type: "module", exports: JSON.parse(inSources) as unknown };
  writeFileSync(join(modules, "tenantry/package.json"), JSON.stringify(own));
  for (const name of ["zod", "@cloudflare"]) {
    symlinkSync(join(ROOT, "node_modules", name), join(modules, name), "dir");
  }
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  const compilerOptions = { types: ["@cloudflare/workers-types"] };
  const config = { extends: join(ROOT, "tsconfig.json"), compilerOptions, include: ["*.ts"], exclude: [] };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
  writeFileSync(join(folder, "node.d.ts"), NODE);
  for (const [name, code] of files) writeFileSync(join(folder, name), code);
  return folder;
}

function run(folder: string, args: readonly string[]): { readonly status: number | null; readonly output: string } {
  const env = { ...process.env, NODE_TEST_CONTEXT: undefined, NODE_OPTIONS: undefined };
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: folder, encoding: "utf8", env });
  return { status, output: stdout + stderr };
}

const check = (folder: string) => run(folder, [join(ROOT, "node_modules/typescript/bin/tsc"), "--pretty", "false"]);

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
    const folder = folderOf(files);
    expect(check(folder)).toEqual({ status: 0, output: "" });
    const { status, output } = run(folder, ["--test", "--test-reporter=tap"]);
    expect(output).toContain("# pass 14\n");
    expect(status).toBe(0);
  });

  it("would be seen untrue", () => {
    const folder = folderOf(new Map([...files, ["wrong.ts", 'import { defineTools } from "tenantry";\n']]));
    expect(check(folder).output).toContain("wrong.ts");
  });
});
