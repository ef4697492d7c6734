// A block and a base that come to every tenant of a Worker while the platform's object is reset in the middle: both are done, and
// the run says in how many seconds. `npx vitest run --mode long test/e2e/rollout-to-many.test.ts` has 3,000 tenants.

import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { client2026 } from "../support/mcp-client.ts";
import { sized } from "../support/tier.ts";
import { startWorkerPair, type WorkerPair } from "../support/worker-pair.ts";

const TENANTS = sized({ usual: 120, long: 3000 });
const LANES = 8;
/** Tenants that have clients, spread over all: their leases have to end. */
const REQUEST_COUNT = 20;
/** In the middle of a walk, which brings some 60 tenants a second their step. */
const RESET_AFTER_MS = TENANTS * 5;

let workers: WorkerPair;
const ids = Array.from({ length: TENANTS }, (_none, at) => `many-${at}`);
const requests = ids.filter((_id, at) => at % (TENANTS / REQUEST_COUNT) === 0);

beforeAll(async () => {
  workers = await startWorkerPair();
  await workers.one.admin("PUT", "/bases/wide", { title: "old" });
  const left = ids.values();
  const lane = async () => {
    for (const id of left) {
      await workers.one.admin("POST", "/tenants", { id, document: { mode: "open", extends: ["wide"] } });
    }
  };
  await Promise.all(Array.from({ length: LANES }, lane));
}, 1_200_000);
afterAll(() => workers.stop());

async function echo(id: string): Promise<string> {
  const client = client2026(`${workers.two.origin}/mcp/${id}`);
  return (await client.request("tools/call", { name: "lab_echo", arguments: {} })).text;
}

interface Rollout {
  readonly state: string;
  readonly tenants: number;
  readonly reached: number;
}

/** Of the rollout that this request begins, the end, with the platform's object reset on the way. */
async function afterReset(what: string, method: string, path: string, json?: unknown): Promise<Rollout> {
  const began = Date.now();
  const over = workers.one.admin(method, path, json);
  await pause(RESET_AFTER_MS);
  await workers.crash();
  const { rollout } = await over;
  const seconds = (Date.now() - began) / 1000;
  const ended = (await workers.one.admin("GET", `/rollouts/${String(rollout)}`)) as unknown as Rollout;
  process.stdout.write(`${what} over ${TENANTS} tenants: ${seconds.toFixed(1)} s, ${JSON.stringify(ended)}\n`);
  return ended;
}

test("a block is in force in every tenant, and so is its end", async () => {
  for (const id of requests) expect(await echo(id)).toContain('"result"');
  const blocked = await afterReset("a block", "POST", "/tools/lab_echo/block", { note: "recalled" });
  expect(blocked).toMatchObject({ state: "done" });
  for (const id of requests) expect(await echo(id)).toContain("recalled");
  await workers.one.admin("DELETE", "/tools/lab_echo/block");
  for (const id of requests) expect(await echo(id)).not.toContain("recalled");
});

test("a base is in every tenant that extends it", async () => {
  await workers.one.admin("PUT", "/bases/wide", { title: "new" });
  expect(await afterReset("a base", "POST", "/bases/wide/rollout", {})).toMatchObject({ state: "done" });
  for (const id of requests) {
    expect(await workers.one.admin("GET", `/tenants/${id}`)).toMatchObject({ effective: { title: "new" } });
  }
});
