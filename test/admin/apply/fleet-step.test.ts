// Steps of a fleet run: each in an invocation of its own that makes so many calls and no more, begun by the platform's object,
// until the run is done or somebody stopped it.

import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env, exports } from "cloudflare:workers";
import { beforeAll, describe, expect, it } from "vitest";
import { fleetOf, takeFleetStep } from "../../../src/admin/apply/fleet-step.ts";
import type { FleetRun, Infer } from "../../../src/admin/contract.ts";
import type { RunRecord } from "../../../src/admin/platform/fleet-records.ts";
import type { AdminEnv } from "../../../src/admin/route.ts";
import { inLanes } from "../../../src/admin/apply/lanes.ts";
import { adminEnv, adminOptions, ask, newTenant, ORIGIN } from "../../support/worker/admin.ts";
import { countedEnv } from "../../support/worker/platform-faults.ts";

type Run = Infer<typeof FleetRun>;

const TENANTS = 60;
const STEP = 10;
const ACTOR = { name: "root" };
/** What one tenant takes, and a step beside its tenants. */
const CALLS_A_TENANT = 9;
const CALLS_A_STEP = 12;

let tenants: readonly string[] = [];
let title = 0;

beforeAll(async () => {
  await ask("PUT", "/bases/stepped", { json: { title: "0" } });
  tenants = await inLanes(Array.from({ length: TENANTS }), () => newTenant({ extends: ["stepped"] }));
}, 120_000);

const deskOf = (at: AdminEnv = adminEnv) => ({
  env: at,
  options: adminOptions,
  caller: { ...ACTOR, role: "owner" as const, tenants: null },
  request: new Request(ORIGIN),
});

async function begin(more: object = {}): Promise<RunRecord> {
  title += 1;
  const run = { base: "stepped", document: { title: String(title) }, dryRun: false, wave: 5, continueOnError: false };
  return fleetOf(env).startRun({ ...run, step: STEP, ...more }, ACTOR);
}

const shown = async ({ id }: RunRecord) => (await ask("GET", `/fleet/runs/run-${id}`)).body as Run;
const titles = async () =>
  new Set(
    await inLanes(tenants, async (id) => {
      const { body } = await ask("GET", `/tenants/${id}`);
      return (body as { effective: { title: string } }).effective.title;
    }),
  );
/** As when the time has come for the next step. */
const due = ({ id }: RunRecord) =>
  runInDurableObject(exports.PlatformObject.getByName("platform"), (_object, { storage }) => {
    storage.sql.exec("UPDATE runs SET due = 0 WHERE id = ?", id);
    return storage.setAlarm(Date.now());
  });

describe("a run of more tenants than one invocation takes", () => {
  it("is finished without anybody", async () => {
    const run = await begin();
    const first = await takeFleetStep(deskOf(), run);
    expect(first).toMatchObject({ state: "running", total: TENANTS, done: STEP });
    await expect
      .poll(() => shown(run), { timeout: 25_000 })
      .toMatchObject({ state: "done", done: TENANTS, failed: [] });
    expect(await titles()).toEqual(new Set([String(title)]));
  });

  it("goes on though whoever began it is gone", async () => {
    const run = await begin();
    await due(run);
    await expect.poll(() => shown(run), { timeout: 25_000 }).toMatchObject({ state: "done", done: TENANTS });
    expect(await titles()).toEqual(new Set([String(title)]));
  });

  it("makes no more calls in one invocation than its step takes", async () => {
    const run = await begin();
    const { at, calls } = countedEnv();
    await takeFleetStep(deskOf(at), run);
    expect(calls.length).toBeLessThanOrEqual(STEP * CALLS_A_TENANT + CALLS_A_STEP);
    await fleetOf(env).stop(run.id);
  });

  it("that is stopped stays stopped, and goes on when it is resumed", async () => {
    const run = await begin({ wave: 2 });
    const stopped = (await ask("POST", `/fleet/runs/run-${run.id}/stop`)).body as Run;
    expect(stopped).toMatchObject({ state: "stopped", done: 0, total: TENANTS });
    await due(run);
    await runDurableObjectAlarm(exports.PlatformObject.getByName("platform"));
    expect(await takeFleetStep(deskOf(), await running(run))).toMatchObject({ state: "stopped", done: 0 });
    expect((await ask("POST", `/fleet/runs/run-${run.id}/resume`)).status).toBe(200);
    await expect.poll(() => shown(run), { timeout: 25_000 }).toMatchObject({ state: "done", done: TENANTS });
  });

  it("counts a tenant once whose step was taken twice", async () => {
    const run = await begin();
    const both = await Promise.all([takeFleetStep(deskOf(), run), takeFleetStep(deskOf(), run)]);
    expect(Math.max(...both.map(({ done }) => done))).toBeLessThanOrEqual(2 * STEP);
    await expect
      .poll(() => shown(run), { timeout: 25_000 })
      .toMatchObject({ state: "done", done: TENANTS, failed: [] });
  });
});

