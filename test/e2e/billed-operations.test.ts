// What each kind of request costs, counted at the bindings: as often as scripts/costs/billed.json says, not more, and not less.
// `npx node scripts/costs.ts --count` writes what was counted there.

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { BilledKind, BilledTable } from "../../scripts/costs/billed.ts";
import { startBilledWorkers, type BilledWorkers } from "./billed-operations/worker-pair-with-bills.ts";
import { KINDS, type Kind, type Place } from "./billed-operations/kinds.ts";
import { startUpstream, type Upstream } from "../support/upstream.ts";

const TABLE = join(import.meta.dirname, "../../scripts/costs/billed.json");
const TWO_HOURS_MS = 7_200_000;
const isWriting = process.env["COSTS"] === "count";
const table = JSON.parse(readFileSync(TABLE, "utf8")) as BilledTable;
const counted: Record<string, BilledKind> = {};

let workers: BilledWorkers;
let upstream: Upstream;
beforeAll(async () => {
  workers = await startBilledWorkers();
  upstream = await startUpstream({ go: () => ({ content: [{ type: "text", text: "gone" }] }) });
}, 300_000);
afterAll(async () => {
  await workers.stop();
  upstream.close();
  if (isWriting) writeFileSync(TABLE, `${JSON.stringify(counted, null, 2)}\n`);
});

async function count(kind: Kind, at: number): Promise<BilledKind> {
  const tenant = `billed-${at}`;
  const { one } = workers;
  const admin: Place["admin"] = (...request) => one.admin(...request);
  const place = { workers, upstream, tenant, url: `${one.origin}/mcp/${tenant}`, admin };
  const { before, just, act, after } = await kind.scene(place);
  await before?.();
  await workers.endStreams();
  await workers.moveOn(TWO_HOURS_MS);
  await workers.warm();
  await just?.();
  const { atOnce, later, steps } = await workers.billOf(act, kind.laterMs);
  await after?.();
  if (process.env["COSTS"] !== undefined) process.stderr.write(`${steps.join("\n")}\n`);
  return { requests: kind.requests, atOnce, later };
}

test.each(Object.entries(KINDS).map(([name, kind], at) => ({ name, kind, at })))(
  "$name costs what the table says",
  async ({ name, kind, at }) => {
    counted[name] = await count(kind, at);
    if (!isWriting) expect(counted[name]).toEqual(table[name]);
  },
);

test("the table has no other kinds", () => {
  if (!isWriting) expect(Object.keys(table)).toEqual(Object.keys(KINDS));
});
