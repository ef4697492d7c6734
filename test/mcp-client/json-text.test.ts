// Looking into JSON without making values of it: the same texts are JSON as for JSON.parse, and each member is the text that
// was written.

import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  arrayElements,
  forEachJsonRange,
  applyJsonEdits,
  getMembers,
  objectMembers,
  countContainers,
  hasDuplicateMembers,
  withMeta,
} from "../../src/mcp-client/json-text.ts";

const SEED = { seed: 20260728, numRuns: 500 };

function isObjectText(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}

const parsed = (text: string) =>
  Object.fromEntries(
    (objectMembers(text, 1000) ?? []).map(({ name, text: member }) => [name, JSON.parse(member) as unknown]),
  );

describe("the members of an object", () => {
  test("are the very text that was written", () => {
    const text = ' {"id" : 7 ,\r\n "result":{ "x": 1.0, "y" :[ ] },"a\\u0062": 12345678901234567890, "":null}\n';
    expect(objectMembers(text, 10)).toEqual([
      { name: "id", text: "7" },
      { name: "result", text: '{ "x": 1.0, "y" :[ ] }' },
      { name: "ab", text: "12345678901234567890" },
      { name: "", text: "null" },
    ]);
  });

  test("are found in whatever JSON.stringify writes, and mean the same", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.constantFrom(undefined, 1, "\t"), (value, space) => {
        const text = JSON.stringify(value, null, space);
        expect(parsed(text)).toEqual(JSON.parse(text));
      }),
      SEED,
    );
  });

  test("are found where JSON.parse finds an object, and nowhere else", () => {
    const strings = ['"a"', '"\\u00e9"', '"\\x"', '"\\u12"', '"', "\\", "\u0001", "é"];
    const others = ["true", "false", "null", "nul", "1", "01", "-"];
    const token = fc.constantFrom(..."{}[],: \n-0123.eE+".split(""), ...strings, ...others);
    const soup = fc.array(token, { maxLength: 12 }).map((tokens) => `{"a":${tokens.join("")}}`);
    fc.assert(
      fc.property(soup, (text) => {
        expect(objectMembers(text, 100) !== undefined).toBe(isObjectText(text));
      }),
      { ...SEED, numRuns: 5000 },
    );
  });

  test.each([
    ["nothing", ""],
    ["a list", "[]"],
    ["a number", "1"],
    ["something after it", '{"a":1}{'],
    ["a colon too few", '{"a" 1}'],
    ["a name without quotes", "{a:1}"],
    ["a line break in a string", '{"a":"\n"}'],
    ["a byte order mark", '\ufeff{"a":1}'],
  ])("are none in %s", (_what, text) => {
    expect(objectMembers(text, 10)).toBeUndefined();
  });

  test("may nest as deep as a reader survives, and no deeper", () => {
    const nested = (depth: number) => `{"a":${"[".repeat(depth)}${"]".repeat(depth)}}`;
    expect(objectMembers(nested(900), 1)).toHaveLength(1);
    expect(objectMembers(nested(100_000), 1)).toBeUndefined();
    expect(objectMembers(`{"a":${"[".repeat(1_000_000)}`, 1)).toBeUndefined();
  });

  test("are none where there are more than somebody wants", () => {
    expect(objectMembers('{"a":1,"b":2}', 2)).toHaveLength(2);
    expect(objectMembers('{"a":1,"b":2,"c":3}', 2)).toBeUndefined();
    expect(arrayElements("[1,2,3]", 2)).toBeUndefined();
  });

  test("may have many megabytes in one string", () => {
    const text = JSON.stringify({ text: 'x\\"\n'.repeat(500_000) });
    expect(objectMembers(text, 1)?.[0]?.text).toHaveLength(text.length - 9);
  });

  test("are found by name too, where each stands there once", () => {
    const wanted = new Set(["resultType", "later", "missing"]);
    const text = '{"first":{"resultType":"inner"},"resultType":"complete","first":2,"later":1}';
    expect([...(getMembers(wanted, text) ?? [])]).toEqual([
      ["resultType", '"complete"'],
      ["later", "1"],
    ]);
    expect(getMembers(wanted, '{"later":1,"a":{"later":2},"later":3}')).toBeUndefined();
    expect(getMembers(wanted, '{"later":1,"lat\\u0065r":1}')).toBeUndefined();
    expect(getMembers(wanted, "{}")?.size).toBe(0);
  });
});

