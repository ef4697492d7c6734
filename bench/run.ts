// `npm run bench`: CPU microseconds per request of our Worker next to a bare Hono Worker, each in a workerd of its own,
// in one run on one machine. A wrong answer fails the run; a slow one never does.
import { existsSync, readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { Agent } from "node:http";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { FAN_OUT_CASES, measureFanOut, STREAMS } from "./fan-out.ts";
import type { FanOut } from "./fan-out.ts";
import { compare, CONNECTIONS, exchange, warmUp } from "./measure.ts";
import type { Pace, Side } from "./measure.ts";
import { PEERS } from "./peers/peers.ts";
import { document, fanOutTable, kibibytes, table } from "./report.ts";
import type { Failure, Row } from "./report.ts";
import { bundle, start } from "./runtime.ts";
import type { Bindings, Bundle, Running } from "./runtime.ts";
import { ADMIN_TOKEN, bareLoad, SCENARIOS } from "./scenarios.ts";
import type { Scenario } from "./scenarios.ts";
import { fillTenants, FULL_SCALE, measureScaling, QUICK_SCALE, scalingCases } from "./scaling.ts";
import type { Scale, ScalingCase } from "./scaling.ts";

const QUICK: Pace = { rounds: 5, roundMs: 600, warmupMs: 3000, settleMs: 300 };
const FULL: Pace = { rounds: 7, roundMs: 2400, warmupMs: 8000, settleMs: 500 };
/** Its two sides share one process, heap and all: shorter rounds will do. */
const FULL_SCALING: Pace = { ...FULL, rounds: 5, roundMs: 1200 };
const BUNDLE_BUDGET_KIB = 120;
const FAN_OUT = `fan-out to ${STREAMS.toLocaleString("en")} streams`;
const OUR_BINDINGS: Bindings = {
  durableObjects: {
    TENANTS: "TenantObject",
    SESSIONS: "SessionObject",
    HUBS: "HubObject",
    DIRECTORY: "DirectoryObject",
    PLATFORM: "PlatformObject",
  },
  kvNamespaces: ["BODIES"],
  vars: { ADMIN_TOKEN },
};
const INSTALL_PEERS = "npm ci --prefix bench/peers";
const USAGE = `npm run bench -- [--quick] [--only NAME] [--peers] [--json FILE]

  --quick      shorter slices and smaller tenants: two minutes instead of seven
  --only NAME  only the scenarios (and peers) whose name contains NAME; "scaling" or "fan-out" for these
  --peers      also measure other MCP servers; they are installed by: ${INSTALL_PEERS}
  --json FILE  also write the figures to FILE
`;

interface Subject {
  entry: string;
  bindings: Bindings;
  scenarios: Scenario[];
}

interface Run {
  pace: Pace;
  scratch: string;
  bare: Running;
  rows: Row[];
  scaling: Row[];
  fanOut: FanOut[];
  failures: Failure[];
}

const options = {
  quick: { type: "boolean", default: false },
  peers: { type: "boolean", default: false },
  help: { type: "boolean", default: false },
  json: { type: "string" },
  only: { type: "string" },
} as const;
const flags = readFlags();

process.exitCode = flags.help ? usage() : await main();

function readFlags(): ReturnType<typeof parseArgs<{ options: typeof options }>>["values"] {
  try {
    return parseArgs({ options }).values;
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n\n${USAGE}`);
    process.exit(1);
  }
}

function usage(): number {
  process.stdout.write(USAGE);
  return 0;
}

async function main(): Promise<number> {
  if (!existsSync("/proc/self/stat")) throw new Error("CPU time is read from /proc, so the benchmark needs Linux");
  const ours: Subject = { entry: "workers/ours.ts", bindings: OUR_BINDINGS, scenarios: SCENARIOS.filter(isWanted) };
  const peers = flags.peers ? wantedPeers() : [];
  const scale = flags.quick ? QUICK_SCALE : FULL_SCALE;
  const cases = scalingCases(scale).filter(({ name }) => isWanted({ name: `scaling ${name}` }));
  const fansOut = isWanted({ name: FAN_OUT });
  if (ours.scenarios.length + peers.length + cases.length === 0 && !fansOut) {
    process.stderr.write(
      `nothing is called "${flags.only}"; there is: ${SCENARIOS.map(({ name }) => name).join(", ")}, scaling, ${FAN_OUT}\n`,
    );
    return 1;
  }
  const scratch = await mkdtemp(join(tmpdir(), "tenantry-bench-"));
  const bare = await start(await bundle("workers/bare-hono.ts", scratch));
  const run: Run = { pace: flags.quick ? QUICK : FULL, scratch, bare, rows: [], scaling: [], fanOut: [], failures: [] };
  try {
    print(heading(run.pace));
    await warmUp({ ...bare, load: bareLoad }, run.pace.warmupMs);
    const size = await measureOurs(run, ours);
    if (fansOut) await measureStreams(run);
    await measurePeers(run, peers);
    await measureTenants(run, cases, scale);
    await report(run, size);
  } finally {
    await bare.stop();
    await rm(scratch, { recursive: true, force: true });
  }
  return run.failures.length === 0 ? 0 : 1;
}

async function measureOurs(run: Run, ours: Subject): Promise<number | undefined> {
  if (ours.scenarios.length === 0) return undefined;
  const bundled = await bundle(ours.entry, run.scratch);
  run.rows.push(...(await measure(run, ours, bundled)));
  if (run.rows.length > 0) print(table(run.rows));
  const { gzipBytes } = await bundle("../src/worker.ts", run.scratch);
  print(sizeLine(gzipBytes, bundled.gzipBytes));
  return gzipBytes;
}

/** In wall time: whoever listens waits for the last of it. */
async function measureStreams(run: Run): Promise<void> {
  const running = await start(await bundle("workers/ours.ts", run.scratch), OUR_BINDINGS);
  try {
    for (const one of FAN_OUT_CASES) {
      progress(`${FAN_OUT}: ${one.name}`);
      const measured = await measureFanOut(running, one, run.pace.rounds).catch((error: unknown) =>
        noteFailure(run, { name: `${FAN_OUT}: ${one.name}` }, error),
      );
      if (measured !== undefined) run.fanOut.push(measured);
    }
  } finally {
    progress("");
    await running.stop();
  }
  if (run.fanOut.length > 0)
    print(`\n${FAN_OUT} of one isolate, until the last was told\n\n${fanOutTable(run.fanOut)}`);
}

/** Each peer answers the same call in a workerd of its own, one after the other. */
async function measurePeers(run: Run, peers: Subject[]): Promise<void> {
  const rows: Row[] = [];
  for (const peer of peers) {
    const bundled = await bundle(peer.entry, run.scratch);
    const measured = await measure(run, peer, bundled);
    rows.push(...measured.map((row) => ({ ...row, gzipBytes: bundled.gzipBytes })));
  }
  if (run.rows.length > 0) print("");
  if (rows.length > 0) print(`peers, one \`add\` tool, tools/call\n\n${table(rows)}`);
  run.rows.push(...rows);
}

/** Of a Worker that also knows how to fill its tenants, against tenants of its own that store little. */
async function measureTenants(run: Run, cases: ScalingCase[], scale: Scale): Promise<void> {
  if (cases.length === 0) return;
  const running = await start(await bundle("workers/scaled.ts", run.scratch), OUR_BINDINGS);
  const pace = flags.quick ? run.pace : FULL_SCALING;
  try {
    progress("filling tenants");
    const begun = performance.now();
    const filled = await fillTenants(running, scale);
    const seconds = (performance.now() - begun) / 1000;
    for (const one of cases) {
      progress(one.name);
      const row = await measureScaling(running, one, pace).catch((error: unknown) => noteFailure(run, one, error));
      if (row !== undefined) run.scaling.push(row);
    }
    progress("");
    if (run.scaling.length === 0) return;
    const title = `scaling: TENANTS × RESOURCES EACH, against a tenant with 10 (a page: with 100)`;
    print(`\n${title}; ${filled} resources filled in ${seconds.toFixed(0)} s\n\n${table(run.scaling, "small tenant")}`);
  } finally {
    progress("");
    await running.stop();
  }
}

function noteFailure(run: Run, { name }: { name: string }, error: unknown): undefined {
  run.failures.push({ name, reason: error instanceof Error ? error.message : String(error) });
}

/** A scenario that fails is noted and the others go on. */
async function measure(run: Run, subject: Subject, bundled: Bundle): Promise<Row[]> {
  const rows: Row[] = [];
  const running = await start(bundled, subject.bindings);
  try {
    for (const scenario of subject.scenarios) {
      progress(scenario.name);
      const row = await measureOne(run, running, scenario, rows.length === 0).catch((error: unknown) =>
        noteFailure(run, scenario, error),
      );
      if (row !== undefined) rows.push(row);
    }
  } finally {
    progress("");
    await running.stop();
  }
  return rows;
}

async function measureOne(run: Run, running: Running, scenario: Scenario, isFirst: boolean): Promise<Row> {
  const { name, budget, prepare } = scenario;
  const side: Side = { ...running, load: await prepared(prepare, running.url) };
  if (isFirst) await warmUp(side, run.pace.warmupMs);
  const compared = await compare(side, { ...run.bare, load: bareLoad }, run.pace);
  return { name, ...(budget === undefined ? {} : { budget }), ...compared };
}

async function prepared(prepare: Scenario["prepare"], url: URL): Promise<Side["load"]> {
  const agent = new Agent();
  try {
    return await prepare(async (wanted) => exchange(agent, url, wanted));
  } finally {
    agent.destroy();
  }
}

function wantedPeers(): Subject[] {
  const wanted = PEERS.filter(isWanted);
  if (existsSync(fileURLToPath(new URL("peers/node_modules", import.meta.url)))) {
    return wanted.map(({ entry, bindings = {}, ...scenario }) => ({ entry, bindings, scenarios: [scenario] }));
  }
  process.stderr.write(`The peers are not installed and are left out. Install them with: ${INSTALL_PEERS}\n\n`);
  return [];
}

function isWanted({ name }: { name: string }): boolean {
  return flags.only === undefined || name.toLowerCase().includes(flags.only.toLowerCase());
}

async function report(run: Run, gzipBytes: number | undefined): Promise<void> {
  for (const { name, reason } of run.failures) print(`\nWRONG  ${name}: ${reason}`);
  if (flags.json === undefined) return;
  const { rows, scaling, fanOut, failures, pace } = run;
  const about = { ...machine(), ...pace, gzipBytes: gzipBytes ?? 0 };
  const text = document({ machine: about, rows, scaling, fanOut, failures });
  await writeFile(flags.json, text);
}

function heading({ rounds, roundMs }: Pace): string {
  const { cpu, node, workerd } = machine();
  return (
    `CPU time of the workerd process per request, and its ratio to a bare Hono Worker (parse JSON, fixed answer)\n` +
    `${cpu}, node ${node}, workerd ${workerd}; ${CONNECTIONS} connections, ${rounds} rounds of ${roundMs} ms for each side\n`
  );
}

/** The Worker that this repository deploys, and one whose author writes tools in zod itself: one budget for both. */
function sizeLine(deployed: number, withZod: number): string {
  const line = (what: string, gzipBytes: number) => {
    const over = gzipBytes > BUNDLE_BUDGET_KIB * 1024;
    return `${what} ${kibibytes(gzipBytes)} KiB gzip, budget ≤ ${BUNDLE_BUDGET_KIB}  ${over ? "OVER" : "ok"}`;
  };
  return `\n${line("Worker bundle, as deployed", deployed)}\n${line("with tools in zod itself", withZod)}`;
}

function machine(): { cpu: string; node: string; workerd: string } {
  const processors = cpus();
  const manifest = readFileSync(new URL("../node_modules/workerd/package.json", import.meta.url), "utf8");
  const { version } = JSON.parse(manifest) as { version: string };
  return {
    cpu: `${processors.length} × ${processors[0]?.model ?? "unknown processor"}`,
    node: process.versions.node,
    workerd: version,
  };
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

function progress(name: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${name}`);
}
