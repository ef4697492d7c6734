// Puts measured ratios next to their budgets: one aligned table for people, one JSON document for programs.
import type { FanOut } from "./fan-out.ts";
import type { Comparison, Spread } from "./measure.ts";

export interface Row extends Comparison {
  name: string;
  budget?: number;
  gzipBytes?: number;
}

export interface Failure {
  name: string;
  reason: string;
}

export interface Report {
  machine: Record<string, string | number>;
  rows: Row[];
  /** Against tenants that store little, instead of bare Hono. */
  scaling: Row[];
  /** Wall time. */
  fanOut: FanOut[];
  failures: Failure[];
}

export function isOver({ ratio, budget }: Row): boolean {
  return budget !== undefined && ratio.median > budget;
}

/** `yardstick` names what the ratio is to. */
export function table(rows: Row[], yardstick = "bare Hono"): string {
  const head = ["scenario", "CPU µs", `${yardstick} µs`, "ratio", "min–max", "budget", "", "gzip KiB"];
  const cells = rows.map((row) => [
    row.name,
    row.subjectMicros.median.toFixed(0),
    row.bareMicros.median.toFixed(0),
    row.ratio.median.toFixed(2),
    `${row.ratio.min.toFixed(2)}–${row.ratio.max.toFixed(2)}`,
    row.budget === undefined ? "–" : `≤ ${row.budget}`,
    mark(row),
    row.gzipBytes === undefined ? "" : kibibytes(row.gzipBytes),
  ]);
  return aligned([head, ...cells]);
}

export function fanOutTable(rows: FanOut[]): string {
  const head = ["scenario", "ms", "min–max", "budget", ""];
  const cells = rows.map(({ name, millis: { median, min, max }, budgetMs }) => [
    name,
    median.toFixed(0),
    `${min.toFixed(0)}–${max.toFixed(0)}`,
    `≤ ${budgetMs}`,
    median > budgetMs ? "OVER" : "ok",
  ]);
  return aligned([head, ...cells]);
}

function mark(row: Row): string {
  if (row.budget === undefined) return "";
  return isOver(row) ? "OVER" : "ok";
}

export function kibibytes(bytes: number): string {
  return (bytes / 1024).toFixed(0);
}

/** First column to the left, the rest to the right; a column without any cell is left out. */
function aligned(lines: string[][]): string {
  const [head = [], ...rows] = lines;
  const used = head.map((_, column) => rows.some((row) => row[column] !== ""));
  const widths = head.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)));
  return lines
    .map((line) => {
      const cells = line.map((cell, column) =>
        column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0),
      );
      const shown = cells.filter((_, column) => used[column]);
      return shown.join("  ").trimEnd();
    })
    .join("\n");
}

export function document(report: Report): string {
  const scaling = report.scaling.map((row) => ({
    name: row.name,
    ratio: rounded(row.ratio, 3),
    budget: row.budget ?? null,
    over: isOver(row),
    cpuMicros: rounded(row.subjectMicros, 1),
    smallTenantCpuMicros: rounded(row.bareMicros, 1),
    requests: row.requests,
  }));
  const rows = report.rows.map((row) => ({
    name: row.name,
    ratio: rounded(row.ratio, 3),
    budget: row.budget ?? null,
    over: isOver(row),
    cpuMicros: rounded(row.subjectMicros, 1),
    bareCpuMicros: rounded(row.bareMicros, 1),
    requests: row.requests,
    gzipBytes: row.gzipBytes ?? null,
  }));
  const fanOut = report.fanOut.map((row) => ({
    ...row,
    millis: rounded(row.millis, 1),
    over: row.millis.median > row.budgetMs,
  }));
  return `${JSON.stringify({ ...report, rows, scaling, fanOut }, null, 2)}\n`;
}

function rounded({ median, min, max }: Spread, digits: number): Spread {
  const round = (value: number): number => Number(value.toFixed(digits));
  return { median: round(median), min: round(min), max: round(max) };
}
