import { expect, test } from "vitest";
import { suggestName } from "../../src/protocol/did-you-mean.ts";

test("a near name is the nearest of those that are no longer than names of tools", () => {
  expect(suggestName("note_raed", ["add", "note_read"])).toBe("note_read");
  expect(suggestName("x".repeat(65), ["x".repeat(64)])).toBeUndefined();
  expect(suggestName("x".repeat(64), ["x".repeat(65)])).toBeUndefined();
});

test("a near name is looked for among two thousand names at most", () => {
  let compared = 0;
  const counted = (name: string) =>
    ({ length: name.length, toLowerCase: () => ((compared += 1), name) }) as unknown as string;
  suggestName(
    "a".repeat(60),
    Array.from({ length: 10_000 }, () => counted("b".repeat(60))),
  );
  expect(compared).toBe(2000);
});
