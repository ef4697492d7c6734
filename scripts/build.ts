// dist/ as the package ships it. What src/tenantry.ts reaches, as JavaScript and declarations; and the command
// line as one file with everything that it needs, so that a Worker's author installs nothing for it, and the licenses of that.
// The demo and the entry of this repository's own Worker are not reached, so they are not in it.

import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import { scriptOptions } from "./script-options.ts";

scriptOptions(
  "npm run build\n\nWrites dist/, the files of the npm package: modules, declarations and the command line. 15 seconds.",
  {},
);

const root = join(import.meta.dirname, "..");
const cli = join(root, "dist/cli");

/** Packages that were written for `require` find it here, for what Node itself has. */
const REQUIRE =
  'import { createRequire as requireFrom } from "node:module"; const require = requireFrom(import.meta.url);';

function compile(): boolean {
  const compiler = join(root, "node_modules/typescript/bin/tsc");
  const args = [compiler, "--project", join(root, "scripts/tsconfig.build.json")];
  return spawnSync(process.execPath, args, { stdio: "inherit" }).status === 0;
}

/** Readable, because a stack that a user reports leads into it. */
async function bundleCommandLine(): Promise<void> {
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: [join(root, "src/cli/main.ts")],
    outfile: join(cli, "main.js"),
    bundle: true,
    format: "esm",
    platform: "node",
    target: "node20",
    banner: { js: REQUIRE },
    metafile: true,
    logLevel: "warning",
  });
  const packages = Object.keys(metafile.inputs).map((path) => /.*node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1]);
  const names = [...new Set(packages.filter((name) => name !== undefined))].toSorted();
  writeFileSync(join(cli, "licenses.txt"), names.map((name) => `${name}\n\n${licenseOf(name)}`).join("\n\n---\n\n"));
}

function licenseOf(name: string): string {
  const folder = join(root, "node_modules", name);
  const file = ["LICENSE", "LICENSE.md"].map((each) => join(folder, each)).find((path) => existsSync(path));
  if (file === undefined) throw new Error(`${name} has no license file: it may not be shipped`);
  return readFileSync(file, "utf8").trim();
}

// A file that has gone from src must not live on in the package.
rmSync(join(root, "dist"), { recursive: true, force: true });
if (compile()) await bundleCommandLine();
else process.exitCode = 1;
