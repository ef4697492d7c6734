// Puts measured ratios next to their budgets: one aligned table for people, one JSON document for programs.
import { NOISE, verdictOf } from "./budgets.ts";
import type { Verdict } from "./budgets.ts";
import type { BundleSize } from "./bundles.ts";
import { HEAP_BUDGET_MIB } from "./crowd-figures.ts";
import type { Crowd, Traffic } from "./crowd-figures.ts";
import type { FanOut } from "./fan-out.ts";
import type { Comparison, Spread } from "./measure.ts";

export interface Row extends Comparison {
  name: string;
  budget?: number;
  gzipBytes?: number;
  /** How often it was measured; this is the best. */
  times?: number;
}

export interface Failure {
  name: string;
  reason: string;
}

export interface Report {
  machine: Record<string, string | number>;
  rows?: Row[];
  /** Against a call of the same Worker, instead of bare Hono. */
  lists?: Row[];
  /** Next to a bare Worker that asks an object. */
  asking?: Row[];
  /** Each against what its name says. */
  gateway?: Row[];
  /** Against tenants that store little. */
  scaling?: Row[];
  /** Against an older release. */
  against?: Row[];
  /** Wall time. */
  fanOut?: FanOut[];
  /** Of many tenants, each counted or in milliseconds. */
  crowd?: Pick<Crowd, "heapMiB" | "traffic" | "rates"> | undefined;
  /** Of warm tenants, against one of them. */
  flat?: Row[];
  bundles?: BundleSize[];
  failures: Failure[];
}

function verdictOn({ ratio, budget }: Row): Verdict | "" {
  return budget === undefined ? "" : verdictOf(ratio.median, budget);
}

interface Spent {
  ratios: Row[];
  fanOut: FanOut[];
  crowd?: Pick<Crowd, "heapMiB"> | undefined;
}

/** A line for each that is exceeded beyond noise. */
export function brokenBudgets({ ratios, fanOut, crowd }: Spent): string[] {
  const fails = (budget: number): string => `budget ≤ ${budget}, fails above ${Number((budget * NOISE).toFixed(3))}`;
  return [
    ...ratios
      .filter((row) => verdictOn(row) === "OVER")
      .map(({ name, ratio, budget = 0 }) => `${name}: ${ratio.median.toFixed(2)}, ${fails(budget)}`),
    ...fanOut
      .filter(({ millis, budgetMs }) => verdictOf(millis.median, budgetMs) === "OVER")
      .map(({ name, millis, budgetMs }) => `fan-out, ${name}: ${millis.median.toFixed(0)} ms, ${fails(budgetMs)}`),
    // Memory has no noise: it is measured after a collection.
    ...(crowd === undefined || crowd.heapMiB.many <= HEAP_BUDGET_MIB
      ? []
      : [`isolate of many tenants: ${crowd.heapMiB.many.toFixed(0)} MiB, budget ≤ ${HEAP_BUDGET_MIB}`]),
  ];
}

/** `yardstick` names what the ratio is to. */
export function table(rows: Row[], yardstick = "bare Hono"): string {
  const head = ["scenario", "CPU µs", `${yardstick} µs`, "ratio", "min–max", "budget", "", "", "gzip KiB"];
  const cells = rows.map((row) => [
    row.name,
    row.subjectMicros.median.toFixed(0),
    row.bareMicros.median.toFixed(0),
    row.ratio.median.toFixed(2),
    `${row.ratio.min.toFixed(2)}–${row.ratio.max.toFixed(2)}`,
    row.budget === undefined ? "–" : `≤ ${row.budget}`,
    verdictOn(row),
    (row.times ?? 1) > 1 ? `of ${row.times}` : "",
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
    verdictOf(median, budgetMs),
  ]);
  return aligned([head, ...cells]);
}

/** `timed`: whether the machine was kept busy, so that CPU time per request says something. */
export function trafficTable(rows: Traffic[], timed: boolean): string {
  const head = ["traffic", "requests", "tenants", "lease held", "object calls", "KV reads", "p50 ms", "p99 ms"];
  const cells = rows.map((row) => [
    row.name,
    String(row.requests),
    String(row.tenants),
    `${(100 * row.hitRate).toFixed(1)} %`,
    row.objectCalls.toFixed(3),
    row.reads.toFixed(3),
    row.p50Ms.toFixed(1),
    row.p99Ms.toFixed(1),
    timed ? row.cpuMicros.toFixed(0) : "",
  ]);
  return aligned([[...head, timed ? "CPU µs" : ""], ...cells]);
}

function kibibytes(bytes: number): string {
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

/** What was not measured is left out. */
export function document(report: Report): string {
  const { rows, lists, asking, gateway, scaling, against, flat, fanOut, ...rest } = report;
  const measured = { rows, lists, asking, gateway, scaling, against, flat };
  const tables = Object.entries(measured).map(([name, some]) => [name, some?.map(figures)]);
  const waits = fanOut?.map((row) => {
    return { ...row, millis: rounded(row.millis, 1), verdict: verdictOf(row.millis.median, row.budgetMs) };
  });
  return `${JSON.stringify({ ...rest, ...Object.fromEntries(tables), fanOut: waits }, null, 2)}\n`;
}

function figures(row: Row): object {
  return {
    name: row.name,
    ratio: rounded(row.ratio, 3),
    budget: row.budget ?? null,
    verdict: verdictOn(row) || null,
    cpuMicros: rounded(row.subjectMicros, 1),
    yardstickCpuMicros: rounded(row.bareMicros, 1),
    requests: row.requests,
    measured: row.times ?? 1,
    gzipBytes: row.gzipBytes ?? null,
  };
}

function rounded({ median, min, max }: Spread, digits: number): Spread {
  const round = (value: number): number => Number(value.toFixed(digits));
  return { median: round(median), min: round(min), max: round(max) };
}
