// Computes the ranges of URIs that can hold visible resources, so that a scan skips hidden ones however many there are.
// Within a range, a pattern with a `*` inside still needs a check of each URI.

import { matchesAny } from "../tenants/document/glob.ts";
import type { Patterns } from "../tenants/document/tenant-document.ts";

/** From the first URI on, and before the second. */
export type UriRange = readonly [from: string, to: string];

/** An upper bound of all URIs with this prefix: URIs have only ASCII characters that sort before DEL. */
export function prefixEnd(prefix: string): string {
  return `${prefix}\u007f`;
}

export function isVisibleUri(uri: string, only: readonly Patterns[]): boolean {
  return only.every(({ allow, deny }) => matchesAny(uri, allow) && !(deny && matchesAny(uri, deny)));
}

/** The parts of a range that may hold URIs which all of `only` allow, in order. */
export function visibleRanges(full: UriRange, only: readonly Patterns[]): readonly UriRange[] {
  let ranges: readonly UriRange[] = [full];
  for (const { allow, deny = [] } of only) {
    if (allow) ranges = intersectRanges(ranges, mergeRanges(allow.map((pattern) => rangeOf(pattern).range)));
    for (const { range, isWhole } of deny.map(rangeOf))
      if (isWhole) ranges = ranges.flatMap((one) => subtractRange(one, range));
  }
  return ranges;
}

/** Whether a pattern matches one URI, all URIs with a prefix, or only some of these. */
function parsePattern(pattern: string): { readonly prefix: string; readonly of: "one" | "all" | "some" } {
  const [prefix = ""] = /^[^*?]*/.exec(pattern) ?? [];
  if (prefix === pattern) return { prefix, of: "one" };
  return { prefix, of: /^\*+$/.test(pattern.slice(prefix.length)) ? "all" : "some" };
}

/** `isWhole`: the pattern matches everything in the range. */
function rangeOf(pattern: string): { readonly range: UriRange; readonly isWhole: boolean } {
  const { prefix, of } = parsePattern(pattern);
  return { range: [prefix, of === "one" ? `${prefix}\u0000` : prefixEnd(prefix)], isWhole: of !== "some" };
}

function mergeRanges(ranges: readonly UriRange[]): readonly UriRange[] {
  const merged: [string, string][] = [];
  for (const [from, to] of ranges.toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    const last = merged.at(-1);
    if (last && from <= last[1]) last[1] = to > last[1] ? to : last[1];
    else merged.push([from, to]);
  }
  return merged;
}

function intersectRanges(first: readonly UriRange[], second: readonly UriRange[]): readonly UriRange[] {
  return first.flatMap(([from, to]) =>
    second.flatMap(([a, b]): UriRange[] => {
      const range = [from > a ? from : a, to < b ? to : b] as const;
      return range[0] < range[1] ? [range] : [];
    }),
  );
}

function subtractRange([from, to]: UriRange, [a, b]: UriRange): UriRange[] {
  const parts: UriRange[] = [
    [from, to < a ? to : a],
    [from > b ? from : b, to],
  ];
  return parts.filter(([first, end]) => first < end);
}
