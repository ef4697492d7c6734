// Work that a short input may cause: texts that would take a time that grows with their square, prompts that would be far
// larger than what was sent. Counted in steps, for a timing says more of the machine.

import { expect, test } from "vitest";
import { firstSentence } from "../../src/demo/first-sentence.ts";

test.each([
  ["images that never end", "![", "a"],
  ["links that never end", "[](", "x"],
  ["brackets", "[", "]"],
  ["emphasis", "**", "_"],
  ["spaces", " ", "."],
])("a long text of %s gives a first sentence of what it begins with", (_what, piece, end) => {
  const text = `Begins here. ${piece.repeat(200_000)}${end}`;
  expect(firstSentence(text, 80)).toBe("Begins here.");
  expect(firstSentence(piece.repeat(200_000), 80).length).toBeLessThanOrEqual(80);
});

test("links and images are still read as their words", () => {
  expect(firstSentence("See [the page](https://a.example/x) and ![a picture](b.png). More.", 80)).toBe(
    "See the page and a picture.",
  );
});