async function running({ id }: RunRecord): Promise<RunRecord> {
  return (await fleetOf(env).run(id)) as RunRecord;
}

describe("a run that a release before went on with, while it was rolled back to", () => {
  it("is done when all its tenants are, whatever its totals say", async () => {
    const run = await begin({ step: TENANTS });
    await runInDurableObject(exports.PlatformObject.getByName("platform"), (_object, { storage: { sql } }) => {
      // That one writes rows, and knows of no totals: of its own runs they are 0.
      sql.exec("UPDATE run_tenants SET state = 'done' WHERE run = ? AND tenant = ?", run.id, tenants[0]);
      sql.exec("UPDATE runs SET total = 0 WHERE id = ?", run.id);
    });
    const over = await takeFleetStep(deskOf(), run);
    expect(over).toMatchObject({ state: "done", done: TENANTS - 1 });
    const again = await fleetOf(env).takeUp(run.id, ACTOR);
    expect(again?.run).toMatchObject({ state: "done" });
  });

  it("ends though its totals say that some are left, and counts them anew where it is taken up", async () => {
    const run = await begin({ step: TENANTS });
    const setTotal = (total: number) =>
      runInDurableObject(exports.PlatformObject.getByName("platform"), (_object, { storage: { sql } }) => {
        sql.exec("UPDATE runs SET total = ? WHERE id = ?", total, run.id);
      });
    await setTotal(TENANTS + 7);
    expect(await fleetOf(env).stop(run.id)).toMatchObject({ state: "stopped" });
    expect((await fleetOf(env).takeUp(run.id, ACTOR))?.run).toMatchObject({ state: "running", total: TENANTS });
    await setTotal(TENANTS + 7);
    expect((await takeFleetStep(deskOf(), run)).state).toBe("done");
  });
});

describe("the platform's object", () => {
  const PLATFORM = exports.PlatformObject.getByName("platform");

  it("keeps a run that still runs, however many end after it", async () => {
    const run = await begin({ dryRun: true });
    for (let at = 0; at < 60; at += 1) {
      const { id } = await begin({ dryRun: true });
      await fleetOf(env).stop(id);
    }
    expect((await shown(run)).state).toBe("running");
    await fleetOf(env).stop(run.id);
    const { runs } = await runInDurableObject(PLATFORM, (_object, { storage }) => {
      return storage.sql.exec<{ runs: number }>("SELECT count(*) AS runs FROM runs").one();
    });
    expect(runs).toBeLessThan(60);
  });

  it("rings for a run that release 0.1.0 began, which had no time for its next step", async () => {
    const run = await begin();
    await runInDurableObject(PLATFORM, async (_object, { storage }) => {
      storage.sql.exec("UPDATE runs SET due = 0 WHERE id = ?", run.id);
      await storage.deleteAlarm();
    });
    await evictDurableObject(PLATFORM);
    await expect.poll(async () => (await shown(run)).state, { timeout: 20_000 }).toBe("done");
  }, 120_000);
});
