// Runs the client scenarios of the official conformance suite with a running gateway for the client: the suite starts a server
// and then the driver, which has the gateway take that server for an upstream. The judge is the one of the server scenarios.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, open, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import {
  checksIn,
  expectedFailures,
  RESULTS,
  REVISIONS,
  scenariosOf,
  SUITE,
  type Revision,
} from "./conformance-run.ts";
import { judge, type Verdict } from "./conformance-verdict.ts";
import { startFixtureServer } from "./fixture-server.ts";

const DRIVER = join(import.meta.dirname, "conformance-client-driver.ts");
const SCENARIO_MS = 20_000;

/** Where a person logs in: credentials of a person towards an upstream are not there yet. What is no login is tried. */
const NEEDS_LOGIN = /^auth\//;

export async function runClientConformance(revisions: readonly Revision[] = REVISIONS): Promise<Verdict[]> {
  const gateway = await startFixtureServer({
    entry: "gateway-worker.ts",
    vars: { OUTBOUND_LOCAL: "http://127.0.0.1" },
  });
  try {
    const verdicts: Verdict[] = [];
    for (const revision of revisions) verdicts.push(await runRevision(gateway.url, revision));
    return verdicts;
  } finally {
    await gateway.stop();
  }
}

async function runRevision(gateway: string, revision: Revision): Promise<Verdict> {
  const scenarios = (await scenariosOf(revision, "client")).filter(({ name }) => !NEEDS_LOGIN.test(name));
  await mkdir(RESULTS, { recursive: true });
  const running = await mkdtemp(join(RESULTS, `.client-${revision}-`));
  const output = await open(join(running, "output.txt"), "w");
  // One after the other: each is told when its client is late.
  for (const { name } of scenarios) {
    const command = `${process.execPath} ${DRIVER}`;
    const requests = ["--command", command, "--scenario", name, "--spec-version", revision, "--force"];
    const child = spawn(
      process.execPath,
      [SUITE, "client", ...requests, "--timeout", String(SCENARIO_MS), "-o", running, "--verbose"],
      { env: { ...process.env, GATEWAY: gateway }, stdio: ["ignore", output.fd, output.fd] },
    );
    await once(child, "exit");
  }
  await output.close();
  const checks = await checksIn(running, /^(.+)-\d{4}-\d\d-\d\dT[\d-]+Z$/);
  const results = join(RESULTS, `gateway-client-${revision}`);
  await rm(results, { recursive: true, force: true });
  await rename(running, results);
  return judge(revision, scenarios, checks, await expectedFailures("gateway-client", revision));
}
