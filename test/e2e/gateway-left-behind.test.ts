// What the faults of upstreams leave behind in the Worker: no connection that stays open, and no memory that grows with how
// often they come.

import { expect, test } from "vitest";
import { FAULTS, startFaultRounds } from "../support/fault-rounds.ts";
import { fixtureAdmin } from "../support/fixture-admin.ts";
import { startGatewayWorker } from "../support/gateway-tenant.ts";
import { residentOf, startedWorkers } from "../support/process-memory.ts";

const others = startedWorkers();
const origin = await startGatewayWorker();
const pid = startedWorkers().find((one) => !others.includes(one)) ?? 0;
const admin = fixtureAdmin(origin, "left");

/** The process takes memory from the kernel then, and uses it again afterwards. */
const WARMING = 2;
/** Over more of them workerd grows by what it has not collected: gateway-collected.test.ts collects, and has many more. */
const ROUNDS = 4;
/** One answer of 50 MiB that stayed would be most of it. */
const MORE_MIB = 64;

test("every fault of the table, over and over, leaves no request open and takes no more memory than the first times", async () => {
  const faults = await startFaultRounds(origin, admin);
  const lines: string[] = [];
  let warm = 0;
  let peak = 0;
  for (let round = 1; round <= WARMING + ROUNDS; round += 1) {
    await faults.round();
    const resident = residentOf(pid);
    lines.push(`round ${round}: ${resident} MiB`);
    if (round <= WARMING) warm = Math.max(warm, resident);
    else peak = Math.max(peak, resident);
  }
  await faults.stop();
  process.stdout.write(`memory of workerd after ${FAULTS} faults each: ${lines.join(", ")}\n`);
  expect(warm).toBeGreaterThan(10);
  expect(peak).toBeLessThan(warm + MORE_MIB);
}, 240_000);
