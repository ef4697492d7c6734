// Runs the official conformance suite against a tenant `conformance`, or one that has it for its only upstream, and hands
// its checks to the judge.
// The suite decides which scenarios a revision has; test/conformance/expected-failures.json says which may fail.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, open, readdir, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { startConformanceGateway } from "./conformance-gateway.ts";
import type { Check, ExpectedFailure, Scenario, Verdict } from "./conformance-verdict.ts";
import { judge } from "./conformance-verdict.ts";
import { startFixtureServer } from "./fixture-server.ts";

const ROOT = join(import.meta.dirname, "..");
export const SUITE = join(ROOT, "node_modules/@modelcontextprotocol/conformance/dist/index.js");
const EXPECTED = join(ROOT, "test/conformance/expected-failures.json");
export const RESULTS = join(ROOT, "results");

export const REVISIONS = ["2025-11-25", "2026-07-28"] as const;
export type Revision = (typeof REVISIONS)[number];

export interface ConformanceOptions {
  /** A running server, without a path; if omitted, the fixture Worker is started and stopped. */
  url?: string;
  /** Instead: a gateway is started before the fixture Worker, which it speaks to in this era. */
  gatewayTo?: "2025" | "2026";
  revisions?: readonly Revision[];
  /** Runs only this scenario, in every revision that has it. */
  scenario?: string;
}

/** What the suite is run against. */
interface Target {
  readonly url: string;
  /** Of the expectations, and of the folder with what the suite found. */
  readonly name: "direct" | "gateway-2025" | "gateway-2026";
}

export async function runConformance(options: ConformanceOptions = {}): Promise<Verdict[]> {
  const { url, gatewayTo } = options;
  if (gatewayTo !== undefined) {
    const gateway = await startConformanceGateway();
    try {
      return await runRevisions({ url: await gateway.tenant(gatewayTo), name: `gateway-${gatewayTo}` }, options);
    } finally {
      await gateway.stop();
    }
  }
  if (url !== undefined) return runRevisions({ url: `${url}/mcp/conformance`, name: "direct" }, options);
  const server = await startFixtureServer();
  try {
    return await runConformance({ ...options, url: server.url });
  } finally {
    await server.stop();
  }
}

async function runRevisions(target: Target, options: ConformanceOptions): Promise<Verdict[]> {
  const verdicts: Verdict[] = [];
  // One after the other: the suite's time limits assume a server that is busy with one scenario.
  for (const revision of options.revisions ?? REVISIONS) {
    const scenarios = await scenariosOf(revision, "server");
    const chosen = scenarios.filter(({ name }) => options.scenario === undefined || name === options.scenario);
    if (chosen.length > 0) verdicts.push(await runRevision(target, revision, chosen, options.scenario));
  }
  if (verdicts.length === 0) throw new Error(`No chosen revision has a server scenario ${String(options.scenario)}`);
  return verdicts;
}

async function runRevision(
  { url, name }: Target,
  revision: Revision,
  scenarios: Scenario[],
  only: string | undefined,
): Promise<Verdict> {
  await mkdir(RESULTS, { recursive: true });
  // A folder of its own until the end, so that two runs at once cannot read each other's checks.
  const running = await mkdtemp(join(RESULTS, `.${revision}-`));
  const selection =
    only === undefined ? ["--requirements", revision] : ["--scenario", only, "--spec-version", revision];
  await runSuite(["server", "--url", url, ...selection, "-o", running], join(running, "output.txt"));
  const checks = await checksIn(running, /^server-(.+)-\d{4}-\d\d-\d\dT[\d-]+Z$/);
  const results = join(RESULTS, name === "direct" ? revision : `${name}-${revision}`);
  await rm(results, { recursive: true, force: true });
  await rename(running, results);
  const expected = (await expectedFailures(name, revision)).filter(
    (one) => only === undefined || one.scenario === only,
  );
  return judge(revision, scenarios, checks, expected);
}

/** The suite's exit code is not looked at: it knows neither warnings nor our expectations. */
async function runSuite(args: string[], outputFile: string): Promise<void> {
  const output = await open(outputFile, "w");
  const child = spawn(process.execPath, [SUITE, ...args], { cwd: ROOT, stdio: ["ignore", output.fd, output.fd] });
  await once(child, "exit");
  await output.close();
}

/** Reads `conformance list`: `  - name` under "Server scenarios", `    - name [server]` under `  reason (n):`. */
export async function scenariosOf(revision: Revision, side: "server" | "client"): Promise<Scenario[]> {
  const child = spawn(process.execPath, [SUITE, "list", "--requirements", revision], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const scenarios: Scenario[] = [];
  let kind = "";
  for (const line of (await text(child.stdout)).split("\n")) {
    const heading = /^(?:(Server|Client) scenarios|  ([a-z-]+) \(\d+\):)/.exec(line);
    if (heading) kind = heading[2] ?? (heading[1]?.toLowerCase() === side ? "scored" : "");
    const name = /^ +- (\S+)(?: \[(server|client)\])?$/.exec(line);
    if (name?.[1] !== undefined && kind !== "" && (name[2] ?? side) === side) scenarios.push({ name: name[1], kind });
  }
  if (!scenarios.some((scenario) => scenario.kind === "scored"))
    throw new Error(`The suite lists nothing for ${revision}`);
  return scenarios;
}

export async function expectedFailures(
  name: Target["name"] | "gateway-client",
  revision: Revision,
): Promise<ExpectedFailure[]> {
  type Lists = Partial<Record<Revision, ExpectedFailure[]>>;
  const file = JSON.parse(await readFile(EXPECTED, "utf8")) as Record<typeof name, Lists>;
  return file[name][revision] ?? [];
}

/**
 * The suite writes `server-<scenario>-<time>/checks.json`, for a client without that word, and nothing for a scenario that
 * threw. `named`: what it calls the folder.
 */
export async function checksIn(results: string, named: RegExp): Promise<Map<string, Check[]>> {
  const checks = new Map<string, Check[]>();
  for (const folder of await readdir(results)) {
    const scenario = named.exec(folder)?.[1];
    if (scenario === undefined) continue;
    const written = await readFile(join(results, folder, "checks.json"), "utf8").catch(() => undefined);
    if (written !== undefined) checks.set(scenario, JSON.parse(written) as Check[]);
  }
  return checks;
}
