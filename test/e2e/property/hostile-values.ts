// Values that a careless program trips over: fast-check arbitraries over texts, numbers and objects that are legal JSON
// and mean harm.

import * as fc from "fast-check";

export const INHERITED = ["__proto__", "constructor", "prototype", "toString", "hasOwnProperty", "valueOf", "then"];

export const oddText = fc.oneof(
  fc.constantFrom(
    ...INHERITED,
    "",
    " ",
    "\u0000",
    "\ud800",
    "\udfff x",
    "a\ud83d",
    "é😀\u202e",
    "%00",
    "%zz",
    "../../x",
    "\r\nX: y",
    "2026-07-28",
    "null",
    "{}",
  ),
  fc.string({ unit: "binary", maxLength: 40 }),
  fc.string({ maxLength: 20 }),
  fc.integer({ min: 1000, max: 6000 }).map((length) => "x".repeat(length)),
);
export const oddNumber = fc.constantFrom(
  0,
  -0,
  -1,
  1.5,
  1e-320,
  1e21,
  1e308,
  -1e308,
  2 ** 31,
  2 ** 53,
  2 ** 63,
  Number.MAX_SAFE_INTEGER,
);
/** Keys that objects inherit, made so that `__proto__` is a member like any other. */
export const oddObject: fc.Arbitrary<unknown> = fc
  .array(
    fc.tuple(fc.constantFrom(...INHERITED, "name", "uri", "a", ""), fc.oneof(oddText, oddNumber, fc.constant(null))),
    { maxLength: 4 },
  )
  .map(
    (entries) =>
      JSON.parse(
        `{${entries.map(([key, value]) => `${JSON.stringify(key)}:${JSON.stringify(value)}`).join(",")}}`,
      ) as unknown,
  );
const nested = fc.tuple(fc.integer({ min: 2, max: 600 }), fc.boolean()).map(([depth, list]): unknown => {
  let value: unknown = 1;
  for (let level = 0; level < depth; level += 1) value = list ? [value] : { a: value };
  return value;
});
export const odd: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 4, arbitrary: oddText },
  { weight: 2, arbitrary: oddNumber },
  { weight: 2, arbitrary: fc.constantFrom(null, true, false, [], {}, [[]], [null]) },
  { weight: 3, arbitrary: oddObject },
  { weight: 2, arbitrary: fc.jsonValue({ maxDepth: 3 }) },
  { weight: 1, arbitrary: nested },
);

const flag = (weight: number) => fc.integer({ min: 1, max: 100 }).map((roll) => roll <= weight);
export const oneIn = <T>(weight: number, arbitrary: fc.Arbitrary<T>) =>
  fc.tuple(flag(weight), arbitrary).map(([taken, value]) => (taken ? value : undefined));
