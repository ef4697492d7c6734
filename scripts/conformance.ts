// The official conformance suite, judged more strictly than it judges itself.
import type { ConformanceOptions, Revision } from "./conformance-run.ts";
import { REVISIONS, runConformance } from "./conformance-run.ts";
import type { ScenarioVerdict, Verdict } from "./conformance-verdict.ts";
import { optionError, scriptOptions } from "./script-options.ts";

const values = scriptOptions(
  `npm run conformance [-- --url URL | --gateway-to ERA] [--revision REVISION] [--scenario NAME]

Runs the official conformance suite and prints a table for each revision. 20 seconds. Fails where a result is unexpected.

  --url URL            a server that already runs, with a tenant "conformance"; without it the script starts one
  --gateway-to ERA     behind a gateway to an upstream of era 2025 or 2026
  --revision REVISION  only ${REVISIONS.join(" or ")}
  --scenario NAME      only this scenario`,
  {
    url: { type: "string" },
    "gateway-to": { type: "string" },
    revision: { type: "string" },
    scenario: { type: "string" },
  },
);

const verdicts = await runConformance({
  ...(values.url !== undefined && { url: values.url.replace(/\/$/, "") }),
  ...gatewayTo(values["gateway-to"]),
  ...(values.revision !== undefined && { revisions: [parseRevision(values.revision)] }),
  ...(values.scenario !== undefined && { scenario: values.scenario }),
});
for (const verdict of verdicts) print(verdict);
process.exitCode = verdicts.every((verdict) => verdict.pass) ? 0 : 1;

function parseRevision(value: string): Revision {
  const revision = REVISIONS.find((one) => one === value);
  return revision ?? optionError(`--revision must be one of ${REVISIONS.join(", ")}`);
}

/** A client meets an upstream of its own era there, unless a revision is named. */
function gatewayTo(era: string | undefined): Partial<ConformanceOptions> {
  if (era === undefined) return {};
  if (era !== "2025" && era !== "2026") return optionError("--gateway-to must be 2025 or 2026");
  return { gatewayTo: era, revisions: REVISIONS.filter((revision) => revision.startsWith(era)) };
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
