// Mixed load of both eras while calls to every binding fail as the platform says that they do: nothing is an error that a second
// try could have saved, nothing acknowledged is lost, nothing comes twice. `SEED=N npx vitest run test/e2e/chaos.test.ts` repeats
// the faults and the load of a round; the machine still has its say in which of them meet.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Plan, InjectedFault } from "../support/injected-faults.ts";
import { hearAnswers, type ObservedAnswer } from "./chaos/answers.ts";
import { calls } from "./chaos/calls.ts";
import { keys } from "./chaos/keys.ts";
import { operators } from "./chaos/operators.ts";
import { questions } from "./chaos/questions.ts";
import { records } from "./chaos/records.ts";
import { reports } from "./chaos/reports.ts";
import { Tally } from "./chaos/tally.ts";
import { upstreams } from "./chaos/upstreams.ts";
import { isBad, verdictOf } from "./chaos/verdicts.ts";
import { announcements } from "./jitter/announcements.ts";
import { batches } from "./jitter/batches.ts";
import type { Check, Played } from "./jitter/check.ts";
import { createDraws, type Draws } from "./jitter/draws.ts";
import { registers } from "./jitter/registers.ts";
import { VARS, UnreliableWorkers } from "./jitter/unreliable-workers.ts";
import { SEED } from "../support/seed.ts";
import { sized } from "../support/tier.ts";
import { startWorkerPair, type WorkerPair } from "../support/worker-pair.ts";

const LOADS: readonly Check[] = [
  calls,
  reports,
  questions,
  keys,
  operators,
  upstreams,
  records,
  registers,
  announcements,
  batches,
];
/** No further round begins after so long; a first one always. */
const FOR_MS = sized({ usual: 0, long: 4.5 * 60_000, soak: 60 * 60_000 });
/** As KV does for a minute; a round is shorter than that. */
const ABSENT_MS = sized({ usual: 5000, long: 60_000 });
const EVERY = 25;

let storage = "";
let workers: WorkerPair;
let unreliable: UnreliableWorkers;
let unhear = () => {};
let answers: ObservedAnswer[] = [];
const tally = new Tally();
const loads = new Map<string, { operations: number; violations: number }>();
const struck = new Map<string, number>();
/** What is judged when all rounds are over. */
const atTheEnd: (() => Promise<readonly string[]>)[] = [];
const rows = { rounds: 0, answers: 0, resets: 0, closures: 0, mostSubrequests: 0 };

