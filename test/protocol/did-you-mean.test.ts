import { expect, test } from "vitest";
import { nearestName } from "../../src/protocol/did-you-mean.ts";

const KNOWN = ["note_read", "note_write", "note_search", "add", "wipe"];

test.each([
  ["note_raed", "note_read"],
  ["note_serach", "note_search"],
  ["Note_Read", "note_read"],
  ["ad", "add"],
  ["noteread", "note_read"],
  ["wpie", "wipe"],
])("%s was meant to be %s", (written, meant) => {
  expect(nearestName(written, KNOWN)).toBe(meant);
});

test.each(["", "zzz", "completely_different", "x".repeat(10_000)])("nothing is near %j", (written) => {
  expect(nearestName(written, KNOWN)).toBeUndefined();
});
