import { describe, expect, it } from "vitest";
import * as fc from "fast-check";
import { globMatches, matchesAny } from "../../../src/tenants/document/glob.ts";
import { SEED } from "../../support/seed.ts";

describe("a pattern", () => {
  it.each<[string, string[], string[]]>([
    ["add", ["add"], ["", "ad", "add2", "xadd", "ADD"]],
    ["", [""], ["a"]],
    ["*", ["", "a", "a/b:c", "\n"], []],
    ["**", ["", "ab"], []],
    ["?", ["a", "*"], ["", "ab"]],
    ["a*", ["a", "ab", "a*"], ["", "ba"]],
    ["*a", ["a", "ba", "aba"], ["", "ab"]],
    ["a*c", ["ac", "abc", "acbc"], ["a", "c", "acb"]],
    ["a*b*c", ["abc", "axbxc", "abbcc"], ["acb", "ab", "bc"]],
    ["*ab*ab", ["abab", "xabyab"], ["ab", "abaxb"]],
    ["a?c", ["abc", "a?c"], ["ac", "abbc"]],
    ["?*", ["a", "ab"], [""]],
    ["note:*", ["note:", "note:a/b"], ["notes:a"]],
    ["a.c", ["a.c"], ["abc"]],
    ["[ab]", ["[ab]"], ["a"]],
    ["a\\*", ["a\\b"], ["a*"]],
    ["{a,b}", ["{a,b}"], ["a"]],
    ["^a$", ["^a$"], ["a"]],
  ])("%s matches what it says", (pattern, matching, others) => {
    expect(matching.filter((name) => !globMatches(pattern, name))).toEqual([]);
    expect(others.filter((name) => globMatches(pattern, name))).toEqual([]);
  });

  it("matches what a regular expression of the same meaning matches", () => {
    const text = fc.string({ unit: fc.constantFrom("a", "b", "/"), maxLength: 8 });
    const pattern = fc.string({ unit: fc.constantFrom("a", "b", "/", "*", "?"), maxLength: 8 });
    fc.assert(
      fc.property(pattern, text, (written, name) => {
        const expected = new RegExp(`^${written.replaceAll("*", ".*").replaceAll("?", ".")}$`).test(name);
        expect(globMatches(written, name)).toBe(expected);
      }),
      { ...SEED, numRuns: 2000 },
    );
  });

  it("matches so however much stands between two stars", () => {
    const text = fc.string({ unit: fc.constantFrom("a", "b"), minLength: 60, maxLength: 200 });
    const piece = fc.string({ unit: fc.constantFrom("a", "a", "b", "?", "?"), minLength: 20, maxLength: 100 });
    fc.assert(
      fc.property(piece, piece, text, (one, other, name) => {
        const expected = new RegExp(`^.*${one.replaceAll("?", ".")}.*${other.replaceAll("?", ".")}.*$`).test(name);
        expect(globMatches(`*${one}*${other}*`, name)).toBe(expected);
      }),
      { ...SEED, numRuns: 2000 },
    );
  });

  it("of many stars on a long name terminates", () => {
    expect(globMatches(`${"*a".repeat(127)}b`, "a".repeat(2048))).toBe(false);
    expect(globMatches("*a".repeat(127), "a".repeat(2048))).toBe(true);
  });
});

it("patterns of a list match what one of them matches by itself", () => {
  const text = fc.string({ unit: fc.constantFrom("a", "b", "/"), maxLength: 6 });
  const pattern = fc.string({ unit: fc.constantFrom("a", "b", "/", "*", "?"), maxLength: 6 });
  fc.assert(
    fc.property(fc.array(pattern, { maxLength: 8 }), text, (patterns, name) => {
      expect(matchesAny(name, patterns)).toBe(patterns.some((one) => globMatches(one, name)));
    }),
    { ...SEED, numRuns: 3000 },
  );
});

it("patterns match together what one of them does, none nothing, and no patterns everything", () => {
  expect(matchesAny("b", ["a", "b"])).toBe(true);
  expect(matchesAny("c", ["a", "b"])).toBe(false);
  expect(matchesAny("c", [])).toBe(false);
  expect(matchesAny("c", undefined)).toBe(true);
});
