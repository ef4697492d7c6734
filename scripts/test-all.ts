// Runs what `npm test` leaves out, one after the other, whatever came of the one before.

import { spawnSync } from "node:child_process";

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
