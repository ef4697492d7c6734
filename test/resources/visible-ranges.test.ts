// Where a caller has to look to see all that they see: held against matching every URI by itself.

import * as fc from "fast-check";
import { expect, it } from "vitest";
import { prefixEnd, isVisibleUri, visibleRanges } from "../../src/resources/visible-ranges.ts";
import { SEED } from "../support/seed.ts";

const text = fc.string({ unit: fc.constantFrom("a", "b", "/", "~"), maxLength: 5 });
const wild = fc.string({ unit: fc.constantFrom("a", "b", "/", "*", "?"), maxLength: 4 });
const ranged = fc.oneof(
  text,
  text.map((prefix) => `${prefix}*`),
);
const patterns = (one: fc.Arbitrary<string>) =>
  fc.record({ allow: fc.array(one, { maxLength: 3 }), deny: fc.array(one, { maxLength: 3 }) }, { requiredKeys: [] });

it("has everything that is seen in its ranges, in their order, and none twice", () => {
  const only = fc.array(patterns(fc.oneof(ranged, wild)), { maxLength: 3 });
  fc.assert(
    fc.property(only, text, fc.array(text, { maxLength: 30 }), (seen, prefix, uris) => {
      const ranges = visibleRanges([prefix, prefixEnd(prefix)], seen);
      for (const [at, [from, to]] of ranges.entries()) {
        expect(from < to).toBe(true);
        expect(at === 0 || (ranges[at - 1]?.[1] ?? "") <= from).toBe(true);
      }
      for (const uri of uris.filter((one) => one.startsWith(prefix) && isVisibleUri(one, seen))) {
        expect(ranges.filter(([from, to]) => from <= uri && uri < to)).toHaveLength(1);
      }
    }),
    { ...SEED, numRuns: 3000 },
  );
});

it("has nothing hidden in its ranges where patterns are names and prefixes", () => {
  fc.assert(
    fc.property(fc.array(patterns(ranged), { maxLength: 3 }), fc.array(text, { maxLength: 30 }), (seen, uris) => {
      const ranges = visibleRanges(["", prefixEnd("")], seen);
      for (const uri of uris.filter((one) => !isVisibleUri(one, seen))) {
        expect(ranges.filter(([from, to]) => from <= uri && uri < to)).toEqual([]);
      }
    }),
    { ...SEED, numRuns: 3000 },
  );
});
