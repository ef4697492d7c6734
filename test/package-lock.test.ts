// `npm ci` refuses a package-lock.json that lacks a package, also one for another platform. npm writes such a file where
// its registry does not have them all, and says nothing; the next clean checkout fails.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

interface Locked {
  readonly version?: string;
  readonly dependencies?: Record<string, string>;
  readonly devDependencies?: Record<string, string>;
  readonly optionalDependencies?: Record<string, string>;
}

const ROOT = join(import.meta.dirname, "..");
const { packages } = read("package-lock.json") as { packages: Record<string, Locked> };

test("package-lock.json asks for what package.json asks for", () => {
  const { dependencies, devDependencies } = read("package.json") as Locked;
  expect(packages[""]).toMatchObject({ dependencies, devDependencies });
});

test("package-lock.json has every package that one in it depends on, for every platform", () => {
  const missing = Object.entries(packages).flatMap(([path, { dependencies, optionalDependencies, devDependencies }]) =>
    Object.keys({ ...dependencies, ...optionalDependencies, ...(path === "" ? devDependencies : {}) })
      .filter((name) => !isReachable(path, name))
      .map((name) => `${path || "package.json"} needs ${name}`),
  );
  expect(missing).toEqual([]);
});

/** Whether Node's way up from a package's folder leads past the other package. */
function isReachable(path: string, name: string): boolean {
  for (let folder = path; ; folder = folder.slice(0, Math.max(folder.lastIndexOf("/node_modules/"), 0))) {
    if (`${folder === "" ? "" : `${folder}/`}node_modules/${name}` in packages) return true;
    if (folder === "") return false;
  }
}

function read(file: string): unknown {
  return JSON.parse(readFileSync(join(ROOT, file), "utf8"));
}
