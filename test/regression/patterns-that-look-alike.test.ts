// A tenant's patterns and names that look alike, in which a page of resources took half a minute: at each place nearly all of a
// pattern was compared. Before the mend each of these took longer than a test may.

import { expect, test } from "vitest";
import { globMatches } from "../../src/tenants/document/glob.ts";

test.each([
  ["letters", `*${"a".repeat(190)}b`],
  ["letters with a question mark", `*${"a".repeat(95)}?${"a".repeat(95)}b`],
  ["question marks between letters", `*${"?a".repeat(95)}b`],
])("where tenants write patterns, one of many %s comes to an end", (_what, pattern) => {
  const name = "a".repeat(2048);
  for (let time = 0; time < 60_000; time += 1) expect(globMatches(pattern, name)).toBe(false);
});
