// The check of what operators do: what was acknowledged is so in the end, what was not is so or as it was, and reading
// is never refused.

import { json, makeTenant, OPEN, type Check, type Played, type Scene } from "../jitter/check.ts";
import type { Draws } from "../jitter/draws.ts";
import { isUnknown, type Answer } from "../jitter/unreliable-workers.ts";
import { sized } from "../../support/tier.ts";

const LANES = 3;
const STEPS = sized({ usual: 14, long: 40 });
/** What is acknowledged when all isolates know it takes seconds. */
const BLOCKS = 1;

interface Lane {
  readonly scene: Scene;
  readonly draws: Draws;
  /** Of this lane alone. */
  readonly id: string;
  readonly violations: string[];
  /** By what is said in a `Change`: what it may be in the end. */
  readonly may: Map<string, readonly string[]>;
  operations: number;
}

/** Something that is one way or another, as it is changed and as it is found. */
interface Change {
  readonly what: string;
  /** How it is in the beginning, and after what `undo` asks for. */
  readonly none: string;
  /** Gives how it will be. */
  readonly ask: (lane: Lane, nth: string) => OperatorRequest;
  readonly undo: (lane: Lane) => OperatorRequest;
  readonly find: (lane: Lane) => Promise<string>;
}

interface OperatorRequest {
  readonly method: string;
  readonly path: string;
  readonly body?: object;
  readonly becomes: string;
}

interface Item {
  readonly kind?: string;
  readonly name: string;
  readonly note?: string;
}

const itemsOf = (answer: Answer) => json(answer)["items"] as readonly Item[];
const listed = async ({ scene: { workers } }: Lane, path: string) => itemsOf(await workers.insist("GET", path));
const tool = ({ id }: Lane) => `${id.replaceAll("-", "")}__spend`;

const SUSPENDED = "suspended";

/** A tenant's is known to two objects: while one of them cannot be reached, the other's note may be an earlier one. */
function suspension(kind: "tenant" | "tool", name?: string): Change {
  const below = name === undefined ? kind : `${kind}/${name}`;
  return {
    what: `the suspension of the ${kind}`,
    none: "none",
    ask: ({ id }, nth) => ({
      method: "POST",
      path: `/tenants/${id}/suspensions`,
      body: { kind, name, note: nth },
      becomes: kind === "tenant" ? SUSPENDED : nth,
    }),
    undo: ({ id }) => ({ method: "DELETE", path: `/tenants/${id}/suspensions/${below}`, becomes: "none" }),
    find: async (lane) => {
      const found = (await listed(lane, `/tenants/${lane.id}/suspensions`)).find(
        // A tool that is blocked everywhere is among them.
        (one) => one.kind === kind && (name === undefined || one.name === name),
      );
      return found && kind === "tenant" ? SUSPENDED : (found?.note ?? "none");
    },
  };
}

const TITLE: Change = {
  what: "the title",
  none: "none",
  ask: ({ id }, nth) => ({
    method: "PUT",
    path: `/tenants/${id}/document`,
    body: { ...OPEN, title: nth },
    becomes: nth,
  }),
  undo: ({ id }) => ({ method: "PUT", path: `/tenants/${id}/document`, body: OPEN, becomes: "none" }),
  find: async ({ id, scene: { workers } }) => {
    const { own } = json(await workers.insist("GET", `/tenants/${id}`)) as { own: { title?: string } };
    return own.title ?? "none";
  },
};

const SECRET: Change = {
  what: "the secret",
  none: "none",
  ask: ({ id }, nth) => ({
    method: "PUT",
    path: `/tenants/${id}/secrets/WORD`,
    body: { value: nth },
    becomes: "set",
  }),
  undo: ({ id }) => ({ method: "DELETE", path: `/tenants/${id}/secrets/WORD`, becomes: "none" }),
  find: async (lane) => ((await listed(lane, `/tenants/${lane.id}/secrets`)).length > 0 ? "set" : "none"),
};

const BASE: Change = {
  what: "the base",
  none: "none",
  ask: ({ id }, nth) => ({ method: "PUT", path: `/bases/${id}`, body: { title: nth }, becomes: nth }),
  undo: ({ id }) => ({ method: "DELETE", path: `/bases/${id}`, becomes: "none" }),
  find: async ({ id, scene: { workers } }) => {
    const answer = await workers.insist("GET", `/bases/${id}`);
    return answer.status === 404 ? "none" : String((json(answer) as { title?: string }).title);
  },
};

