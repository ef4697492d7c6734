// Values that try to cost more than their bytes, as JSON: texts of a piece that something has an ear for, and arrays,
// members and nestings.

import * as fc from "fast-check";

const MIB = 1024 * 1024;

const CHARACTERS = Array.from("\t\n\r\u0000\u001b\u00a0\u2028\ufeff\ud800éﬁﷺＡ字😀");

/** Pieces that something has an ear for: Markdown, templates, URIs, patterns, search, normalization, JSON itself. */
export const PIECES = [
  ...CHARACTERS,
  "![",
  "[](",
  "](",
  "**a",
  "{{a}}",
  "{a}",
  "${a}",
  "../..",
  "%41",
  "a b ",
  "a OR ",
  "NEAR(",
  "ab ",
  "a*",
  "a,",
  "a\u0301\u0323",
  "<!--",
  "://",
  "\r\n",
  "e\u0301",
  "\u202e",
];

const SIZES = [64, 400, 2000, 8192, 40_000, 150_000, 500_000, MIB, 3 * MIB, 4 * MIB - 4096];

/** JSON of about so many bytes, or less where the field takes no more. */
export function heavyValue(longest: number): fc.Arbitrary<{ json: string; what: string }> {
  return fc
    .record({
      piece: fc.constantFrom(...PIECES),
      other: fc.constantFrom(...PIECES),
      size: fc.constantFrom(...SIZES, Math.min(longest, SIZES.at(-1) ?? 0)),
      end: fc.constantFrom("", "", "x", "]", " "),
      shape: fc.constantFrom(...SHAPES),
    })
    .map(({ piece, other, size, end, shape }) => {
      const json = shape.make({ piece, other, size, end, longest });
      return { json, what: `${shape.name} of ${JSON.stringify(piece)}, ${json.length} characters` };
    });
}

interface Making {
  readonly piece: string;
  readonly other: string;
  readonly size: number;
  readonly end: string;
  readonly longest: number;
}

/** Escapes count: what arrives has so many bytes. */
function timesIn(size: number, json: string): number {
  return Math.max(1, Math.floor(size / Buffer.byteLength(json)));
}

/** A piece as it stands within a text: without the quotes. */
const within = (piece: string) => encoded(piece).slice(1, -1);

export const encoded = (text: string) => JSON.stringify(text);

export const AS_LONG_AS_MAY_BE: Shape = {
  name: "a text as long as may be",
  make: ({ piece, longest, end }) => {
    const most = Math.min(longest, timesIn(SIZES.at(-1) ?? 0, within(piece)) * piece.length);
    return encoded((piece.repeat(Math.ceil(most / piece.length)) + end).slice(-most));
  },
};

interface Shape {
  readonly name: string;
  readonly make: (making: Making) => string;
}

const SHAPES: readonly Shape[] = [
  { name: "a text", make: ({ piece, size, end }) => encoded(piece.repeat(timesIn(size, within(piece))) + end) },
  AS_LONG_AS_MAY_BE,
  {
    name: "a text of two halves",
    make: ({ piece, other, size, end }) =>
      encoded(piece.repeat(timesIn(size / 2, within(piece))) + other.repeat(timesIn(size / 2, within(other))) + end),
  },
  {
    name: "an array",
    make: ({ piece, size }) =>
      `[${Array(timesIn(size, `${encoded(piece)},`))
        .fill(encoded(piece))
        .join(",")}]`,
  },
  {
    name: "many members",
    make: ({ piece, size }) =>
      `{${Array.from({ length: timesIn(size, `${encoded(piece)}:1234567890,`) }, (_none, at) => `${encoded(`${at}${piece}`)}:${at}`).join(",")}}`,
  },
  { name: "empty objects", make: ({ size }) => `[${Array(timesIn(size, "{},")).fill("{}").join(",")}]` },
  { name: "nesting", make: ({ size }) => "[".repeat(Math.min(size, 120)) + "]".repeat(Math.min(size, 120)) },
  {
    name: "nesting again and again",
    make: ({ size }) =>
      `[${Array(timesIn(size, '{"a":'.repeat(100) + "1" + "}".repeat(100)))
        .fill('{"a":'.repeat(100) + "1" + "}".repeat(100))
        .join(",")}]`,
  },
  { name: "deep nesting", make: ({ size }) => "[".repeat(size / 2) + "]".repeat(size / 2) },
  { name: "a number", make: ({ size }) => "1".repeat(Math.min(size, MIB)) },
];
