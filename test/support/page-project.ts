// The TypeScript of pages as their readers have it: files of a project in which `tenantry` is a package, whose modules
// and types are those of the sources.

import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { onTestFinished } from "vitest";

const ROOT = join(import.meta.dirname, "../..");
/** What pages import beside it. */
const PACKAGES = ["@cloudflare", "@modelcontextprotocol", "eventsource-parser", "hono", "jose", "vitest", "zod"];

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

/** Where they are, until the test ends. */
export function projectOf(files: ReadonlyMap<string, string>): string {
  const folder = mkdtempSync(join(tmpdir(), "tenantry-pages-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  linkPackages(join(folder, "node_modules"));
  const compilerOptions = { types: ["@cloudflare/workers-types"], noUnusedLocals: false, noUnusedParameters: false };
  const config = { extends: join(ROOT, "tsconfig.json"), compilerOptions, include: ["**/*.ts"], exclude: [] };
  const own = [
    ["package.json", '{ "type": "module" }'],
    ["tsconfig.json", JSON.stringify(config)],
    ["node.d.ts", NODE],
  ] as const;
  for (const [name, text] of [...own, ...files]) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  return folder;
}

/** What tsc says, a line for each error and what belongs to it; empty where all is well. */
export function typeErrors(folder: string): string {
  const tsc = join(ROOT, "node_modules/typescript/bin/tsc");
  return spawnSync(process.execPath, [tsc, "--pretty", "false"], { cwd: folder, encoding: "utf8" }).stdout;
}

function linkPackages(modules: string): void {
  mkdirSync(join(modules, "tenantry"), { recursive: true });
  symlinkSync(join(ROOT, "src"), join(modules, "tenantry/src"), "dir");
  const { exports } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as { exports: unknown };
  const inSources = JSON.stringify(exports)
    .replaceAll("./dist/", "./src/")
    .replaceAll(/(?:\.d\.ts|\.js)"/g, '.ts"');
  const own = { name: "tenantry", type: "module", exports: JSON.parse(inSources) as unknown };
  writeFileSync(join(modules, "tenantry/package.json"), JSON.stringify(own));
  for (const name of PACKAGES) symlinkSync(join(ROOT, "node_modules", name), join(modules, name), "dir");
}
