// Owns glob patterns over names: `*` stands for any run of characters, `?` for one. Tenants write both patterns and names, so what
// looks alike is passed by with the platform's own search: letter by letter, a page of resources took half a minute.

/** What stands between stars is looked for in its order, and as early as can be, which leaves the most to what follows. */
export function globMatches(pattern: string, name: string): boolean {
  const star = pattern.indexOf("*");
  // Most are a name, or its beginning: nothing is taken apart for these.
  if (!pattern.includes("?")) {
    if (star < 0) return pattern === name;
    if (!name.startsWith(pattern.slice(0, star))) return false;
    if (star === pattern.length - 1) return true;
  }
  const [first = "", ...pieces] = pattern.split("*");
  const last = pieces.pop();
  const end = name.length - (last ?? first).length;
  let from = first.length;
  if (last === undefined ? end !== 0 : from > end) return false;
  if (placeOf(first, name.slice(0, from), 0) < 0 || placeOf(last ?? "", name, end) < 0) return false;
  return pieces.every((piece) => {
    const at = placeOf(piece, name, from);
    from = at + piece.length;
    return at >= 0 && from <= end;
  });
}

/** Where it is first found from a place on; -1: nowhere. */
function placeOf(piece: string, name: string, from: number): number {
  if (!piece.includes("?")) return name.indexOf(piece, from);
  const pattern = new RegExp(piece.replace(/[^?\w]/g, "\\$&").replaceAll("?", "[^]"), "g");
  pattern.lastIndex = from;
  return pattern.exec(name)?.index ?? -1;
}

/** Without patterns every name matches. */
export function matchesAny(name: string, patterns: readonly string[] | undefined): boolean {
  return patterns === undefined || patterns.some((pattern) => globMatches(pattern, name));
}
