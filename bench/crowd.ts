// A hundred thousand tenants of one Worker: what a request of their traffic costs next to one of a single tenant, what the
// isolate holds of them, and how often a lease is there. Storage is filled, bindings count, chance is seeded.
import { Agent } from "node:http";
import type { Calls, Crowd, Entering, Making, Traffic } from "./crowd-figures.ts";
import { collectedHeap } from "./heap.ts";
import { compare, CONNECTIONS, cpuMicros, exchange } from "./measure.ts";
import type { Comparison, Pace } from "./measure.ts";
import type { Inspected } from "./runtime.ts";
import { callTo } from "./scenarios.ts";

export const TENANTS = 100_000;
export const CROWD = `tenants: ${TENANTS.toLocaleString("en")}`;
/** Of warm tenants, to one. */
export const FLAT_BUDGET = 1.2;
/** As many as an isolate holds with room to spare. */
export const WARM = 1000;
const WARM_FOR_MS = 600_000;
const LEASE_MS = 5000;
const SEED = 20_261_123;
const MADE_AT_ONCE = 50;
const ENTERED_AT_ONCE = 10_000;
const MIB = 1024 * 1024;

/** Calls a second for one tenant and isolate, and how many tenants are called so. */
const RATES = [
  { perSecond: 0.1, tenants: 60 },
  { perSecond: 1, tenants: 15 },
  { perSecond: 10, tenants: 3 },
  { perSecond: 100, tenants: 1 },
];
/** A second of theirs takes a tenth of one here: their leases do, too. */
const SCALE = 10;

export interface CrowdScale {
  requests: number;
  /** How long each rate is kept up, in milliseconds of the clock here. */
  rateMs: number;
}

export const QUICK_CROWD: CrowdScale = { requests: 5000, rateMs: 4000 };
export const FULL_CROWD: CrowdScale = { requests: 15_000, rateMs: 10_000 };

const zipfName = (rank: number): string => `tenant-${rank}`;
const warmName = (n: number): string => `warm-${n % WARM}`;
const pacedName = (perSecond: number, n: number): string => `paced-${String(perSecond).replace(".", "-")}-${n}`;

export async function measureCrowd(running: Inspected, scale: CrowdScale): Promise<Crowd> {
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  const isolate: Isolate = { ...running, agent };
  try {
    const begun = performance.now();
    const ranks = zipfRanks(scale.requests);
    await fill(isolate, ranks);
    const filledSeconds = (performance.now() - begun) / 1000;
    const alone = await drive(isolate, "one tenant", Array(scale.requests).fill(zipfName(1)));
    const one = (await collectedHeap(running.inspector)) / MIB;
    const zipf = await drive(isolate, `Zipf over ${TENANTS.toLocaleString("en")} tenants`, ranks.map(zipfName));
    const many = (await collectedHeap(running.inspector)) / MIB;
    const rates: Traffic[] = [];
    for (const rate of RATES) rates.push(await driveAt(isolate, rate, scale.rateMs));
    return { filledSeconds, heapMiB: { one, many }, traffic: [alone, zipf], rates };
  } finally {
    agent.destroy();
  }
}

interface Isolate extends Inspected {
  agent: Agent;
}

/** What warm tenants cost, against one of them: CPU of the same process. After `measureCrowd`, which made them. */
export async function measureFlat(running: Inspected, pace: Pace): Promise<Comparison> {
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  const isolate: Isolate = { ...running, agent };
  try {
    await drive(
      isolate,
      "warm",
      Array.from({ length: WARM }, (_, n) => warmName(n)),
    );
    // By a step that has no part in common with their number, so that no two in a row are neighbours.
    const many = { ...running, load: (n: number) => callTo(n, warmName(n * 7919)) };
    const flat = await compare(many, { ...running, load: (n: number) => callTo(n, warmName(0)) }, pace);
    const { asked: requestCount } = await takeCalls(isolate);
    if (requestCount > 0) throw new Error(`${requestCount} requests of warm tenants found no lease`);
    return flat;
  } finally {
    agent.destroy();
  }
}

/** By seed: `s = 1`, so that the n-th tenant has an n-th of the requests of the first. */
export function zipfRanks(count: number): number[] {
  const random = seeded(SEED);
  let total = 0;
  const sums = Float64Array.from({ length: TENANTS }, (_, at) => (total += 1 / (at + 1)));
  return Array.from({ length: count }, () => {
    const wanted = random() * total;
    let [low, high] = [0, TENANTS - 1];
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      if ((sums[middle] ?? 0) < wanted) low = middle + 1;
      else high = middle;
    }
    return low + 1;
  });
}

