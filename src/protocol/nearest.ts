// Owns finding what somebody may have meant: the name that differs least from the one they wrote.

/** undefined: none is near enough to be meant. */
export function nearest(name: string, known: readonly string[]): string | undefined {
  const most = Math.max(1, Math.floor(name.length / 3));
  let best: string | undefined;
  let least = most + 1;
  for (const candidate of known) {
    const steps = distance(name.toLowerCase(), candidate.toLowerCase(), least);
    if (steps < least) [best, least] = [candidate, steps];
  }
  return best;
}

/** Letters to insert, delete, replace or swap with their neighbour; `enough`: not counted further. */
function distance(from: string, to: string, enough: number): number {
  if (Math.abs(from.length - to.length) >= enough) return enough;
  let before: number[] = [];
  let last = Array.from({ length: to.length + 1 }, (_none, at) => at);
  for (let at = 1; at <= from.length; at += 1) {
    const row = [at];
    for (let other = 1; other <= to.length; other += 1) {
      const same = from[at - 1] === to[other - 1];
      const swapped = at > 1 && other > 1 && from[at - 1] === to[other - 2] && from[at - 2] === to[other - 1];
      row[other] = Math.min(
        (row[other - 1] ?? 0) + 1,
        (last[other] ?? 0) + 1,
        (last[other - 1] ?? 0) + (same ? 0 : 1),
        swapped ? (before[other - 2] ?? 0) + 1 : Infinity,
      );
    }
    [before, last] = [last, row];
  }
  return last[to.length] ?? enough;
}
