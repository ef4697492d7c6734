// Runs what `npm test` leaves out, one after the other, whatever came of the one before.

import { spawnSync } from "node:child_process";
import { scriptOptions } from "./script-options.ts";

scriptOptions(
  "npm run test:all\n\nRuns the tests that `npm test` leaves out, one step after the other. 20 minutes.",
  {},
);

const STEPS = [
  "vitest run --project *-rest",
  "vitest run --mode long test/long",
  "node scripts/clients.ts",
  "node scripts/attack.ts",
];

const failed = STEPS.filter((step) => {
  process.stdout.write(`\n=== ${step}\n`);
  const [command = "", ...args] = step.split(" ");
  return spawnSync(command, args, { stdio: "inherit" }).status !== 0;
});
for (const step of failed) process.stdout.write(`failed: ${step}\n`);
process.exitCode = failed.length === 0 ? 0 : 1;
