// When an upstream is left alone, when it is tried again, and that nothing is remembered without end.

import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { SEED } from "../../support/seed.ts";
import { FAILURES_IN_A_ROW, UpstreamCircuits } from "../../../src/gateway/guard/upstream-circuit.ts";

const PROBE_MS = 1000;

function failing(circuits = new UpstreamCircuits(), at = 0) {
  for (let time = 0; time < FAILURES_IN_A_ROW; time += 1) circuits.failed("up", at);
  return circuits;
}

describe("the circuit of an upstream", () => {
  it("lets everybody through until so many have failed in a row", () => {
    const circuits = new UpstreamCircuits();
    for (let time = 1; time < FAILURES_IN_A_ROW; time += 1) circuits.failed("up", 0);
    expect(circuits.enter("up", 0, PROBE_MS)).toBeUndefined();
    circuits.failed("up", 0);
    expect(circuits.enter("up", 0, PROBE_MS)).toEqual({ why: "failing", until: 5000 });
    expect(circuits.enter("other", 0, PROBE_MS)).toBeUndefined();
  });

  it("counts anew after an answer", () => {
    const circuits = new UpstreamCircuits();
    for (let time = 1; time < FAILURES_IN_A_ROW; time += 1) circuits.failed("up", 0);
    circuits.answered("up", 0);
    circuits.failed("up", 0);
    expect(circuits.enter("up", 0, PROBE_MS)).toBeUndefined();
  });

  it("lets one through when the time is over, and the others when that one was answered", () => {
    const circuits = failing();
    expect(circuits.enter("up", 5000, PROBE_MS)).toBeUndefined();
    expect(circuits.enter("up", 5000, PROBE_MS)).toEqual({ why: "failing", until: 6000 });
    circuits.answered("up", 5100);
    expect(circuits.enter("up", 5100, PROBE_MS)).toBeUndefined();
    expect(circuits.enter("up", 5100, PROBE_MS)).toBeUndefined();
    expect(circuits.size).toBe(0);
  });

  it("waits twice as long after each try that failed, and never longer than a minute", () => {
    const circuits = failing();
    let now = 0;
    const pauses = Array.from({ length: 6 }, () => {
      const until = circuits.enter("up", now, PROBE_MS)?.until ?? 0;
      const pause = until - now;
      now = until;
      expect(circuits.enter("up", now, PROBE_MS)).toBeUndefined();
      circuits.failed("up", now);
      return pause;
    });
    expect(pauses).toEqual([5000, 10_000, 20_000, 40_000, 60_000, 60_000]);
  });

  it("waits once for those that failed together", () => {
    const circuits = failing();
    for (let time = 0; time < 50; time += 1) circuits.failed("up", 10);
    expect(circuits.enter("up", 10, PROBE_MS)?.until).toBe(5000);
  });

  it.each(["whose caller went away", "that was never heard of again"])("lets another one try after one %s", (how) => {
    const circuits = failing();
    expect(circuits.enter("up", 5000, PROBE_MS)).toBeUndefined();
    if (how.startsWith("whose")) circuits.left("up");
    expect(circuits.enter("up", 5000 + PROBE_MS, PROBE_MS)).toBeUndefined();
  });

  it("is shut for as long as the upstream wishes, within five minutes, whoever else was answered meanwhile", () => {
    const circuits = new UpstreamCircuits();
    circuits.wished("up", 0, 30_000);
    circuits.answered("up", 10);
    expect(circuits.enter("up", 29_999, PROBE_MS)).toEqual({ why: "wish", until: 30_000 });
    expect(circuits.enter("up", 30_000, PROBE_MS)).toBeUndefined();
    circuits.wished("up", 30_000, 1e12);
    expect(circuits.enter("up", 30_000, PROBE_MS)?.until).toBe(330_000);
  });

  it("is forgotten when many others have failed since", () => {
    const circuits = failing(new UpstreamCircuits(10));
    for (let other = 0; other < 1000; other += 1) circuits.failed(`other-${other}`, 0);
    expect(circuits.size).toBe(10);
    expect(circuits.enter("up", 0, PROBE_MS)).toBeUndefined();
  });
});

/** What may happen next to one of the calls; `wait` is time that passes. */
const STEPS = ["enter", "answered", "failed", "failedAgain", "left", "wait"] as const;
const stepOf = fc.record({ step: fc.constantFrom(...STEPS), call: fc.nat(5), ms: fc.nat(7000) });

it("lets one call at a time try whether an upstream works again, in whichever order calls come and end", () => {
  fc.assert(
    fc.property(fc.array(stepOf, { maxLength: 60 }), (steps) => {
      const circuits = failing();
      let now = 0;
      // Each stands for calls one after the other, each an object of its own; null: none is under way.
      const under: ({ readonly isProbe: boolean } | null)[] = Array.from({ length: 6 }, () => ({ isProbe: false }));
      let isShut = true;
      for (const { step, call: at, ms } of steps) {
        const call = under[at] ?? undefined;
        if (step === "wait") now += ms;
        else if (step === "enter") {
          const next = { isProbe: isShut };
          // Long enough that none is given up for lost.
          if (circuits.enter("up", now, 1e9, next) !== undefined) continue;
          if (isShut) expect(under.filter((one) => one?.isProbe)).toEqual([]);
          under[at] = next;
        } else if (call) {
          if (step === "left") circuits.left("up", call);
          else if (step === "answered") circuits.answered("up", now);
          else circuits[step]("up", now, call);
          under[at] = null;
          if (step !== "answered") continue;
          isShut = false;
          break;
        }
      }
    }),
    { ...SEED, numRuns: 2000 },
  );
});
