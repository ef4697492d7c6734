// Ten minutes of busy agents against the limits that hold where nobody says others: none of them ever meets one.

import { describe, expect, inject, test } from "vitest";
import { resolveLimits } from "../../src/limits/limit-definitions.ts";
import { RateLimiter, type LimitedCaller, type LimitRejection } from "../../src/limits/rate-limiter.ts";
import {
  agentTrace,
  BUSIEST,
  chanceFrom,
  inOrder,
  USUAL,
  type AgentHabits,
  type TracedMessage,
} from "./agent-traces.ts";

const EPOCH = 1_800_000_000_000;
const limits = resolveLimits();
const SEEDS = Array.from({ length: 5 }, (_none, at) => inject("seed") + at);

interface Replayed {
  readonly met: LimitRejection[];
  /** How often the location was asked: only when more than half of a limit is used. */
  readonly requestCount: number;
}

function replay(trace: readonly TracedMessage[], caller: Omit<LimitedCaller, "limits">): Replayed {
  const limiter = new RateLimiter();
  const met: LimitRejection[] = [];
  let requestCount = 0;
  for (const { at, tool } of trace) {
    const taken = limiter.take({ ...caller, limits }, tool, EPOCH + at, async () => true);
    if (taken instanceof Promise) requestCount += 1;
    else if (taken) met.push(taken);
  }
  return { met, requestCount };
}

const key = { tenant: "acme", id: "key a", isAnonymous: false };
const office = { tenant: "acme", id: "203.0.113.7", isAnonymous: true };

const agents = (count: number, habits: AgentHabits, seed: number) => {
  const chance = chanceFrom(seed);
  return inOrder(...Array.from({ length: count }, () => agentTrace(habits, chance, chance() * 5000)));
};

describe.each(SEEDS)("in ten minutes, drawn from %i", (seed) => {
  test("the busiest agent with three sub-agents on one key meets no limit", () => {
    const trace = agents(4, BUSIEST, seed);
    expect(trace.length).toBeGreaterThan(5000);
    expect(replay(trace, key).met).toEqual([]);
  });

  test("twenty people behind one address without a credential meet none, and neither do twenty of the busiest", () => {
    expect(replay(agents(20, USUAL, seed), office).met).toEqual([]);
    expect(replay(agents(20, BUSIEST, seed), office).met).toEqual([]);
  });

  test("no agent comes so near to a limit that its location is asked", () => {
    expect(replay(agents(4, BUSIEST, seed), key).requestCount).toBe(0);
    expect(replay(agents(20, USUAL, seed), office).requestCount).toBe(0);
  });
});

test("a loop without a pause meets one within the first minute", () => {
  const trace = Array.from({ length: 20_000 }, (_none, at) => ({ at: at * 3, tool: "read" }));
  expect(replay(trace, key).met[0]?.name).toBe("toolCalls");
});
