// `npm run bench`: CPU microseconds per request of our Worker next to a bare Hono Worker, each in a workerd of its own,
// in one run on one machine. A wrong answer fails the run, and so does a budget that is exceeded beyond noise (budgets.ts).
import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { AGAINST_ROUNDS, compareReleases } from "./against.ts";
import { measureWithin, NOISE_STATED } from "./budgets.ts";
import { bundleLines, bundleSizes } from "./bundles.ts";
import type { BundleSize } from "./bundles.ts";
import { CROWD, FLAT_BUDGET, FULL_CROWD, measureCrowd, measureFlat, QUICK_CROWD, WARM } from "./crowd.ts";
import { HEAP_BUDGET_MIB } from "./crowd-figures.ts";
import type { Crowd } from "./crowd-figures.ts";
import { ENDED_LEASE, ENDED_LEASE_BUDGET, endedLease, READ, READ_BUDGET, resourceRead } from "./asking.ts";
import { FAN_OUT_BUDGET_MS, FAN_OUT_CASES, measureFanOut, STREAMS } from "./fan-out.ts";
import type { FanOut } from "./fan-out.ts";
import { INSTALL_PEERS, readFlags } from "./flags.ts";
import { gatewayCases, startGateway, type GatewayCase } from "./gateway.ts";
import { LIST, LIST_BUDGET, measureList } from "./lists.ts";
import { CONNECTIONS, compare, warmUp } from "./measure.ts";
import type { Comparison, Pace, Side } from "./measure.ts";
import { machine } from "./machine.ts";
import { PEERS } from "./peers/peers.ts";
import { brokenBudgets, document, fanOutTable, table, trafficTable } from "./report.ts";
import type { Failure, Row } from "./report.ts";
import { bindingsOf, bundle, ROOT, start, startApart } from "./runtime.ts";
import type { Bindings, Bundle, Running } from "./runtime.ts";
import { ADMIN_TOKEN, bareLoad, loadFor } from "./scenarios.ts";
import { SCENARIOS, scenariosOf } from "./scenario-table.ts";
import type { Scenario } from "./scenarios.ts";
import { fillTenants, FULL_SCALE, measureScaling, QUICK_SCALE, scalingCases } from "./scaling.ts";
import type { Scale, ScalingCase } from "./scaling.ts";

const QUICK: Pace = { rounds: 5, roundMs: 600, warmupMs: 3000, settleMs: 300 };
const FULL: Pace = { rounds: 7, roundMs: 2400, warmupMs: 8000, settleMs: 500 };
/** Its two sides share one process, heap and all: shorter rounds will do. */
const FULL_SCALING: Pace = { ...FULL, rounds: 5, roundMs: 1200 };
const FAN_OUT = `fan-out to ${STREAMS.toLocaleString("en")} streams`;
/** Thousands of small databases are written, which a disk would make a measurement of itself. */
const IN_MEMORY = "/dev/shm";
const OUR_BINDINGS: Bindings = { ...bindingsOf(ROOT), vars: { ADMIN_TOKEN, OUTBOUND_LOCAL: "http://127.0.0.1" } };
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
  lists: Row[];
  asking: Row[];
  gateway: Row[];
  scaling: Row[];
  fanOut: FanOut[];
  crowd: Crowd | undefined;
  flat: Row[];
  bundles: BundleSize[];
  failures: Failure[];
}

const flags = readFlags();

process.exitCode = await inScratch(flags.against === undefined ? main : mainAgainst);

