// Decides whether a run of the official conformance suite is good, from its checks alone. No I/O.
// Stricter than the suite's exit code: warnings count, so do the gated scenarios it does not score, and an expected
// failure that no longer fails is a fault.

export interface Check {
  id: string;
  status: "SUCCESS" | "FAILURE" | "WARNING" | "INFO" | "SKIPPED";
  description?: string;
  errorMessage?: string;
}

export interface Scenario {
  name: string;
  /** "scored", or why the suite does not score it. */
  kind: string;
}

export interface ExpectedFailure {
  scenario: string;
  /** The ids of the checks that may fail or warn; without it any of the scenario's may. */
  checks?: string[];
  reason: string;
  issue: string;
}

export interface ScenarioVerdict {
  scenario: string;
  kind: string;
  outcome: "pass" | "fail" | "expected failure" | "stale expectation" | "not gated";
  succeeded: number;
  /** Failed checks and warnings, each with its message. */
  faults: string[];
}

export interface Verdict {
  revision: string;
  pass: boolean;
  /** `24/30 scored scenarios pass, 6 expected failures` */
  summary: string;
  scenarios: ScenarioVerdict[];
  /** One line for everything that makes `pass` false. */
  problems: string[];
}

/** Extensions are optional by definition; what was pending or came later is still part of the revision. */
const GATED_KINDS = new Set(["scored", "pending", "added-after-release"]);

export function judge(
  revision: string,
  scenarios: Scenario[],
  checks: ReadonlyMap<string, Check[]>,
  expected: ExpectedFailure[],
): Verdict {
  const listed = new Map(expected.map((one) => [one.scenario, one]));
  const verdicts = scenarios.map((scenario) => judgeScenario(scenario, checks.get(scenario.name), listed));
  const known = new Set(scenarios.map((scenario) => scenario.name));
  const unknown = expected.filter((one) => !known.has(one.scenario));
  const problems = [
    ...unknown.map((one) => `${one.scenario}: listed as an expected failure, but not a scenario of ${revision}`),
    ...verdicts.flatMap(problemsOf),
  ];
  return { revision, pass: problems.length === 0, summary: summaryOf(verdicts), scenarios: verdicts, problems };
}

function judgeScenario(
  scenario: Scenario,
  checks: Check[] | undefined,
  listed: Map<string, ExpectedFailure>,
): ScenarioVerdict {
  const faults = faultsOf(checks);
  const wanted = listed.get(scenario.name);
  const isListed = wanted !== undefined && isExpected(wanted, checks);
  const succeeded = checks?.filter((check) => check.status === "SUCCESS").length ?? 0;
  return {
    scenario: scenario.name,
    kind: scenario.kind,
    outcome: outcomeOf(faults.length === 0, isListed, GATED_KINDS.has(scenario.kind)),
    succeeded,
    faults,
  };
}

function isFault({ status }: Check): boolean {
  return status === "FAILURE" || status === "WARNING";
}

/** Where checks are named, no other may fail, and a scenario that left none is not what was expected. */
function isExpected({ checks: named }: ExpectedFailure, checks: Check[] | undefined): boolean {
  if (named === undefined) return true;
  return checks?.every((check) => !isFault(check) || named.includes(check.id)) ?? false;
}

function faultsOf(checks: Check[] | undefined): string[] {
  if (checks === undefined) return ["the suite left no checks: the scenario threw or never ran"];
  const faults = checks
    .filter(isFault)
    .map((check) => `${check.status} ${check.id}: ${check.errorMessage ?? check.description ?? "no message"}`);
  // A scenario that only skipped or informed has shown nothing.
  if (faults.length === 0 && !checks.some((check) => check.status === "SUCCESS")) return ["no check succeeded"];
  return faults;
}

function outcomeOf(passed: boolean, listed: boolean, gated: boolean): ScenarioVerdict["outcome"] {
  if (listed) return passed ? "stale expectation" : "expected failure";
  if (passed) return "pass";
  return gated ? "fail" : "not gated";
}

function problemsOf(verdict: ScenarioVerdict): string[] {
  if (verdict.outcome === "fail") return verdict.faults.map((fault) => `${verdict.scenario}: ${fault}`);
  if (verdict.outcome === "stale expectation") return [`${verdict.scenario}: expected to fail, but passes; unlist it`];
  return [];
}

function summaryOf(verdicts: ScenarioVerdict[]): string {
  const scored = verdicts.filter((verdict) => verdict.kind === "scored");
  const passed = scored.filter((verdict) => verdict.faults.length === 0).length;
  const expected = verdicts.filter((verdict) => verdict.outcome === "expected failure");
  const unscored = expected.filter((verdict) => verdict.kind !== "scored").length;
  const also = unscored === 0 ? "" : ` and ${unscored} among those not scored`;
  return `${passed}/${scored.length} scored scenarios pass, ${expected.length - unscored} expected failures${also}`;
}
