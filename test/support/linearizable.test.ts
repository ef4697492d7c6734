// The judge of registers is judged: it finds what is wrong, and nothing else.

import { expect, test } from "vitest";
import { contradiction, type Operation } from "./linearizable.ts";

const write = (begun: number, ended: number, value: string, from?: string): Operation => ({
  kind: "write",
  value,
  begun,
  ended,
  ...(from === undefined ? {} : { from }),
});
const read = (begun: number, ended: number, value: string): Operation => ({ kind: "read", value, begun, ended });

test.each<[string, Operation[]]>([
  ["reads what was written", [write(1, 2, "a"), read(3, 4, "a")]],
  ["reads either value while it is being written", [write(1, 9, "a"), read(2, 3, ""), read(4, 5, "a")]],
  ["has writes at once in either order", [write(1, 9, "a"), write(2, 8, "b"), read(10, 11, "a"), read(12, 13, "a")]],
  ["may lose a write whose answer was lost", [write(1, Infinity, "a"), read(3, 4, "")]],
  ["may do it late", [write(1, Infinity, "a"), write(2, 3, "b"), read(4, 5, "b"), read(6, 7, "a")]],
  ["refuses what was changed meanwhile", [write(1, 2, "a"), { kind: "refused", from: "", begun: 3, ended: 4 }]],
])("a register that %s is one", (_what, history) => {
  expect(contradiction("", history)).toBeUndefined();
});

test.each<[string, Operation[]]>([
  ["forgets a write", [write(1, 2, "a"), read(3, 4, "")]],
  ["goes back", [write(1, 9, "a"), read(2, 3, "a"), read(4, 5, "")]],
  ["reads what nobody wrote", [read(1, 2, "x")]],
  ["lets two change the same value", [write(1, 2, "a", ""), write(3, 4, "b", "")]],
  ["refuses without a change", [{ kind: "refused", from: "", begun: 3, ended: 4 }]],
  [
    "does a lost write twice",
    [write(1, Infinity, "a"), write(2, 3, "b"), read(4, 5, "a"), write(6, 7, "c"), read(8, 9, "a")],
  ],
])("a register that %s is none", (_what, history) => {
  expect(contradiction("", history)).toContain("no order fits");
});
