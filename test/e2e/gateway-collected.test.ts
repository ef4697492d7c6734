// What a Worker still holds of the faults of upstreams when its memory has been collected: no connection that stays open, and nothing
// that grows with how often they come. Without a collection its process grows for thousands of requests, as that of any Worker does that fetches.

import { expect, test } from "vitest";
import { collectHeap } from "../support/heap-after-gc.ts";
import { FAULTS, startFaultRounds } from "./fault-rounds.ts";
import { fixtureAdmin } from "../support/fixture-admin.ts";
import { startInspectedGateway } from "../support/gateway-tenant.ts";
import { residentOf, startedWorkers } from "../support/process-memory.ts";
import { sized } from "../support/tier.ts";

const others = startedWorkers();
const worker = await startInspectedGateway();
const pid = startedWorkers().find((one) => !others.includes(one)) ?? 0;
const admin = fixtureAdmin(worker.origin, "collected");

/** What these leave, the others are compared with. In a long run the process first takes the memory that it keeps. */
const WARMING = sized({ usual: 1, long: 4 });
const ROUNDS = sized({ usual: 2, long: 5, soak: 30 });
const MORE_MIB = 64;
/** Fewer rounds than these tell no leak from a process that takes its memory late: they only count what is held. */
const ROUNDS_THAT_TELL = 5;
/** Compiled code and notes why an upstream could not be read: a round is 47 faults. */
const HEAP_KIB_A_ROUND = 64;
const MORE_HEAP_KIB = 512;
/** Calls are watched over for some seconds after they end. Then none of these is left of a round of {@link FAULTS} faults. */
const HELD = ["workerd / Request", "workerd / ReadableStreamDefaultReader", "workerd / AbortSignal"] as const;
const MOST_HELD = 8;
const RELEASED_WITHIN_MS = 30_000;

interface Left {
  readonly resident: number;
  readonly heapKib: number;
  readonly held: number;
}

async function collected(): Promise<Left> {
  const heap = await collectHeap(worker);
  const held = HELD.reduce((sum, name) => sum + heap.count(name), 0);
  return { resident: residentOf(pid), heapKib: Math.round(heap.bytes / 1024), held };
}

test(
  "what every fault of the table leaves behind is collected, however often they come",
  async () => {
    const faults = await startFaultRounds(worker.origin, admin);
    const warm: Left[] = [];
    const later: Left[] = [];
    for (let round = 1; round <= WARMING + ROUNDS; round += 1) {
      await faults.round();
      expect((await collected()).held).toBeGreaterThan(0);
      await expect.poll(async () => (await collected()).held, { timeout: RELEASED_WITHIN_MS }).toBeLessThan(MOST_HELD);
      const left = await collected();
      (round <= WARMING ? warm : later).push(left);
      const { resident, heapKib, held } = left;
      process.stdout.write(`round ${round} of ${FAULTS}: ${resident} MiB, heap ${heapKib} KiB, ${held} held\n`);
    }
    await faults.stop();
    const most = (of: keyof Left, all: readonly Left[]) => Math.max(...all.map((one) => one[of]));
    if (ROUNDS < ROUNDS_THAT_TELL) return;
    expect(most("heapKib", later)).toBeLessThan(most("heapKib", warm) + MORE_HEAP_KIB + ROUNDS * HEAP_KIB_A_ROUND);
    expect(most("resident", later)).toBeLessThan(most("resident", warm) + MORE_MIB);
  },
  sized({ usual: 240_000, long: 360_000, soak: 1_800_000 }),
);