async function inScratch(work: (scratch: string) => Promise<number>): Promise<number> {
  if (!existsSync("/proc/self/stat")) throw new Error("CPU time is read from /proc, so the benchmark needs Linux");
  const scratch = await mkdtemp(join(tmpdir(), "tenantry-bench-"));
  try {
    return await work(scratch);
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

async function main(scratch: string): Promise<number> {
  const ours: Subject = {
    entry: "workers/ours.ts",
    bindings: OUR_BINDINGS,
    scenarios: scenariosOf(flags.quick).filter(isWanted),
  };
  const peers = flags.peers ? wantedPeers() : [];
  const scale = flags.quick ? QUICK_SCALE : FULL_SCALE;
  const cases = scalingCases(scale).filter(({ name }) => isWanted({ name: `scaling ${name}` }));
  const gateways = gatewayCases(flags.quick).filter(isWanted);
  const others = [LIST, ENDED_LEASE, READ, FAN_OUT, CROWD].filter((name) => isWanted({ name }));
  if ([...ours.scenarios, ...peers, ...cases, ...gateways, ...others].length === 0) return nothingCalled();
  const bare = await start(await bundle("workers/bare-hono.ts", scratch));
  const measured = {
    rows: [],
    lists: [],
    asking: [],
    gateway: [],
    scaling: [],
    fanOut: [],
    flat: [],
    bundles: [],
    failures: [],
  };
  const run: Run = { pace: flags.quick ? QUICK : FULL, scratch, bare, crowd: undefined, ...measured };
  try {
    print(heading(run.pace));
    await warmUp({ ...bare, load: bareLoad }, run.pace.warmupMs);
    await measureOurs(run, ours);
    if (others.includes(LIST)) await measureLists(run);
    await measureAsking(run, others);
    if (gateways.length > 0) await measureGateway(run, gateways);
    if (others.includes(FAN_OUT)) await measureStreams(run);
    await measurePeers(run, peers);
    await measureTenants(run, cases, scale);
    if (others.includes(CROWD)) await measureMany(run);
    return await report(run);
  } finally {
    await bare.stop();
  }
}

/** Tells what changed; there is no budget for it. */
async function mainAgainst(scratch: string): Promise<number> {
  const pace = flags.quick ? QUICK : FULL;
  const older = flags.against ?? "";
  const { rows, failures, missing } = await compareReleases({ older, pace, scratch, isWanted, progress });
  if (rows.length + failures.length + missing.length === 0) return nothingCalled();
  print(`CPU time per request of this release and of the older one, in turns; medians of ${AGAINST_ROUNDS} rounds\n`);
  if (rows.length > 0) print(table(rows, "older"));
  for (const name of missing) print(`\nleft out, the older release has no such Worker: ${name}`);
  for (const { name, reason } of failures) print(`\nWRONG  ${name}: ${reason}`);
  if (flags.json !== undefined)
    await writeFile(flags.json, document({ machine: { ...machine(), ...pace }, against: rows, failures }));
  return failures.length === 0 ? 0 : 1;
}

function nothingCalled(): number {
  const names = [...SCENARIOS.map(({ name }) => name), LIST, ENDED_LEASE, READ, "scaling", "gateway", FAN_OUT, CROWD];
  process.stderr.write(`nothing is called "${flags.only}"; there is: ${names.join(", ")}\n`);
  return 1;
}

async function measureOurs(run: Run, ours: Subject): Promise<void> {
  if (ours.scenarios.length === 0) return;
  run.rows.push(...(await measure(run, ours, await bundle(ours.entry, run.scratch))));
  if (run.rows.length > 0) print(table(run.rows));
  run.bundles = await bundleSizes(run.scratch);
  print(`\n${bundleLines(run.bundles)}`);
}

async function measureLists(run: Run): Promise<void> {
  const running = await start(await bundle("workers/many-tools.ts", run.scratch), OUR_BINDINGS);
  try {
    progress(LIST);
    const row = await rowOf({ name: LIST, budget: LIST_BUDGET }, () => measureList(running, run.pace)).catch(
      (error: unknown) => noteFailure(run, { name: LIST }, error),
    );
    if (row !== undefined) run.lists.push(row);
  } finally {
    progress("");
    await running.stop();
  }
  if (run.lists.length > 0) print(`\nlists, against a call of the same Worker\n\n${table(run.lists, "call")}`);
}

async function measureAsking(run: Run, wanted: readonly string[]): Promise<void> {
  const cases = [
    { name: ENDED_LEASE, budget: ENDED_LEASE_BUDGET, prepare: endedLease },
    { name: READ, budget: READ_BUDGET, prepare: resourceRead },
  ].filter(({ name }) => wanted.includes(name));
  if (cases.length === 0) return;
  const running = await start(await bundle("workers/ours.ts", run.scratch), OUR_BINDINGS);
  const bare = await start(await bundle("workers/bare-object.ts", run.scratch), { durableObjects: { ASKED: "Asked" } });
  try {
    for (const { name, budget, prepare } of cases) {
      progress(name);
      try {
        run.asking.push(await rowOf({ name, budget }, await prepare(running, bare, run.pace)));
      } catch (error) {
        noteFailure(run, { name }, error);
      }
    }
  } finally {
    progress("");
    await Promise.all([running.stop(), bare.stop()]);
  }
  if (run.asking.length > 0) print(`\nnext to asking an object that does nothing\n\n${table(run.asking, "asking")}`);
}

async function measureGateway(run: Run, cases: GatewayCase[]): Promise<void> {
  const gateway = await startGateway(run.scratch);
  try {
    for (const one of cases) {
      progress(one.name);
      const row = await rowOf(one, () => one.measure(gateway, run.pace)).catch((error: unknown) =>
        noteFailure(run, one, error),
      );
      if (row !== undefined) run.gateway.push(row);
    }
  } finally {
    progress("");
    await gateway.stop();
  }
  if (run.gateway.length > 0) print(`\nupstreams, each next to what its name says\n\n${table(run.gateway, "without")}`);
}

/** Again where a budget seems to be broken, so that what fails is no noise. */
async function rowOf(
  { name, budget }: { name: string; budget?: number | undefined },
  measureIt: () => Promise<Comparison>,
): Promise<Row> {
  const { best, times } = await measureWithin(budget, ({ ratio }) => ratio.median, measureIt);
  return { name, ...(budget === undefined ? {} : { budget }), ...best, times };
}

/** In wall time: whoever listens waits for the last of it. */
async function measureStreams(run: Run): Promise<void> {
  const running = await start(await bundle("workers/ours.ts", run.scratch), OUR_BINDINGS);
  try {
    for (const one of FAN_OUT_CASES) {
      progress(`${FAN_OUT}: ${one.name}`);
      const measured = await measureWithin(
        FAN_OUT_BUDGET_MS,
        ({ millis }) => millis.median,
        () => measureFanOut(running, one, run.pace.rounds),
      ).catch((error: unknown) => noteFailure(run, { name: `${FAN_OUT}: ${one.name}` }, error));
      if (measured !== undefined) run.fanOut.push(measured.best);
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
      const row = await rowOf(one, () => measureScaling(running, one, pace)).catch((error: unknown) =>
        noteFailure(run, one, error),
      );
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

/** Of one isolate, whose objects are in another. */
async function measureMany(run: Run): Promise<void> {
  const storage = await mkdtemp(join(existsSync(IN_MEMORY) ? IN_MEMORY : run.scratch, "tenantry-bench-"));
  const running = await startApart(await bundle("workers/many-tenants.ts", run.scratch), OUR_BINDINGS, storage);
  try {
    progress(CROWD);
    run.crowd = await measureCrowd(running, flags.quick ? QUICK_CROWD : FULL_CROWD);
    const { heapMiB, filledSeconds, traffic, rates } = run.crowd;
    const held = `isolate: ${heapMiB.one.toFixed(1)} MiB with one, ${heapMiB.many.toFixed(1)} MiB with many (≤ ${HEAP_BUDGET_MIB})`;
    print(`\n${CROWD}, filled in ${filledSeconds.toFixed(0)} s; ${held}\n\n${trafficTable(traffic, true)}`);
    print(
      `\nby calls a second of each tenant, ten times as fast with leases a tenth as long\n\n${trafficTable(rates, false)}`,
    );
    const flat = { name: `${WARM.toLocaleString("en")} warm tenants in turn`, budget: FLAT_BUDGET };
    progress(flat.name);
    run.flat.push(await rowOf(flat, () => measureFlat(running, run.pace)));
    print(`\nwhere nothing is cold\n\n${table(run.flat, "one tenant")}`);
  } catch (error) {
    noteFailure(run, { name: CROWD }, error);
  } finally {
    progress("");
    await running.stop();
    await rm(storage, { recursive: true, force: true });
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
  const side: Side = { ...running, load: await loadFor(scenario.prepare, running.url) };
  if (isFirst) await warmUp(side, run.pace.warmupMs);
  let { pace } = run;
  return rowOf(scenario, () => {
    const comparison = compare(side, { ...run.bare, load: bareLoad }, pace);
    // On a short round a garbage collection falls or does not. What seems to be too slow is measured again in long ones.
    pace = FULL;
    return comparison;
  });
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

async function report(run: Run): Promise<number> {
  const { rows, lists, asking, gateway, scaling, fanOut, crowd, flat, bundles, failures, pace } = run;
  const broken = brokenBudgets({
    ratios: [...rows, ...lists, ...asking, ...gateway, ...scaling, ...flat],
    fanOut,
    crowd,
  });
  for (const { name, reason } of failures) print(`\nWRONG  ${name}: ${reason}`);
  for (const line of broken) print(`\nOVER   ${line}`);
  print(`\n${broken.length === 0 ? "every budget holds" : `${broken.length} budgets are exceeded`}; ${NOISE_STATED}`);
  if (flags.json !== undefined) {
    const about = { ...machine(), ...pace };
    const measured = { rows, lists, asking, gateway, scaling, fanOut, crowd, flat, bundles };
    await writeFile(flags.json, document({ machine: about, ...measured, failures }));
  }
  return failures.length + broken.length === 0 ? 0 : 1;
}

function heading({ rounds, roundMs }: Pace): string {
  const { cpu, node, workerd } = machine();
  return (
    `CPU time of the workerd process per request, and its ratio to a bare Hono Worker (parse JSON, fixed answer)\n` +
    `${cpu}, node ${node}, workerd ${workerd}; ${CONNECTIONS} connections, ${rounds} rounds of ${roundMs} ms for each side\n`
  );
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

function progress(name: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${name}`);
}
