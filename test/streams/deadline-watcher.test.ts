// What waits too long is given up by the watch of whoever came before, or by whoever comes next, in the order in which it
// is due.

import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { MAX_DEADLINE_MS, DeadlineWatcher } from "../../src/streams/deadline-watcher.ts";

/** Of a watch, after its invocation was answered: the platform allows 30 s. */
const KEPT_MS = 25_000;
/** What may pass between being due and being given up. */
const LATE_MS = 1000;

beforeEach(() => {
  vi.useFakeTimers({ now: 0 });
});
afterEach(() => {
  // First the spies: they stand over the timers that are faked.
  vi.restoreAllMocks();
  vi.useRealTimers();
});

const NOBODY = { waitUntil: () => {} };

function waiting(overdue: DeadlineWatcher, given: string[]) {
  return (name: string, now: number, ms: number) => {
    const one = { due: now + ms, onTimeout: () => given.push(name) };
    overdue.add(one, now, NOBODY);
    return one;
  };
}

/** An isolate, in time that passes when it is told to. */
function isolate() {
  const overdue = new DeadlineWatcher();
  const watches = { begun: 0, standing: 0 };
  /** When it was given up, by name. */
  const given = new Map<string, number>();
  const by = {
    waitUntil: (work: Promise<unknown>) => {
      const begun = Date.now();
      watches.begun += 1;
      watches.standing += 1;
      void work.then(() => {
        watches.standing -= 1;
        expect(Date.now() - begun).toBeLessThan(KEPT_MS);
      });
    },
  };
  const add = (name: string, who: Parameters<DeadlineWatcher["add"]>[2] = by) => {
    const one = { due: Date.now() + MAX_DEADLINE_MS, onTimeout: () => given.set(name, Date.now()) };
    overdue.add(one, Date.now(), who);
    return one;
  };
  const serve = () => {
    overdue.remove(add("served"));
  };
  return { overdue, watches, given, add, serve, pass: (ms: number) => vi.advanceTimersByTimeAsync(ms) };
}

describe("a watch", () => {
  it("gives up what waits alone, when it is due", async () => {
    const { add, given, pass, watches } = isolate();
    add("alone");
    await pass(MAX_DEADLINE_MS - 1);
    expect([...given]).toEqual([]);
    await pass(LATE_MS);
    expect([...given.keys()]).toEqual(["alone"]);
    expect(watches).toEqual({ begun: 1, standing: 0 });
  });

  it.each([1, 5000, 9999])("gives up what came %d ms later, when nobody comes after it", async (later) => {
    const { add, given, pass, watches } = isolate();
    add("first");
    await pass(later);
    const begun = Date.now();
    add("second");
    await pass(30_000);
    expect(given.get("second")).toBeGreaterThanOrEqual(begun + MAX_DEADLINE_MS);
    expect(given.get("second")).toBeLessThanOrEqual(begun + MAX_DEADLINE_MS + LATE_MS);
    expect(watches).toEqual({ begun: 1, standing: 0 });
  });

  it("stands as long as many come, and another follows it: one for each ten seconds", async () => {
    const { add, given, pass, serve, watches } = isolate();
    for (let ms = 0; ms < 60_000; ms += 100) {
      serve();
      await pass(100);
    }
    expect(watches.begun).toBeLessThanOrEqual(7);
    add("last");
    const begun = Date.now();
    await pass(MAX_DEADLINE_MS + LATE_MS);
    expect([...given.keys()]).toEqual(["last"]);
    expect(given.get("last")).toBeGreaterThanOrEqual(begun + MAX_DEADLINE_MS);
    expect(watches.standing).toBe(0);
  });

  it("ends within seconds when nothing waits and nobody comes", async () => {
    const { pass, serve, watches } = isolate();
    serve();
    expect(watches).toEqual({ begun: 1, standing: 1 });
    await pass(2000);
    expect(watches.standing).toBe(0);
    serve();
    expect(watches).toEqual({ begun: 2, standing: 1 });
  });

  it("that the platform ended with its invocation is missed within seconds by the next that comes, which gives up what it left", async () => {
    const { add, given, pass, watches } = isolate();
    vi.spyOn(globalThis, "setTimeout").mockImplementationOnce(() => 0 as never);
    add("left");
    await pass(4000);
    add("next");
    expect(watches.begun).toBe(2);
    await pass(MAX_DEADLINE_MS + LATE_MS);
    expect(given.get("left")).toBeLessThanOrEqual(MAX_DEADLINE_MS + LATE_MS);
    expect(given.get("next")).toBeLessThanOrEqual(4000 + MAX_DEADLINE_MS + LATE_MS);
  });

  it("pays for a part of a flood at a time, and ends all of it", async () => {
    const { add, given, pass, watches } = isolate();
    for (let one = 0; one < 3000; one += 1) add(String(one));
    await pass(MAX_DEADLINE_MS);
    expect(given.size).toBeGreaterThan(0);
    expect(given.size).toBeLessThan(1000);
    await pass(3000);
    expect(given.size).toBe(3000);
    expect(watches).toEqual({ begun: 1, standing: 0 });
  });

  it.each([3000, 15_000, 3_600_000])("lets nothing wait for ever when the clock is set back by %d ms", async (back) => {
    const { add, given, pass, watches } = isolate();
    vi.setSystemTime(10 * 3_600_000);
    add("before");
    await pass(2000);
    vi.setSystemTime(Date.now() - back);
    add("after");
    await pass(30_000);
    expect([...given.keys()].toSorted()).toEqual(["after", "before"]);
    expect(watches.standing).toBe(0);
  });
});

describe("what waits", () => {
  it("is given up when somebody comes after it was due, and not before", () => {
    const given: string[] = [];
    const add = waiting(new DeadlineWatcher(), given);
    add("a", 0, 10);
    add("b", 5, 10);
    add("c", 9, 10);
    expect(given).toEqual([]);
    add("d", 10, 10);
    expect(given).toEqual(["a"]);
    add("e", 19, 10);
    expect(given).toEqual(["a", "b", "c"]);
    add("f", 1000, 10);
    expect(given).toEqual(["a", "b", "c", "d", "e"]);
  });

  it("is given up when somebody looks who does not wait", () => {
    const given: string[] = [];
    const overdue = new DeadlineWatcher();
    const add = waiting(overdue, given);
    add("a", 0, 10);
    overdue.expireDue(9);
    expect(given).toEqual([]);
    overdue.expireDue(10);
    expect(given).toEqual(["a"]);
  });

  it("is given up when the clock was set back by more than anybody waits, and keeps nobody else", () => {
    const given: string[] = [];
    const add = waiting(new DeadlineWatcher(), given);
    const hour = 3_600_000;
    add("before", hour, 10_000);
    add("after", 0, 10_000);
    expect(given).toEqual(["before"]);
    add("next", 10_000, 10_000);
    expect(given).toEqual(["before", "after"]);
  });

  it("is not given up after its end, whoever else is", () => {
    const given: string[] = [];
    const overdue = new DeadlineWatcher();
    const add = waiting(overdue, given);
    const [first] = [add("a", 0, 10), add("b", 0, 10)];
    overdue.remove(first);
    add("c", 50, 10);
    expect(given).toEqual(["b"]);
  });

  it("is found behind what was ended, and behind what waits longer", () => {
    const given: string[] = [];
    const overdue = new DeadlineWatcher();
    const add = waiting(overdue, given);
    for (let round = 0; round < 100; round += 1) overdue.remove(add("served", round, 10));
    add("slow", 100, 30);
    add("quick", 100, 10);
    add("next", 200, 10);
    expect(given).toEqual(["slow", "quick"]);
  });
});
