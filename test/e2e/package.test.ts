// What is in the tarball and what its types say to a consumer. That it runs is shown by own-tools.test.ts.

import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { packedPackage } from "../support/packed-package.ts";

const ROOT = join(import.meta.dirname, "../..");
const CONSUMER = `
import { admin, createWorker, defineTool } from "tenantry";
import * as z from "zod";

const double = defineTool({
  name: "double",
  description: "Twice a number.",
  input: z.object({ n: z.number() }),
  handler: ({ n }, ctx) => \`\${n.toFixed(0)} for \${ctx.tenant.id}\`,
});

const worker = createWorker({ tools: [double], tenants: { acme: {} }, features: [admin()] });

export const { ContentObject, DirectoryObject, HubObject, PlatformObject, SessionObject, StoredRuns, TenantObject } = worker.exports;

export default worker;
`;

interface Manifest {
  readonly version: string;
  readonly dependencies: Record<string, string>;
  readonly peerDependencies?: Record<string, string>;
}

let unpacked: string;
let files: readonly string[];

beforeAll(async () => {
  ({ folder: unpacked, files } = await packedPackage());
});

test("the tarball has JavaScript and declarations of the package, and what a reader wants, and nothing else", () => {
  expect(files).toEqual(expect.arrayContaining(["dist/tenantry.js", "dist/tenantry.d.ts", "LICENSE", "README.md"]));
  const others = files.filter((path) => !/^dist\/.*\.(js|d\.ts)$/.test(path)).toSorted();
  expect(others).toEqual(["CHANGELOG.md", "LICENSE", "README.md", "package.json"]);
});

test("the tarball has neither the demo nor this repository's own Worker nor tests", () => {
  expect(files.filter((path) => /(?:^|\/)(?:demo|test)\/|\/worker\./.test(path))).toEqual([]);
});

test("what dist imports is in dist or a dependency", () => {
  const manifest = JSON.parse(readFileSync(join(unpacked, "package.json"), "utf8")) as Manifest;
  expect(Object.keys(manifest.dependencies).toSorted()).toEqual([
    "@cfworker/json-schema",
    "commander",
    "hono",
    "jose",
    "oauth4webapi",
    "yaml",
    "zod",
  ]);
  expect(manifest.peerDependencies).toBeUndefined();
  const wanted = files
    .filter((path) => path.endsWith(".js"))
    .flatMap((path) => importsIn(path).map((specifier) => ({ path, specifier })));
  expect(wanted.length).toBeGreaterThan(50);
  const missing = wanted.filter(({ path, specifier }) =>
    specifier.startsWith(".")
      ? !files.includes(join(dirname(path), specifier))
      : !specifier.startsWith("cloudflare:") &&
        !(path.startsWith("dist/clients/") && specifier.startsWith("node:")) &&
        !(packageOf(specifier) in manifest.dependencies),
  );
  expect(missing).toEqual([]);
});

describe.each(["bundler", "nodenext"])("a consumer with moduleResolution %s", (resolution) => {
  test("type-checks without skipLibCheck", () => {
    const { status, output } = typecheck(CONSUMER, resolution);
    expect(output).toBe("");
    expect(status).toBe(0);
  });

  test("is told of a mistake in a handler's arguments", () => {
    const { status, output } = typecheck(CONSUMER.replace("n.toFixed(0)", "n.toUpperCase()"), resolution);
    expect(output).toContain("Property 'toUpperCase' does not exist on type 'number'");
    expect(status).not.toBe(0);
  });
});

/** A folder outside this repository that has the package as npm would unpack it, with its dependencies. */
function typecheck(source: string, resolution: string): { status: number | null; output: string } {
  const folder = mkdtempSync(join(tmpdir(), "tenantry-consumer-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const modules = join(folder, "node_modules");
  cpSync(unpacked, join(modules, "tenantry"), { recursive: true });
  for (const name of ["@cfworker/json-schema", "@cloudflare/workers-types", "hono", "oauth4webapi", "zod"]) {
    mkdirSync(dirname(join(modules, name)), { recursive: true });
    symlinkSync(join(ROOT, "node_modules", name), join(modules, name), "dir");
  }
  const compilerOptions = {
    target: "es2024",
    lib: ["es2024"],
    module: resolution === "nodenext" ? "nodenext" : "esnext",
    moduleResolution: resolution,
    types: ["@cloudflare/workers-types"],
    strict: true,
    skipLibCheck: false,
    noEmit: true,
  };
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, include: ["worker.ts"] }));
  writeFileSync(join(folder, "worker.ts"), source);
  const compiler = join(ROOT, "node_modules/typescript/bin/tsc");
  const { status, stdout } = spawnSync(process.execPath, [compiler, "--pretty", "false"], {
    cwd: folder,
    encoding: "utf8",
  });
  return { status, output: stdout };
}

function importsIn(path: string): string[] {
  const text = readFileSync(join(unpacked, path), "utf8");
  return [...text.matchAll(/^(?:import|export)\s[^;]*?\bfrom "([^"]+)";/gm)].map((match) => match[1] ?? "");
}

function packageOf(specifier: string): string {
  return /^(?:@[^/]+\/)?[^/]+/.exec(specifier)?.[0] ?? specifier;
}
