// `npm run conformance [-- --url URL] [--revision R] [--scenario X]`: the official suite, judged more strictly than it
// judges itself. Prints a table per revision; the exit code is 1 if anything unexpected happened.
import { parseArgs } from "node:util";
import type { Revision } from "./conformance-run.ts";
import { REVISIONS, runConformance } from "./conformance-run.ts";
import type { ScenarioVerdict, Verdict } from "./conformance-verdict.ts";

const { values } = parseArgs({
  options: { url: { type: "string" }, revision: { type: "string" }, scenario: { type: "string" } },
});

const verdicts = await runConformance({
  ...(values.url !== undefined && { url: values.url.replace(/\/$/, "") }),
  ...(values.revision !== undefined && { revisions: [parseRevision(values.revision)] }),
  ...(values.scenario !== undefined && { scenario: values.scenario }),
});
for (const verdict of verdicts) print(verdict);
process.exitCode = verdicts.every((verdict) => verdict.pass) ? 0 : 1;

function parseRevision(value: string): Revision {
  const revision = REVISIONS.find((one) => one === value);
  if (revision === undefined) throw new Error(`--revision must be one of ${REVISIONS.join(", ")}`);
  return revision;
}

function print(verdict: Verdict): void {
  console.log(`\n${verdict.revision}: ${verdict.summary}\n`);
  for (const scenario of verdict.scenarios) printScenario(scenario);
  console.log(`\n${verdict.revision}: ${verdict.pass ? "as expected" : `${verdict.problems.length} problems`}`);
  for (const problem of verdict.problems) console.log(`  ${problem}`);
}

function printScenario({ scenario, kind, outcome, succeeded, faults }: ScenarioVerdict): void {
  const counts = `${succeeded} ok, ${faults.length} not`;
  console.log(`  ${scenario.padEnd(46)} ${kind.padEnd(20)} ${counts.padEnd(15)} ${outcome}`);
  // What fails unexpectedly is repeated below, as a problem.
  if (outcome === "fail") return;
  for (const fault of faults) console.log(`      ${fault}`);
}
