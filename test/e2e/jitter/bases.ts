// The check of bases and their rollouts: while one runs, tenants that extend its base are made, begin to extend it, or
// leave it for another. Once it says that it is done, no tenant has the old base; and a base that is used is not
// deleted.

import { setTimeout as pause } from "node:timers/promises";
import { sized } from "../../support/tier.ts";
import { json, makeTenant, OPEN, unexpected, type Check, type Played, type Scene } from "./check.ts";

const OLD = 4;
const NEW = 3;
const MOVES = sized({ usual: 5, long: 8 });
const DONE_WITHIN_MS = 90_000;

interface Run {
  readonly version: number;
  readonly about: string;
  readonly state: string;
}

interface Shown {
  readonly own: { readonly extends?: readonly string[] };
  readonly effective: { readonly instructions?: string; readonly title?: string };
}

interface Places {
  readonly base: string;
  readonly other: string;
  readonly ids: readonly string[];
}

/** Tenants come and go between the two bases, and to none. */
async function move({ workers, draws }: Scene, { base, other, ids }: Places): Promise<readonly string[]> {
  const own = draws.fork();
  const violations: string[] = [];
  for (let step = 0; step < MOVES; step += 1) {
    const id = own.pick(ids);
    const bases = own.pick([[base], [other], [base, other], []]);
    const body = { ...OPEN, extends: bases, title: `${step} ${own.below(1000)}` };
    const answer = await workers.ask(own.below(2), "PUT", `/tenants/${id}/document`, { body });
    violations.push(...unexpected(`PUT of ${id}`, answer, [200, 404]));
  }
  return violations;
}

async function make({ workers, draws }: Scene, id: string, base: string): Promise<readonly string[]> {
  const own = draws.fork();
  await pause(own.below(800));
  const document = { ...OPEN, extends: [base] };
  const answer = await workers.ask(own.below(2), "POST", "/tenants", { body: { id, document } });
  return unexpected(`POST of ${id}`, answer, [201, 409, 404]);
}

/** Begins a rollout. */
async function roll({ workers, draws }: Scene, base: string): Promise<void> {
  await pause(draws.fork().below(300));
  await workers.insist("PUT", `/bases/${base}`, { body: { instructions: "new" } });
  await workers.ask(0, "POST", `/bases/${base}/rollout`, { body: {} });
}

/** Whatever became of the first, another one is begun and followed: the server goes on with it by itself. */
async function finished({ workers }: Scene, base: string): Promise<Run> {
  const begun = json(await workers.insist("POST", `/bases/${base}/rollout`, { body: {} })) as unknown as {
    rollout: number;
  };
  let run: Run;
  const until = Date.now() + DONE_WITHIN_MS;
  do {
    await pause(500);
    run = json(await workers.insist("GET", `/rollouts/${begun.rollout}`)) as unknown as Run;
  } while (run.state !== "done" && Date.now() < until);
  return run;
}

async function judge(scene: Scene, { base, ids }: Places, run: Run): Promise<readonly string[]> {
  const { workers } = scene;
  if (run.state !== "done") return [`${run.about} is ${run.state} after ${DONE_WITHIN_MS} ms`];
  const violations: string[] = [];
  for (const id of ids) {
    const answer = await workers.insist("GET", `/tenants/${id}`);
    if (answer.status === 404) continue;
    const { own, effective } = json(answer) as unknown as Shown;
    const has = own.extends?.includes(base) ? "new" : undefined;
    if (effective.instructions !== has)
      violations.push(
        `${id} extends ${JSON.stringify(own.extends)} and has ${effective.instructions} after ${run.about} was done`,
      );
    for (const name of own.extends ?? []) violations.push(...(await stays(scene, name, id)));
  }
  return violations;
}

/** A base that a tenant extends; one that could be deleted is made again. */
async function stays({ workers }: Scene, name: string, id: string): Promise<readonly string[]> {
  const { text } = await workers.insist("GET", `/bases/${name}`);
  const { status } = await workers.insist("DELETE", `/bases/${name}`);
  if (status === 409) return [];
  await workers.insist("PUT", `/bases/${name}`, { body: JSON.parse(text) as object });
  return [`${name}, which ${id} extends, was deleted: ${status}`];
}

async function play(scene: Scene): Promise<Played> {
  const { tag, workers } = scene;
  const [base, other] = [`${tag}-base`, `${tag}-other`];
  await workers.insist("PUT", `/bases/${base}`, { body: { instructions: "old" } });
  await workers.insist("PUT", `/bases/${other}`, { body: { description: "other" } });
  const old = Array.from({ length: OLD }, (_none, at) => `${tag}-old${at}`);
  const young = Array.from({ length: NEW }, (_none, at) => `${tag}-new${at}`);
  for (const [at, id] of old.entries()) await makeTenant(scene, id, at % 2 === 0 ? { extends: [base] } : {});
  const places = { base, other, ids: [...old, ...young] };
  const played = await scene.stormy(async () => {
    const rolling = roll(scene, base);
    const acted = await Promise.all([
      move(scene, places),
      move(scene, places),
      ...young.map((id) => make(scene, id, base)),
    ]);
    await rolling;
    return { violations: acted.flat() };
  });
  const run = await finished(scene, base);
  const violations = [...played.violations, ...(await judge(scene, places, run))];
  return { operations: 2 * MOVES + NEW + 1, violations };
}

export const bases: Check = {
  name: "bases",
  claim: "a rollout that is done leaves no tenant with the old base, and a base that is used stays",
  play,
};
