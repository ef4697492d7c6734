// The one-line description taken from a Markdown text.
import { expect, test } from "vitest";
import { firstSentence } from "../../src/demo/first-sentence.ts";

test.each([
  ["One. Two.", "One."],
  ["No full stop", "No full stop"],
  ["# Title\n\nAfter the heading. More.", "After the heading."],
  ["```sh\nnpm start.\n```\nAfter the code! More.", "After the code!"],
  ["| a | b |\n| - | - |\n\nAfter the table?", "After the table?"],
  ["- item\n- item\n\nAfter the list.", "After the list."],
  ["Wrapped over\ntwo lines. More.", "Wrapped over two lines."],
  ["See [the page](https://example.com/a.b) of `x.y`, **now**. More.", "See the page of x.y, now."],
  ["Version 1.2 is out. More.", "Version 1.2 is out."],
  ["# Only a heading", ""],
  ["", ""],
])("%j is described as %j", (markdown, expected) => {
  expect(firstSentence(markdown, 100)).toBe(expected);
});

test("a sentence over the limit is cut at a word, with an ellipsis inside the limit", () => {
  expect(firstSentence("one two three four", 12)).toBe("one two…");
  expect(firstSentence("x".repeat(50), 12)).toBe(`${"x".repeat(11)}…`);
});

test("a sentence is not cut inside a surrogate pair", () => {
  for (const limit of [8, 9, 10, 11]) expect(firstSentence("\u{1f600}".repeat(20), limit).isWellFormed()).toBe(true);
});
