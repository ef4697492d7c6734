// What a search costs and what hidden texts have to do with it: rows that SQLite reads, on its real index.

import { beforeAll, describe, expect, it } from "vitest";
import type { Patterns } from "../../../src/tenants/document/tenant-document.ts";
import { contentTables, type ContentMethods } from "../../../src/content/store/content-tables.ts";
import type { SearchQuery } from "../../../src/content/store/text-search.ts";
import { putOf } from "../../support/worker/resources.ts";
import { freshTenant, onBench, type Bench, type FreshTenant } from "../../support/worker/tenant.ts";

/** What one search of the object reads at most, whatever is stored and asked. */
const MOST_ROWS = 20_000;
const MANY = 6000;
const WORDS = Array.from({ length: 32 }, (_none, at) => `common${at}`);
const EVERYWHERE = { title: WORDS.join(" "), tags: WORDS.slice(0, 2) };
const ANY = WORDS.map((word) => `"${word}"`).join(" OR ");

/** Far behind the newest: what is sought, among texts that all have every word everywhere. */
const SOUGHT = Array.from({ length: 3 }, (_none, at) => `note:shown/${at}/sought`);
/** More of a URI than the index knows. */
const LONG = `long:${"x".repeat(140)}`;
const idOf = (at: number) => String(at).padStart(5, "0");

function fill(methods: ContentMethods, hidden: number): void {
  for (const uri of SOUGHT) methods.put(putOf(uri, EVERYWHERE, { searchText: ANY }));
  for (let at = 0; at < hidden; at += 1) {
    const uri = `note:${at % 50}/${idOf(at)}/rest`;
    methods.put(putOf(uri, EVERYWHERE, { searchText: ANY }));
    methods.put(putOf(`${LONG}/${idOf(at)}/rest`, { title: WORDS[0] ?? "" }));
  }
}

const ask = (about: Partial<SearchQuery>): SearchQuery => ({ match: ANY, prefix: "", limit: 100, ...about });

const HIDING: Patterns = { allow: ["note:*"], deny: Array.from({ length: 50 }, (_none, at) => `note:${at}/*`) };

const NEWEST = [1, 2, 3].map((back) => `note:${(MANY - back) % 50}/${idOf(MANY - back)}/rest`).toSorted();
const NAMES = [...Array.from({ length: 200 }, (_none, at) => `note:nothing/${at}`), ...NEWEST];

describe("a search of a tenant with many texts that have all words everywhere", () => {
  let tenant: FreshTenant;
  beforeAll(async () => {
    tenant = freshTenant();
    await onBench(contentTables, ({ methods }) => fill(methods, MANY), { tenant });
  }, 120_000);

  const measured = <R>(work: (bench: Bench<ContentMethods>) => R) => onBench(contentTables, work, { tenant });

  it.each<readonly [string, Partial<SearchQuery>, readonly string[] | undefined]>([
    ["by who sees everything", {}, undefined],
    ["of a prefix behind all others", { prefix: "note:shown/" }, SOUGHT],
    ["of a prefix that is longer than what the index knows", { prefix: `${LONG}/none` }, []],
    ["through many ranges", { only: [HIDING] }, SOUGHT],
    ["through names", { only: [{ allow: SOUGHT }] }, SOUGHT],
    ["through more names than the index is asked with", { only: [{ allow: NAMES }] }, NEWEST],
    ["through patterns that say nothing of ranges", { only: [{ deny: ["*nothing*like*this*"] }] }, undefined],
    ["through a pattern that hides nearly all, and leaves no range", { only: [{ deny: ["*/rest"] }] }, []],
  ])(
    `reads at most ${MOST_ROWS} rows %s`,
    async (_search, about, expected) => {
      await measured(({ methods, rowsFor }) => {
        let found: readonly string[] = [];
        const rows = rowsFor(() => (found = methods.search(ask(about)).map(({ uri }) => uri)));
        expect(rows).toBeLessThanOrEqual(MOST_ROWS);
        if (expected === undefined) expect(found).toHaveLength(100);
        else expect(found.toSorted()).toEqual(expected);
      });
    },
    60_000,
  );
});

it("finds what is seen behind any number of hidden, newer texts once its view is placed, and reads none of them", async () => {
  const BODIES = { get: async () => new Blob(["sought"]).stream() };
  await onBench(
    contentTables,
    async ({ open, methods, rowsFor, clock, wakes }) => {
      methods.put(putOf("note:seen", {}, { searchText: "sought" }));
      for (let at = 0; at < 3100; at += 1) methods.put(putOf(`note:${at}-private`, {}, { searchText: "sought" }));
      const look = (asked: string) =>
        methods.search({ match: asked, prefix: "", limit: 5, only: [{ deny: ["*-private"] }] });
      expect(look("sought")).toEqual([]);
      expect(wakes.at(-1)).toBe(clock.now);
      while ((await open.alarm?.(clock.now)) === clock.now) expect(look("nothing")).toEqual([]);
      // Two that come later, of which one is seen.
      for (const uri of ["note:new", "note:new-private"]) methods.put(putOf(uri, {}, { searchText: "sought" }));
      let found: readonly { uri: string }[] = [];
      const rows = rowsFor(() => (found = look("sought")));
      expect(found.map(({ uri }) => uri)).toEqual(["note:new", "note:seen"]);
      expect(rows).toBeLessThan(10);
    },
    { env: { BODIES } },
  );
}, 120_000);
