import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { FairSemaphore } from "../../../src/gateway/guard/fair-semaphore.ts";

const size = { max: 4, maxPerKey: 2, staleAfterMs: 60_000 };
const tick = async (milliseconds = 50) => vi.advanceTimersByTimeAsync(milliseconds);

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** Fills it with these, each of whom has to have a place. */
function filled(of: readonly string[], semaphore = new FairSemaphore(size)) {
  const leave = of.map((one) => {
    const out = semaphore.tryAcquire(one);
    if (!out) throw new Error(`no place for ${one}`);
    return out;
  });
  return { semaphore, leave };
}

describe("a caller that does not wait", () => {
  it("has a place while there is one, and no more than are left free", () => {
    const { semaphore, leave } = filled(["a", "a", "b"]);
    expect(semaphore.tryAcquire("a")).toBeUndefined();
    expect(semaphore.tryAcquire("b")).toBeUndefined();
    expect(semaphore.tryAcquire("c")).toBeDefined();
    expect(semaphore.tryAcquire("d")).toBeUndefined();
    leave[0]?.();
    expect(semaphore.tryAcquire("d")).toBeDefined();
  });

  it("leaves once, however often it says so", () => {
    const { semaphore, leave } = filled(["a", "b"]);
    leave[0]?.();
    leave[0]?.();
    expect(semaphore.permits).toBe(1);
    expect(semaphore.tryAcquire("a")).toBeDefined();
  });

  it("is forgotten where the platform dropped it, once its place is needed, also after the clock was set back", async () => {
    const { semaphore } = filled(["a", "b", "c", "d"]);
    expect(semaphore.tryAcquire("e")).toBeUndefined();
    await tick(59_000);
    expect(semaphore.tryAcquire("e")).toBeUndefined();
    await tick(1000);
    expect(semaphore.tryAcquire("e")).toBeDefined();
    vi.setSystemTime(Date.now() - 3_600_000);
    expect(filled(["x", "y", "z"], semaphore).leave.length).toBe(3);
  });

  it("does not overtake a caller that waits", async () => {
    const { semaphore, leave } = filled(["a", "a", "b", "c"]);
    const waiting = semaphore.acquireWithin("d", 10_000);
    leave[0]?.();
    expect(semaphore.tryAcquire("e")).toBeUndefined();
    await tick();
    expect(await waiting).toBeDefined();
  });
});

describe("a caller that waits", () => {
  it("goes in turn, first the one that has least under way", async () => {
    const { semaphore, leave } = filled(["a", "b", "c", "d"]);
    const order: string[] = [];
    const wait = async (of: string) => {
      if (await semaphore.acquireWithin(of, 10_000)) order.push(of);
    };
    const all = ["a", "b", "x", "a", "y"].map(wait);
    await tick();
    for (const out of leave.slice(2)) out();
    await tick();
    expect(order).toEqual(["x", "y"]);
    leave[0]?.();
    await tick();
    // It has none any more, and was there before the others.
    expect(order).toEqual(["x", "y", "a"]);
    await tick(10_000);
    await Promise.all(all);
    expect(order).toEqual(["x", "y", "a"]);
  });

  it("is refused after its time, and leaves no trace", async () => {
    const { semaphore, leave } = filled(["a", "a", "b", "c"]);
    const waiting = semaphore.acquireWithin("d", 1000);
    await tick(1000);
    expect(await waiting).toBeUndefined();
    leave[0]?.();
    expect(semaphore.tryAcquire("e")).toBeDefined();
  });

  it("has at most its share of permits, and blocks no other caller meanwhile", async () => {
    const { semaphore, leave } = filled(["a", "a", "b"]);
    const mine = semaphore.acquireWithin("a", 10_000);
    const other = semaphore.acquireWithin("c", 10_000);
    await tick();
    expect(await other).toBeDefined();
    leave[1]?.();
    await tick();
    expect(await mine).toBeDefined();
  });

  it("is passed over where the platform dropped it", async () => {
    const { semaphore, leave } = filled(["a", "a", "b", "c"]);
    const real = globalThis.setTimeout;
    // Its timer ends with its request.
    vi.stubGlobal("setTimeout", () => 0);
    void semaphore.acquireWithin("gone", 60_000);
    vi.stubGlobal("setTimeout", real);
    const next = semaphore.acquireWithin("d", 10_000);
    leave[0]?.();
    await tick(1900);
    expect(semaphore.permits).toBe(3);
    await tick(200);
    expect(await next).toBeDefined();
    vi.unstubAllGlobals();
  });
});