/** From 0 to 1, without 1. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d_2b_79_f5) % 4_294_967_296;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** All are in the directory; the objects and placements of those that nobody calls would only take time. */
async function fill(isolate: Isolate, ranks: readonly number[]): Promise<void> {
  for (let from = 0; from < TENANTS; from += ENTERED_AT_ONCE) {
    const names = Array.from({ length: ENTERED_AT_ONCE }, (_, at) => zipfName(from + at + 1));
    await send(isolate, "/enter", { names } satisfies Entering);
  }
  const paced = RATES.flatMap(({ perSecond, tenants }) =>
    Array.from({ length: tenants }, (_, n) => pacedName(perSecond, n)),
  );
  const warm = Array.from({ length: WARM }, (_, n) => warmName(n));
  await send(isolate, "/enter", { names: [...paced, ...warm] } satisfies Entering);
  const called = [...new Set([1, ...ranks])].map(zipfName);
  const parts = [
    ...makingsOf(called, LEASE_MS),
    ...makingsOf(paced, LEASE_MS / SCALE),
    ...makingsOf(warm, WARM_FOR_MS),
  ];
  const waiting = parts.values();
  const lane = async (): Promise<void> => {
    for (const part of waiting) await send(isolate, "/make", part);
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, lane));
}

function makingsOf(names: readonly string[], maxStalenessMs: number): Making[] {
  return Array.from({ length: Math.ceil(names.length / MADE_AT_ONCE) }, (_, at) => {
    return { names: names.slice(at * MADE_AT_ONCE, (at + 1) * MADE_AT_ONCE), maxStalenessMs };
  });
}

async function send({ agent, url }: Isolate, path: string, json: object): Promise<string> {
  const headers = { "content-type": "application/json" };
  const { status, body } = await exchange(agent, url, { path, headers, body: JSON.stringify(json) });
  if (status !== 200) throw new Error(`${path} was answered ${status}: ${body.slice(0, 600)}`);
  return body;
}

async function takeCalls(isolate: Isolate): Promise<Calls> {
  return JSON.parse(await send(isolate, "/calls", {})) as Calls;
}

/** In milliseconds. */
async function timed({ agent, url }: Isolate, n: number, tenant: string): Promise<number> {
  const wanted = callTo(n, tenant);
  const begun = performance.now();
  const answer = await exchange(agent, url, wanted);
  const took = performance.now() - begun;
  const fault = wanted.fault(answer);
  if (fault !== undefined) throw new Error(`${fault}\n  sent ${wanted.body}\n  got  ${answer.status} ${answer.body}`);
  return took;
}

/** One after the other on each connection. */
async function drive(isolate: Isolate, name: string, tenants: readonly string[]): Promise<Traffic> {
  return counted(isolate, name, tenants.length, async (note) => {
    const waiting = tenants.entries();
    const lane = async (): Promise<void> => {
      for (const [n, tenant] of waiting) note(await timed(isolate, n, tenant), tenant);
    };
    await Promise.all(Array.from({ length: CONNECTIONS }, lane));
  });
}

/** At random moments, whoever else is on their way. Each tenant was called before. */
async function driveAt(isolate: Isolate, rate: (typeof RATES)[number], forMs: number): Promise<Traffic> {
  const { perSecond, tenants } = rate;
  const random = seeded(SEED);
  const moments = Array.from({ length: tenants }, (_, n) => {
    const own: { at: number; tenant: string }[] = [];
    const gap = (): number => (-Math.log(1 - random()) * 1000) / (perSecond * SCALE);
    for (let at = gap(); at < forMs; at += gap()) own.push({ at, tenant: pacedName(perSecond, n) });
    return own;
  });
  for (let n = 0; n < tenants; n += 1) await timed(isolate, n, pacedName(perSecond, n));
  const calls = moments.flat().toSorted((a, b) => a.at - b.at);
  return counted(isolate, `${perSecond} calls/s`, calls.length, async (note) => {
    const begun = performance.now();
    const going = calls.map(async ({ at, tenant }, n) => {
      await new Promise((resolve) => setTimeout(resolve, begun + at - performance.now()));
      note(await timed(isolate, n, tenant), tenant);
    });
    await Promise.all(going);
  });
}

type Note = (ms: number, tenant: string) => void;

async function counted(
  isolate: Isolate,
  name: string,
  requests: number,
  work: (note: Note) => Promise<void>,
): Promise<Traffic> {
  const took: number[] = [];
  const tenants = new Set<string>();
  await takeCalls(isolate);
  const before = cpuMicros(isolate.pid);
  await work((ms, tenant) => {
    took.push(ms);
    tenants.add(tenant);
  });
  const micros = cpuMicros(isolate.pid) - before;
  const { held, asked: requestCount, reads, objects } = await takeCalls(isolate);
  const sorted = took.toSorted((a, b) => a - b);
  const at = (part: number): number =>
    sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))] ?? Number.NaN;
  const calls = Object.values(objects).reduce((sum, count) => sum + count, 0);
  return {
    name,
    requests,
    tenants: tenants.size,
    cpuMicros: micros / requests,
    p50Ms: at(0.5),
    p99Ms: at(0.99),
    hitRate: held / (held + requestCount),
    objectCalls: calls / requests,
    reads: reads / requests,
  };
}
