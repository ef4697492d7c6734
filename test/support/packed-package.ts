// The package as `npm pack` makes it, once for all test files, in a copy of what it is made of: nothing that runs
// beside the tests sees a `dist` come and go.

import { execFile } from "node:child_process";
import { cp, mkdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { shellEnvironment } from "./application.ts";
import { oncePerRun } from "./once-per-run.ts";

const ROOT = join(import.meta.dirname, "../..");
const MADE_OF = ["package.json", "README.md", "CHANGELOG.md", "LICENSE", "tsconfig.json", "docs", "src", "scripts"];
const CONTENTS = "contents.json";

export interface PackedPackage {
  readonly tarball: string;
  /** What is in it, unpacked. */
  readonly folder: string;
  /** Paths in there, as npm lists them. */
  readonly files: readonly string[];
}

export async function packedPackage(): Promise<PackedPackage> {
  const made = await oncePerRun("package", pack);
  const { filename, files } = JSON.parse(await readFile(join(made, CONTENTS), "utf8")) as Listed;
  return { tarball: join(made, filename), folder: join(made, "package"), files: files.map(({ path }) => path) };
}

interface Listed {
  readonly filename: string;
  readonly files: readonly { readonly path: string }[];
}

async function pack(folder: string): Promise<void> {
  const source = join(folder, "source");
  await mkdir(source);
  await Promise.all(MADE_OF.map((path) => cp(join(ROOT, path), join(source, path), { recursive: true })));
  await symlink(join(ROOT, "node_modules"), join(source, "node_modules"), "dir");
  const run = promisify(execFile);
  const settings = { cwd: source, env: shellEnvironment() };
  await run("npm", ["run", "prepack", "--silent"], settings);
  // Without the scripts, whose output would stand before the JSON; prepack has just run.
  const args = ["pack", "--json", "--ignore-scripts", "--pack-destination", folder];
  const { stdout } = await run("npm", args, settings);
  const packed = JSON.parse(stdout) as unknown;
  const [listed] = (Array.isArray(packed) ? packed : Object.values(packed as object)) as Listed[];
  if (!listed) throw new Error(`npm pack listed nothing: ${stdout}`);
  await writeFile(join(folder, CONTENTS), JSON.stringify(listed));
  await run("tar", ["-xzf", join(folder, listed.filename), "-C", folder]);
  await rm(source, { recursive: true });
}
