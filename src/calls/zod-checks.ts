// Owns what zod's checks (at least, at most, a format, a pattern) say as keywords of JSON Schema. Refuses to run them.
// https://zod.dev/api#strings

import { given } from "../protocol/members.ts";
import type { $ZodCheck, $ZodChecks, $ZodTypes } from "zod/v4/core";

type Keywords = Readonly<Record<string, unknown>>;
type Check = $ZodChecks["_zod"]["def"];

/** The schema's checks of one kind. A schema of a format, such as `z.email()`, is a check itself: the first one. */
function checksOf<Kind extends Check["check"]>(
  schema: $ZodTypes,
  kind: Kind,
): readonly Extract<Check, { check: Kind }>[] {
  const own = "check" in schema._zod.def ? [schema as unknown as $ZodCheck] : [];
  const all = [...own, ...(schema._zod.def.checks ?? [])].map((check) => check._zod.def as Check);
  return all.filter((check): check is Extract<Check, { check: Kind }> => check.check === kind);
}

/** The limits of how many characters or items there are. */
export function sizesOf(schema: $ZodTypes, of: "Items" | "Length"): Keywords {
  const exact = checksOf(schema, "length_equals").map(({ length }) => length);
  const least = [...exact, ...checksOf(schema, "min_length").map(({ minimum }) => minimum)];
  const most = [...exact, ...checksOf(schema, "max_length").map(({ maximum }) => maximum)];
  return {
    ...(least.length > 0 ? { [`min${of}`]: Math.max(...least) } : {}),
    ...(most.length > 0 ? { [`max${of}`]: Math.min(...most) } : {}),
  };
}

/**
 * JSON Schema's names for zod's formats, where they differ; null: no format, the pattern says it. `time` is one of
 * these: JSON Schema's times must have a zone, and zod's have none.
 */
const FORMATS: Readonly<Record<string, string | null | undefined>> = {
  guid: "uuid",
  url: "uri",
  datetime: "date-time",
  json_string: "json-string",
  regex: null,
  time: null,
};

type Format = ReturnType<typeof checksOf<"string_format">>[number];

function formatOf(check: Format | undefined): string | undefined {
  if (check === undefined) return undefined;
  // JSON Schema's date-time needs a zone and seconds, which these options of zod leave out.
  if (("local" in check && check.local) || ("precision" in check && check.precision === -1)) return undefined;
  const name = FORMATS[check.format];
  return name === undefined ? check.format : (name ?? undefined);
}

/** The regular expressions that a text must match. */
export function patternsOf(schema: $ZodTypes): readonly RegExp[] {
  return checksOf(schema, "string_format").flatMap(({ pattern }) => pattern ?? []);
}

export function stringKeywords(schema: $ZodTypes): Keywords {
  const formats = checksOf(schema, "string_format");
  const patterns = [...new Set(patternsOf(schema).map(({ source }) => source))];
  return given({
    type: "string",
    ...sizesOf(schema, "Length"),
    format: formatOf(formats.at(-1)),
    contentEncoding: formats.find(({ format }) => format.startsWith("base64"))?.format,
    ...(patterns.length > 1 ? { allOf: patterns.map((pattern) => ({ pattern })) } : { pattern: patterns[0] }),
  });
}

const RANGES: Readonly<Record<string, readonly [number, number] | undefined>> = {
  safeint: [Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER],
  int32: [-(2 ** 31), 2 ** 31 - 1],
  uint32: [0, 2 ** 32 - 1],
  float32: [-3.4028234663852886e38, 3.4028234663852886e38],
  float64: [-Number.MAX_VALUE, Number.MAX_VALUE],
};

interface Bound {
  readonly value: number;
  readonly inclusive: boolean;
}

/** The narrowest bound; of two with the same value, the exclusive one. `sign`: 1 for lower bounds, -1 for upper. */
function narrowest(bounds: readonly Bound[], sign: 1 | -1): Bound | undefined {
  return bounds.toSorted((a, b) => (b.value - a.value) * sign || Number(a.inclusive) - Number(b.inclusive))[0];
}

export function numberKeywords(schema: $ZodTypes): Keywords {
  const formats = checksOf(schema, "number_format").map(({ format }) => format);
  const ranges = formats.map((format) => (RANGES[format] ?? []).map((value) => ({ value, inclusive: true })));
  const low = narrowest(
    [...ranges.flatMap(([min = []]) => min), ...(checksOf(schema, "greater_than") as readonly Bound[])],
    1,
  );
  const high = narrowest(
    [...ranges.flatMap(([, max = []]) => max), ...(checksOf(schema, "less_than") as readonly Bound[])],
    -1,
  );
  const divisors = new Set(checksOf(schema, "multiple_of").map(({ value }) => Math.abs(Number(value))));
  const [multipleOf, ...more] = divisors;
  return given({
    type: formats.some((format) => format.includes("int")) ? "integer" : "number",
    [low?.inclusive === false ? "exclusiveMinimum" : "minimum"]: low?.value,
    [high?.inclusive === false ? "exclusiveMaximum" : "maximum"]: high?.value,
    multipleOf,
    allOf: more.length > 0 ? more.map((divisor) => ({ multipleOf: divisor })) : undefined,
  });
}
