// What an attack is and what it says: rows of a table, each of them held, or a breach.

import type { Target } from "./target.ts";

/** Of docs and issues: the kind of fault that is looked for. */
export type FaultClass =
  | "a check before the last wait"
  | "hidden things that influence visible answers"
  | "small input, large work"
  | "one object in everybody's way"
  | "rows that only grow"
  | "a rule with an exception for comfort"
  | "who may undo whom"
  | "trust in our own server"
  | "a name outlives its thing"
  | "a door to the inside";

export interface Row {
  /** What was found once, in a few words. */
  readonly finding: string;
  readonly tried: string;
  readonly seen: string;
  readonly isBreach: boolean;
}

export interface Attack {
  readonly name: string;
  readonly classes: readonly FaultClass[];
  /** Whether it needs the machine to itself, because it looks at times or memory. */
  readonly isAlone?: boolean;
  run(target: Target): Promise<readonly Row[]>;
}

/** A row over many tries: a breach lists what gave way, the first three of it. */
export function rowOf(finding: string, tried: string, gaveWay: readonly string[], held: string): Row {
  const more = gaveWay.length > 3 ? ` and ${gaveWay.length - 3} more` : "";
  const seen = gaveWay.length === 0 ? held : gaveWay.slice(0, 3).join("; ") + more;
  return { finding, tried, seen, isBreach: gaveWay.length > 0 };
}

const WIDTHS = { finding: 34, tried: 46, seen: 60 } as const;

export function tableHead(): string {
  return `${"finding".padEnd(WIDTHS.finding)}  ${"tried".padEnd(WIDTHS.tried)}  ${"seen".padEnd(WIDTHS.seen)}  verdict`;
}

export function tableRow({ finding, tried, seen, isBreach }: Row): string {
  const columns = [wrapped(finding, WIDTHS.finding), wrapped(tried, WIDTHS.tried), wrapped(seen, WIDTHS.seen)];
  const height = Math.max(...columns.map((lines) => lines.length));
  const lines = Array.from({ length: height }, (_none, at) => {
    const cells = columns.map((column, index) => (column[at] ?? "").padEnd(Object.values(WIDTHS)[index] ?? 0));
    return cells.join("  ");
  });
  return [`${lines[0]}  ${isBreach ? "BREACH" : "held"}`, ...lines.slice(1)].map((line) => line.trimEnd()).join("\n");
}

/** What a server said must not steer the terminal of who attacks it. */
function wrapped(text: string, width: number): string[] {
  const lines = [""];
  for (const word of text.replaceAll(/[^\x20-\x7e]+/g, "?").split(" ")) {
    const last = lines.length - 1;
    if (`${lines[last]} ${word}`.trim().length > width && lines[last] !== "") lines.push("");
    lines[lines.length - 1] = `${lines.at(-1)} ${word}`.trim().slice(0, 400);
  }
  return lines;
}