describe("the elements of an array", () => {
  test("are the very text that was written", () => {
    expect(arrayElements(' [ {"a": 1.0} , [ ],"x" ] ', 3)).toEqual(['{"a": 1.0}', "[ ]", '"x"']);
    expect(arrayElements("[]", 0)).toEqual([]);
  });

  test.each(["{}", "[1,]", "[1 2]", "[", "1", ""])("are none in %j", (text) => {
    expect(arrayElements(text, 10)).toBeUndefined();
  });
});

describe("a member that stands in a text twice", () => {
  const repeats = (text: string) => hasDuplicateMembers(text, JSON.stringify(JSON.parse(text)));

  test.each([
    ['{"a":1,"a":2}', true],
    ['{"a":{"b":1,"\\u0062":2}}', true],
    ['[{"a":1},{"a":2}]', false],
    ['{"a":":\\":{\\\\","b":"\\\\"}', false],
    ['":"', false],
  ])("%s: %s", (text, expected) => {
    expect(repeats(text)).toBe(expected);
  });

  test("is found among millions of escapes", () => {
    const long = "\\/".repeat(1_000_000);
    expect(repeats(`{"a":"${long}"}`)).toBe(false);
    expect(repeats(`{"a":"${long}","b":1,"b":2}`)).toBe(true);
  });
});

test.each([
  ["", 0],
  ["{}", 1],
  ['{"a":[1,{}],"b":{}}', 4],
  [String.raw`["{[","\"[","\\",[],"\\\"{"]`, 2],
  ['[[],"[[[', 2],
])("%s has so many objects and lists: %i", (text, count) => {
  expect(countContainers(text)).toBe(count);
  expect(countContainers(text, 1)).toBe(Math.min(count, 2));
});

describe("a text in `_meta`", () => {
  test.each([
    ["{}", '{"_meta":{"k":"v"}}'],
    ["{ }", '{"_meta":{"k":"v"}}'],
    ['{"a":1e400 }', '{"a":1e400,"_meta":{"k":"v"} }'],
    ['{"a":{"_meta":{}},"_meta":{ }}', '{"a":{"_meta":{}},"_meta":{"k":"v"}}'],
    ['{"_meta":{"x":12345678901234567890}}', '{"_meta":{"x":12345678901234567890,"k":"v"}}'],
    ['{"_meta":{"k":"own","x":1}}', '{"_meta":{"k":"v","x":1}}'],
    ['{"_meta":null}', '{"_meta":{"k":"v"}}'],
  ])("of %s stands beside what is there, and in place of its like", (json, wanted) => {
    expect(withMeta(json, "k", "v")).toBe(wanted);
  });
});

describe("the places of values", () => {
  test("are shown in their order, and others can be written there", () => {
    const text = ' { "a" : 1 , "b":[2, {"c":3}] }';
    const seen: unknown[] = [];
    forEachJsonRange(text, 0, ({ name, from, to }) => seen.push([name, text.slice(from, to)]));
    expect(seen).toEqual([
      ["a", "1"],
      ["b", '[2, {"c":3}]'],
    ]);
    const elements: unknown[] = [];
    forEachJsonRange("[1,[2]]", 0, ({ name, from }) => elements.push([name, from]));
    expect(elements).toEqual([
      [undefined, 1],
      [undefined, 3],
    ]);
    const edits = [
      { from: 9, to: 10, text: "one" },
      { from: 17, to: 29, text: "two" },
    ];
    expect(applyJsonEdits(text, edits)).toBe(' { "a" : one , "b":two }');
    expect(applyJsonEdits(text, [])).toBe(text);
  });

  test.each(["1", '"a"', "", "{"])("are none in %j", (text) => {
    forEachJsonRange(text, 0, () => {
      throw new Error("seen");
    });
  });
});
