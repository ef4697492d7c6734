// What waits too long is given up by whoever comes next, in the order in which it is due.

import { describe, expect, it } from "vitest";
import { Overdue } from "../../src/streams/overdue.ts";

function waiting(overdue: Overdue, given: string[]) {
  return (name: string, now: number, ms: number) => {
    const one = { due: now + ms, giveUp: () => given.push(name) };
    overdue.begin(one, now);
    return one;
  };
}

describe("what waits", () => {
  it("is given up when somebody comes after it was due, and not before", () => {
    const given: string[] = [];
    const come = waiting(new Overdue(), given);
    come("a", 0, 10);
    come("b", 5, 10);
    come("c", 9, 10);
    expect(given).toEqual([]);
    come("d", 10, 10);
    expect(given).toEqual(["a"]);
    come("e", 19, 10);
    expect(given).toEqual(["a", "b", "c"]);
    come("f", 1000, 10);
    expect(given).toEqual(["a", "b", "c", "d", "e"]);
  });

  it("is given up when somebody looks who does not wait", () => {
    const given: string[] = [];
    const overdue = new Overdue();
    const come = waiting(overdue, given);
    come("a", 0, 10);
    overdue.look(9);
    expect(given).toEqual([]);
    overdue.look(10);
    expect(given).toEqual(["a"]);
  });

  it("is given up when the clock was set back by more than anybody waits, and keeps nobody else", () => {
    const given: string[] = [];
    const come = waiting(new Overdue(), given);
    const hour = 3_600_000;
    come("before", hour, 10_000);
    come("after", 0, 10_000);
    expect(given).toEqual(["before"]);
    come("next", 10_000, 10_000);
    expect(given).toEqual(["before", "after"]);
  });

  it("is not given up after its end, whoever else is", () => {
    const given: string[] = [];
    const overdue = new Overdue();
    const come = waiting(overdue, given);
    const [first] = [come("a", 0, 10), come("b", 0, 10)];
    overdue.end(first);
    come("c", 50, 10);
    expect(given).toEqual(["b"]);
  });

  it("is found behind what was ended, and behind what waits longer", () => {
    const given: string[] = [];
    const overdue = new Overdue();
    const come = waiting(overdue, given);
    for (let round = 0; round < 100; round += 1) overdue.end(come("served", round, 10));
    come("slow", 100, 30);
    come("quick", 100, 10);
    come("next", 200, 10);
    expect(given).toEqual(["slow", "quick"]);
  });
});
