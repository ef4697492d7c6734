// What a search reads of many texts on a real index, and that it finds what lies behind any number of hidden texts.

import { beforeAll, describe, expect, it } from "vitest";
import type { Patterns } from "../../src/tenants/document/tenant-document.ts";
import { contentStore, type ContentMethods } from "../../src/resources/content-store.ts";
import type { SearchQuery } from "../../src/resources/text-search.ts";
import { putOf } from "./stored-resources.ts";
import { freshTenant, withStore, type OpenedStore, type FreshTenant } from "../support/workerd/tenant.ts";

/** Who sees everything: two rows for each text that is ranked. */
const MOST_ROWS = 20_000;
const MANY = 6000;
const WORDS = Array.from({ length: 32 }, (_none, at) => `common${at}`);
const EVERYWHERE = { title: WORDS.join(" "), tags: WORDS.slice(0, 2) };
const ANY = WORDS.map((word) => `"${word}"`).join(" OR ");

/** Far behind the newest: what is sought, among texts that all have every word everywhere. */
const SOUGHT = Array.from({ length: 3 }, (_none, at) => `note:shown/${at}/sought`);
/** Notes with a long URI. */
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
    await withStore(contentStore, ({ methods }) => fill(methods, MANY), { tenant });
  }, 120_000);

  const measured = <R>(work: (bench: OpenedStore<ContentMethods>) => R) => withStore(contentStore, work, { tenant });

  it.each<readonly [string, Partial<SearchQuery>, readonly string[] | undefined]>([
    ["who sees everything", {}, undefined],
    ["a prefix behind all others", { prefix: "note:shown/" }, SOUGHT],
    ["a prefix without texts", { prefix: `${LONG}/none` }, []],
    ["many ranges", { only: [HIDING] }, SOUGHT],
    ["names", { only: [{ allow: SOUGHT }] }, SOUGHT],
    ["many names", { only: [{ allow: NAMES }] }, NEWEST],
    ["patterns that say nothing of ranges", { only: [{ deny: ["*nothing*like*this*"] }] }, undefined],
    ["a pattern that hides nearly all, and leaves no range", { only: [{ deny: ["*/rest"] }] }, SOUGHT],
    ["a pattern that hides all", { only: [{ deny: ["*"] }] }, []],
  ])(
    "finds what is seen through %s",
    async (_view, about, expected) => {
      await measured(({ methods }) => {
        const found = methods.search(ask(about)).map(({ uri }) => uri);
        if (expected === undefined) expect(found).toHaveLength(100);
        else expect(found.toSorted()).toEqual(expected);
      });
    },
    60_000,
  );

  it(`reads at most ${MOST_ROWS} rows for who sees everything`, async () => {
    await measured(({ methods, rowsFor }) => {
      expect(rowsFor(() => methods.search(ask({})))).toBeLessThanOrEqual(MOST_ROWS);
    });
  });
});

it("finds, counts and lists what is seen behind any number of hidden, newer texts", async () => {
  await withStore(contentStore, ({ methods }) => {
    methods.put(putOf("note:seen", { tags: ["a"] }, { searchText: "sought" }));
    for (let at = 0; at < 6000; at += 1) {
      methods.put(putOf(`note:${at}-private`, { tags: ["a"] }, { searchText: "sought" }));
    }
    const only = [{ deny: ["*-private"] }];
    expect(methods.search({ match: "sought", prefix: "", limit: 5, only }).map(({ uri }) => uri)).toEqual([
      "note:seen",
    ]);
    expect(methods.tags("", only)).toEqual([{ tag: "a", count: 1 }]);
    const listed: string[] = [];
    for (let after: string | null = null, isOver = false; !isOver;) {
      const { rows, next } = methods.listVisible({ prefix: "", tag: "a", after, limit: 5 }, only);
      listed.push(...rows.map(({ uri }) => uri));
      [after, isOver] = [next, next === null];
    }
    expect(listed).toEqual(["note:seen"]);
  });
}, 120_000);
