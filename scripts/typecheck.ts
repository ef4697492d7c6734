// Type-checks every program of the repository, each with the platform types it may see.

import { spawnSync } from "node:child_process";
import { scriptOptions } from "./script-options.ts";

scriptOptions(
  "npm run typecheck\n\nChecks the types of every folder, each with the platform types that it may see. 20 seconds.",
  {},
);

const PROGRAMS = [
  "tsconfig.json",
  "src/protocol/tsconfig.json",
  "src/mcp-client/tsconfig.json",
  "src/cli/tsconfig.json",
  "test/tsconfig.json",
  "test/tsconfig.worker.json",
];

const failed = PROGRAMS.filter((program) => spawnSync("tsc", ["-p", program], { stdio: "inherit" }).status !== 0);
process.exitCode = failed.length === 0 ? 0 : 1;
