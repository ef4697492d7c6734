// Stored resources with long URIs, looked at through many patterns with `*` or `?` inside: each list through 20,000 characters
// of these held an isolate for seconds, for all tenants.

import { expect, it } from "vitest";
import type { Patterns } from "../../src/tenants/document/tenant-document.ts";
import { createPatternBudget } from "../../src/resources/pattern-budget.ts";
import { contentStore } from "../../src/resources/content-store.ts";
import { putOf } from "./stored-resources.ts";
import { withStore } from "../support/workerd/tenant.ts";

const uriOf = (at: number) => `note:${"a".repeat(1900)}${String(at).padStart(4, "0")}`;
const URIS = Array.from({ length: 1500 }, (_none, at) => uriOf(at));

/** Each URI that ends in 1, and what so many more patterns say. */
const ending = (patterns: number): readonly Patterns[] => [
  { allow: ["*1", ...Array.from({ length: patterns }, (_none, at) => `*?ab${String(at).padStart(4, "0")}*`)] },
];

it("resources are held against patterns for 200 ms: a list is refused or goes on later, a search and a count of tags end", async () => {
  await withStore(contentStore, ({ methods }) => {
    for (const uri of URIS) methods.put(putOf(uri, { tags: ["t"] }, { searchText: "sought" }));
    const list = (only: readonly Patterns[], after: string | null = null) =>
      methods.listVisible({ prefix: "", tag: null, after, limit: 1000 }, only);
    const search = (only: readonly Patterns[]) => methods.search({ match: "sought", prefix: "", limit: 1000, only });

    expect(list(ending(2000))).toMatchObject({ next: null, isTooMuch: true });
    expect(methods.tags("", ending(2000))).toEqual([{ tag: "t", count: 1 }]);
    expect(search(ending(2000))).toEqual([]);

    const first = list(ending(8));
    expect(first.isTooMuch).toBeUndefined();
    const rest = list(ending(8), first.next);
    const listed = [...first.rows, ...rest.rows].map(({ uri }) => uri);
    expect([first.rows.length < 150, rest.next, listed]).toEqual([true, null, URIS.filter((uri) => uri.endsWith("1"))]);
  });
});

it("one request looks at as many resources as fit, whatever their length; without such patterns at all of them", () => {
  const looked = (patterns: readonly Patterns[], uris: readonly string[]) =>
    uris.filter(createPatternBudget(patterns)).length;
  expect(looked(ending(2000), URIS)).toBeLessThan(10);
  expect(
    looked(
      ending(2000),
      URIS.map((uri) => uri.slice(-4)),
    ),
  ).toBe(1500);
  expect(looked([{ allow: ["note:*"] }], URIS)).toBe(1500);
});
