// Owns glob patterns over names: `*` stands for any run of characters, `?` for one. Never recursive: at a mismatch the
// last `*` takes one character more, which is enough for patterns of an author's own.

export let globMatches = (pattern: string, name: string): boolean => {
  let at = 0;
  let from = 0;
  let star = -1;
  let starFrom = 0;
  while (from < name.length) {
    const expected = pattern[at];
    if (expected === "*") {
      star = at;
      starFrom = from;
      at += 1;
    } else if (expected === "?" || expected === name[from]) {
      at += 1;
      from += 1;
    } else if (star >= 0) {
      at = star + 1;
      starFrom += 1;
      from = starFrom;
    } else {
      return false;
    }
  }
  while (pattern[at] === "*") at += 1;
  return at === pattern.length;
};

/** Sets what matches where tenants write patterns and names: glob-search.ts. */
export function bringGlobSearch(search: typeof globMatches): void {
  globMatches = search;
}

/** Without patterns every name matches. */
export function matchesAny(name: string, patterns: readonly string[] | undefined): boolean {
  return patterns === undefined || patterns.some((pattern) => globMatches(pattern, name));
}
