// Owns finding what somebody may have meant: the name that differs least from the one they wrote.

/** The known name that differs least, whatever its case; undefined when more than a third of its letters differ. */
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

/** What is said after a name that is none; nothing where no known one is near. */
export function didYouMean(name: string, candidates: readonly string[]): string {
  const near = nearestName(name, candidates);
  return near === undefined ? "" : `; did you mean "${near}"?`;
}

/**
 * How many letters to insert, delete, replace or swap with their neighbour. Texts whose lengths differ by `enough` are
 * not compared: the answer is `enough`.
 */
function distance(from: string, to: string, enough: number): number {
  if (Math.abs(from.length - to.length) >= enough) return enough;
  const rows: number[][] = [Array.from({ length: to.length + 1 }, (_none, at) => at)];
  for (let at = 1; at <= from.length; at += 1) {
    const row = rowAfter(rows, from, to);
    // No later row has less.
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
