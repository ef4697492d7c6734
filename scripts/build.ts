// `npm run build`: dist/ as the package ships it, JavaScript and declarations of what src/tenantry.ts reaches, and the
// command line, which is a program for Node and sees other types.
// The demo and the entry of this repository's own Worker are not reached, so they are not in it.

import { spawnSync } from "node:child_process";
import { rmSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dirname, "..");

// A file that has gone from src must not live on in the package.
rmSync(join(root, "dist"), { recursive: true, force: true });

const compiler = join(root, "node_modules/typescript/bin/tsc");
const programs = ["scripts/tsconfig.build.json", "scripts/tsconfig.build-cli.json"];
const failed = programs.filter((program) => {
  return spawnSync(process.execPath, [compiler, "--project", join(root, program)], { stdio: "inherit" }).status !== 0;
});
process.exitCode = failed.length === 0 ? 0 : 1;