beforeAll(async () => {
  storage = await mkdtemp(join(tmpdir(), "tenantry-chaos-"));
  const vars = { ...VARS, OUTBOUND_LOCAL: "http://127.0.0.1" };
  unreliable = await UnreliableWorkers.begin(async () => {
    workers = await startWorkerPair(vars, storage, false, { entry: "chaos-worker", flags: ["nodejs_als"] });
    return workers;
  });
  unhear = hearAnswers(
    (origin) => workers.both.some((worker) => worker.origin === origin),
    (answer) => answers.push(answer),
  );
}, 600_000);
afterAll(async () => {
  unhear();
  await unreliable.end();
  await rm(storage, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  const said = [...loads].map(([name, { operations, violations }]) => [name.padEnd(14), operations, violations]);
  const strikes = [...struck]
    .toSorted(([one], [other]) => one.localeCompare(other))
    .map(([call, count]) => `${call} ${count}`);
  process.stdout.write(
    [
      ["load          ", "operations", "violations"].join("\t"),
      ...said.map((cells) => cells.join("\t")),
      String(tally),
      `strikes: ${strikes.join(", ")}`,
      `${JSON.stringify(rows)}\n`,
    ].join("\n"),
  );
});

const chaosOf = (at: number, query = "") => `${unreliable.origin(at)}/__chaos${query}`;

async function plan(which: Plan | null): Promise<void> {
  const body = JSON.stringify(which);
  for (const at of [0, 1]) await (await fetch(chaosOf(at), { method: "POST", body })).text();
}

interface Struck {
  readonly strikes: readonly InjectedFault[];
  readonly mostSubrequests: number;
}

/** What struck this request, and while it was under way objects, which live in the first Worker, and leases for all who wait. */
async function strikesOf({ origin, id, begun, ended }: ObservedAnswer): Promise<readonly InjectedFault[]> {
  const query = `?id=${id}&from=${begun - 50}&to=${ended + 50}`;
  const origins = [...new Set([origin, unreliable.origin(0)])];
  const all = await Promise.all(
    origins.map(async (at) => (await (await fetch(`${at}/__chaos${query}`)).json()) as Struck),
  );
  return all.flatMap(({ strikes }) => strikes);
}

/** Every object reset, or every socket closed by the server, now and then. */
async function storm(draws: Draws, isOver: () => boolean): Promise<void> {
  while (!isOver()) {
    await pause(400 + draws.below(1600));
    if (isOver()) return;
    if (draws.chance(0.5)) {
      rows.resets += 1;
      await workers.crash();
    } else {
      rows.closures += 1;
      await (await fetch(chaosOf(0), { method: "POST", body: '{"closeSockets":true}' })).text();
    }
  }
}

/** Each load until it has done what it does in bad weather; it is calm for all when the last one has. */
async function playRound(seed: number): Promise<readonly string[]> {
  const draws = createDraws(seed);
  const through = Promise.withResolvers<void>();
  let [left, isOver] = [0, false];
  const leave = () => {
    left += 1;
    if (left === LOADS.length) through.resolve();
  };
  const begin = Promise.withResolvers<void>();
  let ready = 0;
  const enter = () => {
    ready += 1;
    if (ready === LOADS.length) begin.resolve();
  };
  const planned = begin.promise.then(async () => {
    answers = [];
    await plan({ seed, every: EVERY, absentMs: ABSENT_MS });
  });
  const weather = planned.then(async () => {
    const storming = storm(draws.fork(), () => isOver);
    await through.promise;
    isOver = true;
    await storming;
    await plan(null);
  });
  const playing = LOADS.map(async (load): Promise<readonly string[]> => {
    let isThrough = false;
    const stormy = async <T>(work: () => Promise<T>): Promise<T> => {
      isThrough = true;
      enter();
      await planned;
      try {
        return await work();
      } finally {
        leave();
        await weather;
      }
    };
    const scene = { workers: unreliable, draws: draws.fork(), tag: `${load.name}-${seed}`, isFaulty: true, stormy };
    const played = await load.play(scene).catch((error: unknown): Played => {
      return { operations: 0, violations: [`it did not come to its end: ${String(error)}`] };
    });
    if (!isThrough) {
      enter();
      leave();
    }
    const known = loads.get(load.name) ?? { operations: 0, violations: 0 };
    known.operations += played.operations;
    known.violations += played.violations.length;
    loads.set(load.name, known);
    const { later } = played;
    if (later)
      atTheEnd.push(async () => (await later()).map((violation) => `SEED=${seed}: ${load.name}: ${violation}`));
    return played.violations.map((violation) => `${load.name}: ${violation}`);
  });
  const violations = (await Promise.all(playing)).flat();
  return [...violations, ...(await judgeAnswers())];
}

async function judgeAnswers(): Promise<readonly string[]> {
  const violations: string[] = [];
  for (const answer of answers.splice(0)) {
    rows.answers += 1;
    const strikes = await strikesOf(answer);
    const { outcome, why } = verdictOf(answer, strikes);
    tally.add(isBad(answer) ? strikes : strikes.filter(({ isInner }) => !isInner), outcome);
    if (why !== "") violations.push(why);
  }
  for (const at of [0, 1]) {
    const { strikes, mostSubrequests } = (await (await fetch(chaosOf(at))).json()) as Struck;
    rows.mostSubrequests = Math.max(rows.mostSubrequests, mostSubrequests);
    for (const { call, kind } of strikes) struck.set(`${kind} ${call}`, (struck.get(`${kind} ${call}`) ?? 0) + 1);
  }
  return violations;
}

test("whatever fails once is asked again, what was acknowledged is there, and nothing comes twice", async () => {
  const violations: string[] = [];
  const until = Date.now() + FOR_MS;
  for (let round = 0; round === 0 || Date.now() < until; round += 1) {
    const seed = (SEED.seed + round) % 2 ** 31;
    rows.rounds += 1;
    violations.push(...(await playRound(seed)).map((violation) => `SEED=${seed}: ${violation}`));
  }
  for (const judged of await Promise.all(atTheEnd.map((later) => later()))) violations.push(...judged);
  expect(violations).toEqual([]);
}, 3_600_000);
