// Owns glob patterns over names: `*` stands for any run of characters, `?` for one. Tenants write both patterns and names, so a
// pattern is taken apart once, and a list of patterns once for each version of the document that has it.

type Matcher = (name: string) => boolean;

export function globMatches(pattern: string, name: string): boolean {
  return matcherOf(pattern)(name);
}

/** For one pattern and many names. */
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
    // What stands between stars is looked for in its order, and as early as can be, which leaves the most to what follows.
    return finders.every(([find, length]) => {
      const at = find(name, from);
      from = at + length;
      return at >= 0 && from <= end;
    });
  };
}

/** Where a piece is first found from a place on; -1: nowhere. By the platform's own search: letter by letter takes long. */
function finderOf(piece: string): (name: string, from: number) => number {
  if (!piece.includes("?")) return (name, from) => name.indexOf(piece, from);
  const pattern = new RegExp(piece.replace(/[^?\w]/g, "\\$&").replaceAll("?", "[^]"), "g");
  return (name, from) => {
    pattern.lastIndex = from;
    return pattern.exec(name)?.index ?? -1;
  };
}

/** Whether more than a name or its beginning: only these are held against each name one by one. */
export function isFullGlob(pattern: string): boolean {
  const wild = pattern.search(/[*?]/);
  return wild >= 0 && (wild < pattern.length - 1 || pattern.endsWith("?"));
}

const listMatchers = new WeakMap<readonly string[], Matcher>();

/** Without patterns every name matches. The list does not change: what is made of it is kept beside it. */
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
  // One that begins with another adds nothing, so at most one can begin a name: the last that is not behind it.
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