const OTHER: Change = {
  what: "the other tenant",
  none: "none",
  ask: ({ id }) => ({
    method: "POST",
    path: "/tenants",
    body: { id: `${id}-other`, document: OPEN },
    becomes: "made",
  }),
  undo: ({ id }) => ({ method: "DELETE", path: `/tenants/${id}-other`, becomes: "none" }),
  find: async ({ id, scene: { workers } }) => {
    const answer = await workers.insist("GET", `/tenants/${id}-other`);
    return answer.status === 404 || "gone" in json(answer) ? "none" : "made";
  },
};

const BLOCK: Change = {
  what: "the block",
  none: "none",
  ask: (lane, nth) => ({ method: "POST", path: `/tools/${tool(lane)}/block`, body: { note: nth }, becomes: nth }),
  undo: (lane) => ({ method: "DELETE", path: `/tools/${tool(lane)}/block`, becomes: "none" }),
  find: async (lane) => {
    const found = (await listed(lane, "/tools/blocked?limit=200")).find((one) => one.name === tool(lane));
    return found?.note ?? "none";
  },
};

const CHANGES: readonly Change[] = [suspension("tenant"), suspension("tool", "lab_pay"), TITLE, SECRET, BASE, OTHER];

const READS = [
  "/tenants?limit=5",
  "/tenants/ID",
  "/tenants/ID/document",
  "/tenants/ID/keys",
  "/tenants/ID/audit",
  "/tenants/ID/secrets",
  "/tenants/ID/suspensions",
  "/tenants/ID/limits",
  "/tenants/ID/resources",
  "/tenants/ID/prompts",
  "/tenants/ID/upstreams",
  "/tenants/ID/backup",
  "/tenants/ID/export",
  "/audit",
  "/bases",
  "/rollouts",
  "/operators",
  "/tools/blocked",
] as const;

async function read({ scene: { workers }, draws, id, violations }: Lane): Promise<void> {
  const path = draws.pick(READS).replace("ID", id);
  const { status, text } = await workers.ask(draws.below(2), "GET", path);
  if (status >= 400 && status < 500) violations.push(`GET ${path} was answered ${status} ${text.slice(0, 300)}`);
}

async function change(lane: Lane, one: Change): Promise<void> {
  const { scene, draws, violations, may } = lane;
  const before = may.get(one.what) ?? [one.none];
  const request = draws.chance(0.6) ? one.ask(lane, `note ${lane.operations}`) : one.undo(lane);
  const { method, path, body, becomes } = request;
  const answer = await scene.workers.ask(draws.below(2), method, path, body ? { body } : {});
  if (isUnknown(answer)) may.set(one.what, [...before, becomes]);
  else if (answer.status < 300) may.set(one.what, [becomes]);
  else if (!isMatterOfCourse(one, answer, before)) {
    violations.push(`${method} ${path} was answered ${answer.status} ${answer.text.slice(0, 300)}`);
  }
}

/** A name that is taken, or nobody's: as far as its lane knows. */
function isMatterOfCourse({ none }: Change, { status }: Answer, before: readonly string[]): boolean {
  if (status === 404) return before.includes(none);
  return status === 409 && before.some((one) => one !== none);
}

async function act(lane: Lane): Promise<void> {
  for (let step = 0; step < STEPS; step += 1) {
    lane.operations += 1;
    if (lane.draws.chance(0.5)) await read(lane);
    else await change(lane, lane.draws.pick(CHANGES));
  }
  for (let block = 0; block < BLOCKS; block += 1) {
    lane.operations += 1;
    await change(lane, BLOCK);
  }
}

async function judge(lane: Lane): Promise<void> {
  for (const one of [...CHANGES, BLOCK]) {
    const may = lane.may.get(one.what) ?? [one.none];
    const is = await one.find(lane);
    if (!may.includes(is)) lane.violations.push(`${lane.id}: ${one.what} is ${is} in the end, of ${may.join()}`);
  }
}

async function play(scene: Scene): Promise<Played> {
  const lanes = Array.from({ length: LANES }, (_none, at): Lane => {
    const id = `${scene.tag}-${at}`;
    return { scene, draws: scene.draws.fork(), id, violations: [], may: new Map(), operations: 0 };
  });
  for (const { id } of lanes) await makeTenant(scene, id);
  await scene.stormy(() => Promise.all(lanes.map(act)));
  await Promise.all(lanes.map(judge));
  return {
    operations: lanes.reduce((sum, { operations }) => sum + operations, 0),
    violations: lanes.flatMap(({ violations }) => violations),
  };
}

export const operators: Check = {
  name: "operators",
  claim: "what operators were told is so in the end, and what they read is told",
  play,
};
