// Formats values for people: aligned columns, sizes, times, one-line values.

import type { Screen } from "./output.ts";
import { oneLine } from "./printable.ts";

export type Cell = string | number | boolean | null | undefined;

const GAP = "  ";
const MIN_LAST_COLUMN = 20;
const WIDE =
  /\p{Extended_Pictographic}|[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\u3000-\u303f\uff01-\uff60]/u;
const graphemes = new Intl.Segmenter("en", { granularity: "grapheme" });

/** Each column is as wide as its widest cell; on a terminal, the last column is truncated to the line. */
export function formatTable(titles: readonly string[], rows: readonly (readonly Cell[])[], screen: Screen): string {
  const numeric = titles.map((_, column) => rows.every((row) => typeof row[column] === "number"));
  const lines = [titles.map((title) => title.toUpperCase()), ...rows.map((row) => row.map(cellText))];
  const widths = titles.map((_, column) => Math.max(...widthsOf(lines, column)));
  const before = widths.slice(0, -1).reduce((sum, columns) => sum + columns + GAP.length, 0);
  const last = screen.isTTY ? Math.max(MIN_LAST_COLUMN, (screen.columns || 80) - before) : Infinity;
  return lines
    .map((cells) =>
      cells
        .map((cell, column) => {
          if (column === titles.length - 1 && !numeric[column]) return truncate(cell, last);
          return pad(cell, widths[column] ?? 0, numeric[column] === true && rows.length > 0);
        })
        .join(GAP)
        .trimEnd(),
    )
    .join("\n");
}

function* widthsOf(lines: readonly (readonly string[])[], column: number): Generator<number> {
  for (const cells of lines) yield displayWidth(cells[column] ?? "");
}

/** Lines of `name   value` about one thing, without empty values. */
export function definitionList(pairs: readonly (readonly [name: string, cell: Cell])[]): string {
  const rows = pairs.filter(([, cell]) => cell !== undefined && cell !== null && cell !== "");
  const widest = Math.max(...rows.map(([name]) => name.length));
  return rows.map(([name, cell]) => `${name.padEnd(widest)}${GAP}${cellText(cell)}`).join("\n");
}

function cellText(cell: Cell): string {
  if (cell === null || cell === undefined || cell === "") return "-";
  if (typeof cell === "boolean") return cell ? "yes" : "no";
  return oneLine(String(cell));
}

function pad(text: string, to: number, right: boolean): string {
  const space = " ".repeat(Math.max(0, to - displayWidth(text)));
  return right ? space + text : text + space;
}

/** The columns that a text takes on a terminal: Chinese characters and emoji take two. */
export function displayWidth(text: string): number {
  if (/^[\x20-\x7e]*$/.test(text)) return text.length;
  let columns = 0;
  for (const { segment } of graphemes.segment(text)) columns += WIDE.test(segment) ? 2 : 1;
  return columns;
}

export function truncate(text: string, columns: number): string {
  if (displayWidth(text) <= columns) return text;
  let result = "";
  let used = 1;
  for (const { segment } of graphemes.segment(text)) {
    used += displayWidth(segment);
    if (used > columns) break;
    result += segment;
  }
  return `${result}…`;
}

export function formatBytes(size: number): string {
  if (size < 1024) return `${size} B`;
  const power = Math.min(3, Math.floor(Math.log2(size) / 10));
  const scaled = size / 1024 ** power;
  return `${scaled < 10 ? scaled.toFixed(1) : Math.round(scaled)} ${["B", "KiB", "MiB", "GiB"][power]}`;
}

/** An ISO 8601 time without milliseconds. */
export function formatTime(iso: string | null | undefined): string | null {
  return iso?.replace(/\.\d+Z$/, "Z") ?? null;
}

/** `1 file`, `2 files`. */
export function formatCount(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? "" : "s"}`;
}

const MAX_VALUE = 160;

export function shortJson(value: unknown): string {
  return truncate(oneLine(JSON.stringify(value) ?? "nothing"), MAX_VALUE);
}
