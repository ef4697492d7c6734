// Two objects that show the same, of which one has more behind what is shown: they answer the same.

import * as fc from "fast-check";
import { expect, it } from "vitest";
import type { Patterns } from "../../src/tenants/document/tenant-document.ts";
import { contentStore, type ContentMethods } from "../../src/resources/content-store.ts";
import { isVisibleUri } from "../../src/resources/visible-ranges.ts";
import { putOf } from "./stored-resources.ts";
import { SEED } from "../support/seed.ts";
import { withStore, type OpenedStore } from "../support/workerd/tenant.ts";

const WORDS = ["apple", "banana", "cherry"];
const word = fc.constantFrom(...WORDS);
const TAIL = "z-Z_%7E/".repeat(20);
const end = fc.oneof(
  fc.string({ unit: fc.constantFrom("a", "A", "b", "z", "/", "."), maxLength: 4 }),
  fc.constant(TAIL),
);
const text = fc.tuple(fc.constantFrom("", "a", "b", "z", "note:"), end).map((parts) => parts.join(""));
const ranged = fc.oneof(
  text,
  text.map((prefix) => `${prefix.slice(0, 100)}*`),
);
const wild = fc.oneof(ranged, fc.string({ unit: fc.constantFrom("a", "b", "z", "/", "*", "?"), maxLength: 4 }));
const onlyOf = (one: fc.Arbitrary<string>) => {
  const some = fc.array(one, { maxLength: 3 });
  const patterns = fc.record({ allow: some, deny: some }, { requiredKeys: [] });
  return fc.array(patterns, { minLength: 1, maxLength: 2 }) as fc.Arbitrary<readonly Patterns[]>;
};

const thing = fc.record({ uri: text, title: word, tags: fc.uniqueArray(word, { maxLength: 2 }), body: word });
type Thing = typeof thing extends fc.Arbitrary<infer One> ? One : never;
const things = fc.uniqueArray(thing, { maxLength: 25, selector: ({ uri }) => uri });

const asked = fc.record({
  match: fc.oneof(
    word.map((one) => `"${one}"`),
    fc.tuple(word, word, fc.constantFrom(" ", " OR ")).map(([a, b, between]) => `"${a}"${between}"${b.slice(0, 2)}"*`),
  ),
  prefix: fc.oneof(fc.constant(""), text),
  tag: fc.option(word, { nil: null }),
  after: fc.option(text, { nil: null }),
  limit: fc.integer({ min: 1, max: 12 }),
});
type Query = typeof asked extends fc.Arbitrary<infer One> ? One : never;

function told(methods: ContentMethods, only: readonly Patterns[], { match, prefix, tag, after, limit }: Query) {
  const plain = (rows: readonly { uri: string; score?: number }[]) => rows.map(({ uri, score }) => [uri, score]);
  return {
    listed: () => plain(methods.listVisible({ prefix, tag, after, limit }, only).rows),
    found: () => plain(methods.search({ match, prefix, limit, only })),
    tags: () => methods.tags(prefix, only),
  };
}

/** Of what there is, this is written, deleted and written anew. */
const isRewritten = ({ uri }: Thing) => uri.length % 3 === 0;

function fill({ methods }: OpenedStore<ContentMethods>, all: readonly Thing[]): void {
  const write = ({ uri, title, tags, body }: Thing) => {
    methods.put(putOf(uri, { name: "n", title, tags }, { searchText: body }));
  };
  for (const one of all) if (!isRewritten(one)) write(one);
  for (const one of all.filter(isRewritten)) {
    write({ ...one, tags: ["other"], body: "other" });
    methods.remove(one.uri);
    for (const tags of [WORDS, one.tags]) write({ ...one, tags });
  }
}

function answers(all: readonly Thing[], only: readonly Patterns[], questions: readonly Query[]): Promise<unknown[]> {
  return withStore(contentStore, (bench) => {
    fill(bench, all);
    return questions.flatMap((question) => Object.values(told(bench.methods, only, question)).map((ask) => ask()));
  });
}

it("lists, searches and tags are the same with and without hidden resources, where patterns are names and prefixes", async () => {
  const cases = fc.asyncProperty(
    things,
    onlyOf(ranged),
    fc.array(asked, { minLength: 20, maxLength: 20 }),
    async (all, only, questions) => {
      const shown = all.filter(({ uri }) => isVisibleUri(uri, only));
      expect(await answers(all, only, questions)).toEqual(await answers(shown, only, questions));
    },
  );
  await fc.assert(cases, { ...SEED, numRuns: 30 });
}, 120_000);

it("lists, searches and tags are the same with and without hidden resources, whatever the patterns are", async () => {
  const cases = fc.asyncProperty(
    things,
    onlyOf(wild),
    fc.array(asked, { minLength: 20, maxLength: 20 }),
    async (all, only, questions) => {
      const shown = all.filter(({ uri }) => isVisibleUri(uri, only));
      const [some, alone] = [await answers(all, only, questions), await answers(shown, only, questions)];
      expect(some).toEqual(alone);
      // As who sees everything is told where nothing else is.
      expect(some).toEqual(await answers(shown, [{}], questions));
    },
  );
  await fc.assert(cases, { ...SEED, numRuns: 20 });
}, 120_000);

it("a search finds of what is seen all that has a word, and nothing else", async () => {
  const cases = fc.asyncProperty(things, onlyOf(wild), word, text, async (all, only, sought, prefix) => {
    const has = ({ title, tags, body }: Thing) => [title, body, ...tags].includes(sought);
    const expected = all.filter((one) => has(one) && one.uri.startsWith(prefix) && isVisibleUri(one.uri, only));
    await withStore(contentStore, ({ methods }) => {
      for (const { uri, title, tags, body } of all)
        methods.put(putOf(uri, { name: "n", title, tags }, { searchText: body }));
      const found = methods.search({ match: sought, prefix, limit: 100, only }).map(({ uri }) => uri);
      expect(found.toSorted()).toEqual(expected.map(({ uri }) => uri).toSorted());
      const everything = methods.search({ match: sought, prefix, limit: 100 }).map(({ uri }) => uri);
      expect(everything.toSorted()).toEqual(
        all
          .filter((one) => has(one) && one.uri.startsWith(prefix))
          .map(({ uri }) => uri)
          .toSorted(),
      );
    });
  });
  await fc.assert(cases, { ...SEED, numRuns: 50 });
}, 120_000);
