// What a request costs in this release next to an older one: both run at once, each in a workerd of its own, and answer the
// same load in turns. Only the source differs: bundler, runtime and load are those of this release.
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { LIST, LISTED_TOOLS } from "./lists.ts";
import { compare, warmUp } from "./measure.ts";
import type { Pace } from "./measure.ts";
import type { Failure, Row } from "./report.ts";
import { bindingsOf, bundle, ROOT, start } from "./runtime.ts";
import type { Running } from "./runtime.ts";
import { ADMIN_TOKEN, list2026, loadFor } from "./scenarios.ts";
import { SCENARIOS } from "./scenario-table.ts";
import type { Scenario } from "./scenarios.ts";

/** An odd number has a median that was measured. */
export const AGAINST_ROUNDS = 9;

interface Group {
  entry: string;
  scenarios: Scenario[];
}

const GROUPS: Group[] = [
  { entry: "workers/ours.ts", scenarios: SCENARIOS.filter(({ name }) => !/^bare call$|JWT|token of ours/.test(name)) },
  { entry: "workers/many-tools.ts", scenarios: [{ name: LIST, prepare: async () => list2026(LISTED_TOOLS) }] },
];

export interface Compared {
  rows: Row[];
  failures: Failure[];
  /** Scenarios for which the older release has no Worker. */
  missing: string[];
}

export interface Settings {
  /** A checkout of the older release, with its dependencies installed. */
  older: string;
  pace: Pace;
  scratch: string;
  isWanted: (scenario: Scenario) => boolean;
  progress: (name: string) => void;
}

export async function compareReleases(settings: Settings): Promise<Compared> {
  const { isWanted } = settings;
  const older = resolve(settings.older);
  if (!existsSync(join(older, "bench/workers/ours.ts"))) throw new Error(`${settings.older} is no checkout of ours`);
  const compared: Compared = { rows: [], failures: [], missing: [] };
  for (const { entry, scenarios } of GROUPS) {
    const wanted = scenarios.filter(isWanted);
    if (wanted.length === 0) continue;
    if (!existsSync(join(older, "bench", entry))) {
      compared.missing.push(...wanted.map(({ name }) => name));
      continue;
    }
    const running: Running[] = [];
    try {
      const here = await startOf(ROOT, entry, join(settings.scratch, "newer"));
      running.push(here);
      const there = await startOf(older, entry, join(settings.scratch, "older"));
      running.push(there);
      await compareEach({ here, there }, wanted, { ...settings, compared });
    } finally {
      for (const one of running) await one.stop();
    }
  }
  settings.progress("");
  return compared;
}

async function startOf(root: string, entry: string, scratch: string): Promise<Running> {
  return start(await bundle(entry, scratch, root), { ...bindingsOf(root), vars: { ADMIN_TOKEN } });
}

/** A scenario that fails is noted and the others go on. */
async function compareEach(
  { here, there }: Record<"here" | "there", Running>,
  scenarios: Scenario[],
  { pace, progress, compared }: Settings & { compared: Compared },
): Promise<void> {
  for (const { name, prepare } of scenarios) {
    progress(name);
    try {
      const newer = { ...here, load: await loadFor(prepare, here.url) };
      const older = { ...there, load: await loadFor(prepare, there.url) };
      if (name === scenarios[0]?.name) await Promise.all([newer, older].map((side) => warmUp(side, pace.warmupMs)));
      compared.rows.push({ name, ...(await compare(newer, older, { ...pace, rounds: AGAINST_ROUNDS })) });
    } catch (error) {
      compared.failures.push({ name, reason: error instanceof Error ? error.message : String(error) });
    }
  }
}
