import { describe, expect, it } from "vitest";
import { MAX_CONSECUTIVE_FAILURES, CircuitBreakers } from "../../../src/gateway/guard/circuit-breaker.ts";

const PROBE_MS = 1000;

function failing(circuits = new CircuitBreakers(), at = 0) {
  for (let time = 0; time < MAX_CONSECUTIVE_FAILURES; time += 1) circuits.recordFailure("up", at);
  return circuits;
}

describe("the circuit of an upstream", () => {
  it("lets everybody through until so many have failed in a row", () => {
    const circuits = new CircuitBreakers();
    for (let time = 1; time < MAX_CONSECUTIVE_FAILURES; time += 1) circuits.recordFailure("up", 0);
    expect(circuits.check("up", 0, PROBE_MS)).toBeUndefined();
    circuits.recordFailure("up", 0);
    expect(circuits.check("up", 0, PROBE_MS)).toBe(5000);
    expect(circuits.check("other", 0, PROBE_MS)).toBeUndefined();
  });

  it("counts from zero after an answer", () => {
    const circuits = new CircuitBreakers();
    for (let time = 1; time < MAX_CONSECUTIVE_FAILURES; time += 1) circuits.recordFailure("up", 0);
    circuits.recordSuccess("up");
    expect(circuits.size).toBe(0);
    circuits.recordFailure("up", 0);
    expect(circuits.check("up", 0, PROBE_MS)).toBeUndefined();
  });

  it("waits twice as long after each try that failed, and never longer than a minute", () => {
    const circuits = failing();
    let now = 0;
    const pauses = Array.from({ length: 6 }, () => {
      const until = circuits.check("up", now, PROBE_MS) ?? 0;
      const pause = until - now;
      now = until;
      expect(circuits.check("up", now, PROBE_MS)).toBeUndefined();
      circuits.recordFailure("up", now);
      return pause;
    });
    expect(pauses).toEqual([5000, 10_000, 20_000, 40_000, 60_000, 60_000]);
  });

  it("waits once for those that failed together", () => {
    const circuits = failing();
    for (let time = 0; time < 50; time += 1) circuits.recordFailure("up", 10);
    expect(circuits.check("up", 10, PROBE_MS)).toBe(5000);
  });

  it("opens at once for as long as the upstream wishes, within five minutes", () => {
    const circuits = new CircuitBreakers();
    expect(circuits.recordFailure("up", 0, 30_000)).toBe(true);
    expect(circuits.check("up", 29_999, PROBE_MS)).toBe(30_000);
    expect(circuits.check("up", 30_000, PROBE_MS)).toBeUndefined();
    circuits.recordFailure("up", 30_000, 1e12);
    expect(circuits.check("up", 30_000, PROBE_MS)).toBe(330_000);
  });

  it("is forgotten when many others have failed since", () => {
    const circuits = failing(new CircuitBreakers(10));
    for (let other = 0; other < 1000; other += 1) circuits.recordFailure(`other-${other}`, 0);
    expect(circuits.size).toBe(10);
    expect(circuits.check("up", 0, PROBE_MS)).toBeUndefined();
  });
});
