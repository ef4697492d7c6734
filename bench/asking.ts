// What a request costs that asks an object, and how much of it is ours, next to a bare Hono Worker that asks an object which does
// nothing: a call whose lease has ended (tenants in turn), and the read of a resource.
import { compare, warmUp } from "./measure.ts";
import type { Comparison, Load, Pace } from "./measure.ts";
import type { Running } from "./runtime.ts";
import { bareLoad, callTo, loadFor, makeTenant, read2026 } from "./scenarios.ts";
import type { Send } from "./scenarios.ts";

export const ENDED_LEASE = "2026 call, lease ended, next to asking an object";
/** What the platform's call of an object costs differs between machines, so an ended lease is compared with that call. */
export const ENDED_LEASE_BUDGET = 1.7;

export const READ = "resource read, next to asking an object";
/** A read finds the resource's row and body in its object, and makes a message of them. */
export const READ_BUDGET = 1.9;

/** So many tenants, each of which is called again when its lease, of the shortest there is, has ended. */
const ENDED = 600;
const AT_ONCE = 20;
const CALLED_BEFORE = 2;

export async function loadEnded(send: Send): Promise<Load> {
  for (let from = 0; from < ENDED; from += AT_ONCE) {
    const made = Array.from({ length: AT_ONCE }, (_, at) =>
      makeTenant(send, `ended-${from + at}`, { mode: "open", maxStalenessMs: 50 }),
    );
    await Promise.all(made);
  }
  const load: Load = (n) => callTo(n, `ended-${n % ENDED}`);
  await callBefore(send, load);
  return load;
}

/** An object's first call makes what later ones find, and costs many times as much. */
async function callBefore(send: Send, load: Load): Promise<void> {
  for (let n = 0; n < CALLED_BEFORE * ENDED; n += 1) {
    const { fault, ...wanted } = load(n);
    const wrong = fault(await send(wanted));
    if (wrong !== undefined) throw new Error(wrong);
  }
}

/** Takes as many objects in turn as there are tenants. */
async function loadAsking(send: Send): Promise<Load> {
  const load: Load = (n) => ({ ...bareLoad(n), path: `/mcp/asked-${n % ENDED}` });
  await callBefore(send, load);
  return load;
}

/** `bare`: of workers/bare-object.ts. Measures as often as it is asked to. */
export async function endedLease(running: Running, bare: Running, pace: Pace): Promise<() => Promise<Comparison>> {
  const ended = { ...running, load: await loadFor(loadEnded, running.url) };
  const asking = { ...bare, load: await loadFor(loadAsking, bare.url) };
  for (const side of [ended, asking]) await warmUp(side, pace.warmupMs / 2);
  return () => compare(ended, asking, pace);
}

/** The same of reads, of one object. */
export async function resourceRead(running: Running, bare: Running, pace: Pace): Promise<() => Promise<Comparison>> {
  const reading = { ...running, load: read2026 };
  const asking = { ...bare, load: bareLoad };
  for (const side of [reading, asking]) await warmUp(side, pace.warmupMs / 2);
  return () => compare(reading, asking, pace);
}
