// Suggests the closest known name.

/** The closest known name, ignoring case; undefined if more than a third of the letters differ. */
export function nearestName(name: string, candidates: readonly string[]): string | undefined {
  const most = Math.max(1, Math.floor(name.length / 3));
  let best: string | undefined;
  let least = most + 1;
  for (const candidate of candidates) {
    const steps = distance(name.toLowerCase(), candidate.toLowerCase(), least);
    if (steps < least) [best, least] = [candidate, steps];
  }
  return best;
}

const MAX_CANDIDATES = 2000;
const MAX_NAME_LENGTH = 64;

/**
 * As `nearestName`, for names that tenants may have written: the comparison blocks the isolate, so long names and long
 * lists are skipped.
 */
export function suggestName(name: string, candidates: Iterable<string>): string | undefined {
  if (name.length > MAX_NAME_LENGTH) return undefined;
  const shortCandidates = [...candidates].slice(0, MAX_CANDIDATES).filter(({ length }) => length <= MAX_NAME_LENGTH);
  return nearestName(name, shortCandidates);
}

/** Text to append to an error about an unknown name; empty if no known name is close. */
export function didYouMean(name: string, candidates: readonly string[]): string {
  const near = nearestName(name, candidates);
  return near === undefined ? "" : `; did you mean "${near}"?`;
}

/**
 * The number of letters to insert, delete, replace or swap with their neighbour, up to `enough`. Texts whose lengths
 * differ by `enough` are not compared.
 */
function distance(from: string, to: string, enough: number): number {
  if (Math.abs(from.length - to.length) >= enough) return enough;
  const rows: number[][] = [Array.from({ length: to.length + 1 }, (_none, at) => at)];
  for (let at = 1; at <= from.length; at += 1) {
    const row = rowAfter(rows, from, to);
    // Later rows cannot be lower.
    if (Math.min(...row) >= enough) return enough;
    rows.push(row);
  }
  return rows.at(-1)?.at(-1) ?? enough;
}

function rowAfter(rows: readonly (readonly number[])[], from: string, to: string): number[] {
  const at = rows.length;
  const row = [at];
  const step = (back: number, other: number) => rows[at - back]?.[other] ?? Infinity;
  for (let other = 1; other <= to.length; other += 1) {
    const replaced = step(1, other - 1) + (from[at - 1] === to[other - 1] ? 0 : 1);
    const isSwapped = from[at - 1] === to[other - 2] && from[at - 2] === to[other - 1];
    const swapped = isSwapped ? step(2, other - 2) + 1 : Infinity;
    row.push(Math.min((row[other - 1] ?? 0) + 1, step(1, other) + 1, replaced, swapped));
  }
  return row;
}
