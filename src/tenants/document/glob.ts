// Glob patterns over names: `*` matches any run of characters, `?` matches one. Tenants write both patterns and names.
// So a pattern is compiled once, and a list of patterns once for each version of its document.

type Matcher = (name: string) => boolean;

export function globMatches(pattern: string, name: string): boolean {
  return matcherOf(pattern)(name);
}

/** Compiles one pattern for many names. */
export function matcherOf(pattern: string): Matcher {
  if (!isFullGlob(pattern)) {
    const prefix = pattern.slice(0, -1);
    return pattern.endsWith("*") ? (name) => name.startsWith(prefix) : (name) => name === pattern;
  }
  const [first = "", ...pieces] = pattern.split("*");
  const last = pieces.pop();
  const isFirst = finderOf(first);
  const isLast = finderOf(last ?? "");
  const finders = pieces.map((piece) => [finderOf(piece), piece.length] as const);
  return (name) => {
    const end = name.length - (last ?? first).length;
    let from = first.length;
    if (last === undefined ? end !== 0 : from > end) return false;
    if (isFirst(name.slice(0, from), 0) < 0 || isLast(name, end) < 0) return false;
    // The pieces between stars are matched in order, each as early as possible. That leaves the most text for later
    // pieces.
    return finders.every(([find, length]) => {
      const at = find(name, from);
      from = at + length;
      return at >= 0 && from <= end;
    });
  };
}

/**
 * Finds a piece at or after a position; -1: not found. Uses the platform's own search, because a loop over characters
 * is slow.
 */
function finderOf(piece: string): (name: string, from: number) => number {
  if (!piece.includes("?")) return (name, from) => name.indexOf(piece, from);
  const pattern = new RegExp(piece.replace(/[^?\w]/g, "\\$&").replaceAll("?", "[^]"), "g");
  return (name, from) => {
    pattern.lastIndex = from;
    return pattern.exec(name)?.index ?? -1;
  };
}

/**
 * Whether the pattern is more than an exact name or a prefix. Only such patterns are tested against each name one by
 * one.
 */
export function isFullGlob(pattern: string): boolean {
  const wild = pattern.search(/[*?]/);
  return wild >= 0 && (wild < pattern.length - 1 || pattern.endsWith("?"));
}

const listMatchers = new WeakMap<readonly string[], Matcher>();

/**
 * Without patterns every name matches. The compiled list is cached under the list itself, so the list must not change.
 */
export function matchesAny(name: string, patterns: readonly string[] | undefined): boolean {
  if (patterns === undefined) return true;
  let matches = listMatchers.get(patterns);
  if (!matches) {
    matches = createListMatcher(patterns);
    listMatchers.set(patterns, matches);
  }
  return matches(name);
}

function createListMatcher(patterns: readonly string[]): Matcher {
  const inner = patterns.filter(isFullGlob).map(matcherOf);
  const plain = patterns.filter((pattern) => !isFullGlob(pattern));
  const names = new Set(plain.filter((pattern) => !pattern.endsWith("*")));
  const prefixes: string[] = [];
  // A prefix that begins with another prefix adds nothing. So at most one can match: the last that sorts before the
  // name.
  for (const prefix of plain
    .filter((pattern) => pattern.endsWith("*"))
    .map((pattern) => pattern.slice(0, -1))
    .toSorted(byCode)) {
    const before = prefixes.at(-1);
    if (before === undefined || !prefix.startsWith(before)) prefixes.push(prefix);
  }
  return (name) => names.has(name) || hasPrefix(prefixes, name) || inner.some((matches) => matches(name));
}

function byCode(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

function hasPrefix(sorted: readonly string[], name: string): boolean {
  let from = 0;
  let to = sorted.length;
  while (from < to) {
    const middle = (from + to) >> 1;
    if ((sorted[middle] ?? "") <= name) from = middle + 1;
    else to = middle;
  }
  const last = sorted[from - 1];
  return last !== undefined && name.startsWith(last);
}
