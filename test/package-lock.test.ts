// `npm ci` refuses a package-lock.json that lacks a package, also one for another platform. npm writes such a file where
// its registry does not have them all, and says nothing; the next clean checkout fails.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";

interface Locked {
  readonly version?: string;
  readonly dependencies?: Record<string, string>;
  readonly devDependencies?: Record<string, string>;
  readonly optionalDependencies?: Record<string, string>;
}

const ROOT = join(import.meta.dirname, "..");
type Packages = Readonly<Record<string, Locked>>;

describe.each([
  ".",
  "bench/peers",
  "bench/authors",
  "test/foreign",
  "test/browser",
  "test/client-builds/sdk-v1",
  "test/client-builds/others",
  "site",
])("package-lock.json of %s", (folder) => {
  const { packages } = read(join(folder, "package-lock.json")) as { packages: Packages };

  test("asks for what package.json asks for", () => {
    const { dependencies, devDependencies } = read(join(folder, "package.json")) as Locked;
    expect(packages[""]).toMatchObject(JSON.parse(JSON.stringify({ dependencies, devDependencies })) as Locked);
  });

  test("has every package that one in it depends on, for every platform", () => {
    const missing = Object.entries(packages).flatMap(
      ([path, { dependencies, optionalDependencies, devDependencies }]) =>
        Object.keys({ ...dependencies, ...optionalDependencies, ...(path === "" ? devDependencies : {}) })
          .filter((name) => !isReachable(packages, path, name))
          .map((name) => `${path || "package.json"} needs ${name}`),
    );
    expect(missing).toEqual([]);
  });
});

/** Whether Node's way up from a package's folder leads past the other package. */
function isReachable(packages: Packages, path: string, name: string): boolean {
  for (let folder = path; ; folder = folder.slice(0, Math.max(folder.lastIndexOf("/node_modules/"), 0))) {
    if (`${folder === "" ? "" : `${folder}/`}node_modules/${name}` in packages) return true;
    if (folder === "") return false;
  }
}

function read(file: string): unknown {
  return JSON.parse(readFileSync(join(ROOT, file), "utf8"));
}
