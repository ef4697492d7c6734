// What the streams of an isolate hear of what is stopped in every tenant, when the platform has a bad day:
// a replica that was not told, storage that was set back, sockets that are not opened.

import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env, exports } from "cloudflare:workers";
import { beforeAll, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { baseTables } from "../../../src/admin/platform/base-tables.ts";
import { brakes } from "../../../src/admin/platform/brake-lease.ts";
import { BRAKE_LEASE_MS, brakeTables } from "../../../src/admin/platform/brake-tables.ts";
import { unwatchBrakes, watchBrakes } from "../../../src/admin/platform/brake-watch.ts";
import { platformAt, platformOf } from "../../../src/admin/platform/platform-door.ts";
import type { View } from "../../../src/content/serve/view.ts";
import type { BrakeGround } from "../../../src/deployment/brakes.ts";
import { remote } from "../../../src/tenants/authority/tables.ts";
import type { Snapshot } from "../../../src/tenants/isolate/snapshot.ts";
import { countedEnv, spoilObject } from "../../support/worker/platform-faults.ts";

const LEASE_MS = 300;
const REPLICAS = ["policy-0", "policy-1", "policy-2", "policy-3"];
const ANN = { name: "ann" };
const SHORT = { BRAKE_LEASE_MS: String(LEASE_MS) };
const at = { ...env, ...SHORT };
const decides = () => platformOf(env);
const push = () => remote(decides(), brakeTables).push();

/** Brought to every replica that has a lease, as an operator's request does; it waits for nothing. */
async function block(name: string): Promise<void> {
  await remote(decides(), baseTables).block(name, "recalled", ANN);
  await push();
}

function visit(bindings: object = at) {
  const work: Promise<unknown>[] = [];
  const ground: BrakeGround = {
    env: bindings,
    request: new Request("https://mcp.example.com/mcp/any"),
    waitUntil: (one) => {
      work.push(one);
    },
    onError: () => {},
  };
  onTestFinished(() => {
    brakes.left(ground);
  });
  const begin = async () => {
    await brakes.hold(ground, seen()[0]);
    await Promise.all(work);
  };
  return { ground, begin };
}

/** A tenant under a lease that is longer than the other one, with these tools. */
function seen(...tools: string[]): readonly [Snapshot, View] {
  const policy = { document: {}, suspensions: [], retired: [] };
  const lease = { validUntil: Date.now() + 60_000, leaseMs: 60_000 };
  const snapshot = { tenant: "any", created: "then", policy, derived: new Map(), ...lease } as unknown as Snapshot;
  return [snapshot, { tools: tools.map((name) => ({ target: { name } })) } as unknown as View];
}

const isTold = (ground: BrakeGround, tool: string) =>
  expect.poll(() => brakes.changed(ground, ...seen(tool)), { timeout: 12_000, interval: 100 }).toBe(true);

let tools = 0;
const newTool = () => `tool_${(tools += 1)}`;

// The first call of each takes as long as the machine is busy.
beforeAll(async () => {
  const follow = { version: null, forMs: 0 };
  for (const name of REPLICAS) await remote(platformAt(env, name), brakeTables).lease(follow);
});
// What one test's visits hold is over when the next begins.
beforeEach(() => scheduler.wait(LEASE_MS + 50));

describe("a stream hears of a block", () => {
  it("though the replica that it asks was not told, as the one that told is away", async () => {
    const tool = newTool();
    const { at: counted, calls } = countedEnv(SHORT);
    const { ground, begin } = visit(counted);
    await begin();
    const [snapshot, view] = seen(tool);
    await brakes.hold(ground, snapshot);
    await brakes.changed(ground, snapshot, view);
    await expect.poll(() => calls.filter((one) => one.endsWith(" fetch")).length).toBe(1);
    const tells = calls.find((one) => one.endsWith(" fetch"))?.split(" ")[1] ?? "";
    const lost = () => Promise.reject(new Error("Network connection lost."));
    await spoilObject(tells, (method) => (method === "brakes.lease" ? lost() : undefined));
    for (const other of REPLICAS.filter((name) => name !== tells)) {
      await remote(platformAt(env, other), brakeTables).lease({ version: null, forMs: 0 });
      await spoilObject(other, (method) => (method === "brakes.take" ? lost() : undefined));
    }
    await block(tool);
    await isTold(ground, tool);
  });
});

describe("replicas that were not told", () => {
  it("are told by the alarm, until they were, though nobody asks them and who decides was reset", async () => {
    const tool = newTool();
    const { ground, begin } = visit();
    await begin();
    const [snapshot, view] = seen(tool);
    await brakes.hold(ground, snapshot);
    await brakes.changed(ground, snapshot, view);
    const lost = () => Promise.reject(new Error("Network connection lost."));
    const back = await Promise.all(
      REPLICAS.map((name) => spoilObject(name, (method) => (method === "brakes.take" ? lost() : undefined))),
    );
    await block(tool);
    const platform = exports.PlatformObject.getByName("platform");
    // The alarm of another domain is months away.
    const isSoon = () =>
      runInDurableObject(
        platform,
        async (_object, { storage }) => ((await storage.getAlarm()) ?? Infinity) < Date.now() + 120_000,
      );
    await expect.poll(isSoon).toBe(true);
    expect(await brakes.changed(ground, snapshot, view)).toBe(false);
    await evictDurableObject(platform);
    for (const end of back) end();
    await runDurableObjectAlarm(platform);
    await isTold(ground, tool);
    expect(await isSoon()).toBe(false);
  });
});

describe("the socket by which an isolate hears", () => {
  it("is one again when another stream took it over while its clock was ahead", async () => {
    const [first, second] = [visit().ground, visit().ground];
    const watches = (by: BrakeGround) => {
      watchBrakes(
        by,
        () => 0,
        () => {},
      );
    };
    const sockets = () =>
      runInDurableObject(
        exports.PlatformObject.getByName("policy-0"),
        (_object, state) => state.getWebSockets().length,
      );
    const before = await sockets();
    watches(first);
    const now = Date.now;
    Date.now = () => now() + 60_000;
    watches(second);
    Date.now = now;
    await expect.poll(sockets).toBe(before + 2);
    watches(first);
    await expect.poll(sockets).toBe(before + 1);
    unwatchBrakes(second);
    await expect.poll(sockets).toBe(before);
  });

  it("is held by another stream where a replica never answers the one that asked for it", async () => {
    const silent = { getByName: () => ({ fetch: () => new Promise(() => {}) }) };
    const first = visit({ ...at, PlatformObject: silent }).ground;
    const second = visit().ground;
    const heard: number[] = [];
    const watches = (by: BrakeGround) => {
      watchBrakes(
        by,
        () => 0,
        (version) => heard.push(version),
      );
      return heard.length;
    };
    expect(watches(first)).toBe(0);
    await expect.poll(() => watches(second), { timeout: 12_000, interval: 200 }).toBeGreaterThan(0);
  });
});

describe("who comes in", () => {
  it.each([
    ["nobody, where all replicas refuse this Worker as of another release", "brakes: stored of another release", false],
    ["everybody, where all are of a release that kept nothing of what is stopped", "no method brakes.lease", true],
  ])("is %s", async (_title, says, isLetIn) => {
    for (const name of REPLICAS) {
      await spoilObject(name, (method) => (method === "brakes.lease" ? Promise.reject(new Error(says)) : undefined));
    }
    const held = await brakes.hold(visit().ground, seen("any")[0]);
    expect("tenant" in held).toBe(isLetIn);
  });
});

describe("a clock that was half a minute ahead when leases were given", () => {
  it("makes no block wait longer than leases last", async () => {
    const now = Date.now;
    Date.now = () => now() + 30_000;
    for (const name of REPLICAS) {
      await remote(platformAt(env, name), brakeTables).lease({ version: null, forMs: BRAKE_LEASE_MS });
    }
    Date.now = now;
    expect(await push()).toBeLessThanOrEqual(BRAKE_LEASE_MS + 100);
  });
});

describe("storage of who decides that was set back to an earlier time", () => {
  const setBack = async (version: number) => {
    for (const name of REPLICAS) await remote(platformAt(env, name), brakeTables).lease({ version: null, forMs: 0 });
    await runInDurableObject(exports.PlatformObject.getByName("platform"), (_object, { storage }) => {
      storage.sql.exec("UPDATE brakes SET version = ?", version);
      storage.sql.exec("DELETE FROM blocks");
    });
  };
  const stoppedAt = async (name: string) => {
    const { policy } = await remote(platformAt(env, name), brakeTables).lease({ version: null, forMs: 0 });
    return policy?.tools.map((one) => one.name) ?? [];
  };

  it.each(["block", "push"] as const)(
    "keeps no %s that is acknowledged from replicas that had later ones",
    async (by) => {
      const [lost, tool] = [newTool(), newTool()];
      await block(lost);
      await block(newTool());
      await setBack(1);
      if (by === "block") await remote(decides(), baseTables).block(tool, "recalled", ANN);
      await scheduler.wait(await push());
      for (const name of REPLICAS) {
        const stopped = await stoppedAt(name);
        expect(stopped).toEqual(by === "block" ? [tool] : []);
      }
    },
  );

  it("is told to streams", async () => {
    const tool = newTool();
    const { ground, begin } = visit();
    await begin();
    await block(newTool());
    await block(newTool());
    await brakes.hold(ground, seen(tool)[0]);
    expect(await brakes.changed(ground, ...seen(tool))).toBe(false);
    await setBack(1);
    await block(tool);
    await isTold(ground, tool);
  });
});
