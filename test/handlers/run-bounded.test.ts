import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { LATEST_2025 } from "../../src/protocol/revisions.ts";
import { ReplayElicitor } from "../../src/handlers/elicitor.ts";
import { StreamElicitor } from "../../src/handlers/stream-elicitor.ts";
import { runBounded, type HandlerEnd } from "../../src/handlers/run-bounded.ts";
import { RecordingSink } from "../support/workerd/calls.ts";

const LONG = 60_007;
const SHORT = 17;
/** Those of a handler's time limit: other tests of the isolate may set timers meanwhile. */
const timers = new Set<unknown>();

beforeEach(() => {
  timers.clear();
  const set = setTimeout;
  const clear = clearTimeout;
  vi.spyOn(globalThis, "setTimeout").mockImplementation((fire: () => void, ms?: number) => {
    const timer = set(() => {
      timers.delete(timer);
      fire();
    }, ms);
    if (ms === LONG || ms === SHORT) timers.add(timer);
    return timer;
  });
  vi.spyOn(globalThis, "clearTimeout").mockImplementation((timer) => {
    timers.delete(timer);
    clear(timer ?? null);
  });
});

afterEach(() => {
  vi.restoreAllMocks();
});

function run<T>(
  work: () => T | Promise<T>,
  about: { timeoutMs?: number; elicitor?: ReplayElicitor | StreamElicitor; sink?: RecordingSink } = {},
): Promise<HandlerEnd<T>> {
  return runBounded(work, {
    timeoutMs: LONG,
    elicitor: new StreamElicitor({ revision: LATEST_2025, capabilities: {} }, undefined),
    sink: new RecordingSink(),
    ...about,
  });
}

function createElicitor(): ReplayElicitor {
  const nobody = { claim: () => Promise.reject(new Error("not used")), settle: () => Promise.resolve() };
  return new ReplayElicitor({ roots: {} }, undefined, {}, nobody);
}

const never = () => new Promise<never>(() => {});
/** Longer than the microtasks that a handler has before a timer is set. */
const later = (value: unknown) => scheduler.wait(5).then(() => value);

describe("returned", () => {
  it.each<[string, () => unknown]>([
    ["at once", () => "value"],
    ["in a few microtasks", async () => "value"],
    ["after I/O", () => later("value")],
  ])("%s", async (_when, work) => {
    expect(await run(work)).toEqual({ kind: "returned", value: "value" });
    expect(timers.size).toBe(0);
  });

  it("sets no timer for a handler that is ready at once", async () => {
    await run(() => "value");
    await run(async () => "value");
    expect(setTimeout).not.toHaveBeenCalled();
  });

  it("passes on what is no promise, even nothing", async () => {
    expect(await run(() => undefined)).toEqual({ kind: "returned", value: undefined });
    expect(await run(() => null)).toEqual({ kind: "returned", value: null });
  });
});

describe("threw", () => {
  const error = new Error("broken");
  it.each<[string, () => unknown]>([
    [
      "at once",
      () => {
        throw error;
      },
    ],
    ["in a few microtasks", () => Promise.reject(error)],
    ["after I/O", () => later(0).then(() => Promise.reject(error))],
  ])("%s", async (_when, work) => {
    expect(await run(work)).toEqual({ kind: "threw", error });
    expect(timers.size).toBe(0);
  });
});

describe("timedOut", () => {
  it("ends a handler that takes too long", async () => {
    expect(await run(never, { timeoutMs: SHORT })).toEqual({ kind: "timedOut" });
    expect(timers.size).toBe(0);
  });

  it("is not taken back by what the handler does afterwards", async () => {
    const late = Promise.withResolvers<string>();
    const ended = await run(() => late.promise, { timeoutMs: SHORT });
    // Reported as unhandled, and thus a failure of this file, unless somebody listens.
    late.reject(new Error("too late"));
    await scheduler.wait(1);
    expect(ended).toEqual({ kind: "timedOut" });
  });
});

describe("cancelled", () => {
  it("ends a handler that waits", async () => {
    const sink = new RecordingSink();
    const running = run(never, { sink });
    await scheduler.wait(1);
    expect(timers.size).toBe(1);
    sink.cancel();
    expect(await running).toEqual({ kind: "cancelled" });
    expect(timers.size).toBe(0);
  });

  it("ends one whose client had gone before it waited", async () => {
    const sink = new RecordingSink();
    sink.cancel();
    expect(await run(never, { sink })).toEqual({ kind: "cancelled" });
    expect(timers.size).toBe(0);
  });

  it("does not take back a value that is ready at once", async () => {
    const sink = new RecordingSink();
    sink.cancel();
    expect(await run(async () => "value", { sink })).toEqual({ kind: "returned", value: "value" });
  });

  it("makes no difference after the end", async () => {
    const sink = new RecordingSink();
    expect(await run(() => later("value"), { sink })).toEqual({ kind: "returned", value: "value" });
    sink.cancel();
    expect(timers.size).toBe(0);
  });
});

describe("suspended", () => {
  const ask = (elicitor: ReplayElicitor) => elicitor.ask({ roots: { method: "roots/list" } });

  it.each<[string, (elicitor: ReplayElicitor) => Promise<unknown>]>([
    ["at its first step", ask],
    ["after I/O", (elicitor) => later(0).then(() => ask(elicitor))],
    [
      "whatever it catches",
      async (elicitor) => {
        try {
          return await ask(elicitor);
        } catch {
          return "swallowed";
        } finally {
          await ask(elicitor);
        }
      },
    ],
  ])("by a question %s", async (_when, work) => {
    const elicitor = createElicitor();
    expect(await run(() => work(elicitor), { elicitor })).toEqual({ kind: "suspended" });
    expect(timers.size).toBe(0);
  });

  it("comes before the time limit, however often it asks", async () => {
    const elicitor = createElicitor();
    const both = () => Promise.all([ask(elicitor), ask(elicitor)]);
    expect(await run(both, { elicitor, timeoutMs: SHORT })).toEqual({ kind: "suspended" });
    expect(timers.size).toBe(0);
  });
});
