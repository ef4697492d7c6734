// What the end of one invocation does to the others is in test/e2e/object-away.test.ts.

import { describe, expect, it } from "vitest";
import { SingleFlight } from "../../../src/tenants/cache/single-flight.ts";

/** A call that the test answers; counted. */
function counted() {
  const calls: PromiseWithResolvers<string>[] = [];
  const call = () => {
    const one = Promise.withResolvers<string>();
    calls.push(one);
    return one.promise;
  };
  return { calls, call };
}

const FIFTY = Array.from({ length: 50 });
const never = () => new Promise<string>(() => {});

describe("a caller that can share a running call", () => {
  it("shares the call under way, and its answer", async () => {
    const flight = new SingleFlight<string>();
    const { calls, call } = counted();
    const all = FIFTY.map(() => flight.run(call));
    calls[0]?.resolve("one");
    expect(new Set(await Promise.all(all))).toEqual(new Set(["one"]));
    expect(calls).toHaveLength(1);
    expect(flight.isRunning).toBe(false);
  });

  it("shares its failure, and the next one calls again", async () => {
    const flight = new SingleFlight<string>();
    const { calls, call } = counted();
    const all = Promise.allSettled(FIFTY.map(() => flight.run(call)));
    calls[0]?.reject(new Error("away"));
    expect(new Set((await all).map(({ status }) => status))).toEqual(new Set(["rejected"]));
    const next = flight.run(call);
    calls[1]?.resolve("two");
    expect([await next, calls.length]).toEqual(["two", 2]);
  });

  it("makes its own call if no answer comes, once for all waiters", async () => {
    const flight = new SingleFlight<string>();
    void flight.run(never);
    let calls = 0;
    const all = FIFTY.map(() =>
      flight.run(async () => {
        calls += 1;
        return "two";
      }),
    );
    expect(new Set(await Promise.all(all))).toEqual(new Set(["two"]));
    expect(calls).toBe(1);
    expect(flight.isRunning).toBe(false);
  });

  it("gets the answer of a later call, if its own call brings none", async () => {
    const flight = new SingleFlight<string>();
    const first = flight.run(never);
    const later = flight.run(async () => "two");
    expect(await Promise.all([first, later])).toEqual(["two", "two"]);
  });

  it("calls again where its own call brings no answer either", async () => {
    const flight = new SingleFlight<string>();
    void flight.run(never);
    let calls = 0;
    const all = FIFTY.map(() => flight.run(() => ((calls += 1) === 1 ? never() : Promise.resolve("three"))));
    await Promise.race(all);
    expect(calls).toBe(2);
  });
});

describe("a caller that needs a call of its own time or later", () => {
  it("waits for the one under way, and shares the next", async () => {
    const flight = new SingleFlight<string>();
    const { calls, call } = counted();
    const before = flight.run(call);
    const all = FIFTY.map(() => flight.runNext(call));
    calls[0]?.resolve("one");
    expect(await before).toBe("one");
    await expect.poll(() => calls.length).toBe(2);
    calls[1]?.resolve("two");
    expect(new Set(await Promise.all(all))).toEqual(new Set(["two"]));
    expect(calls).toHaveLength(2);
  });

  it("does not get the failure of the running call", async () => {
    const flight = new SingleFlight<string>();
    const { calls, call } = counted();
    const before = flight.run(call).catch(String);
    const next = flight.runNext(async () => "two");
    calls[0]?.reject(new Error("away"));
    expect([await before, await next]).toEqual(["Error: away", "two"]);
  });

  it("calls at once if no call runs, and soon if the running one never ends", async () => {
    const flight = new SingleFlight<string>();
    expect(await flight.runNext(async () => "one")).toBe("one");
    void flight.run(never);
    expect(await flight.runNext(async () => "two")).toBe("two");
    expect(flight.isRunning).toBe(false);
  });
});
