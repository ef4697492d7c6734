// The odd-server table as docs/gateway-tried.md shows it.

import type { Measured } from "./measure.ts";
import { KINDS } from "./odd-kinds.ts";
import { LISTS, type ListName, type OddRow } from "./odd-row.ts";
import { cellOf } from "./outcome.ts";

const HEAD = "## Odd servers";

type MeasuredRows = ReadonlyMap<string, Measured>;

/** The page with the section as it was measured. */
export function withOddSection(page: string, measured: MeasuredRows): string {
  const [before = ""] = page.split(`\n${HEAD}\n`);
  return `${before.trimEnd()}\n\n${HEAD}\n\n${sectionOf(measured)}\n`;
}

function sectionOf(measured: MeasuredRows): string {
  const count = KINDS.flatMap(({ rows }) => rows).length;
  const about = [
    `${count} servers work, but for one thing. The official TypeScript clients 1.x and 2.x ask each of them directly, and through`,
    "a gateway with `era: auto`; the column of the gateway has the worse of the two outcomes, and where it is worse than both clients",
    "what `tenantry doctor` or `upstream test` says. Outcomes that are equal in all three columns are counted and not shown. `test/e2e/odd-servers.test.ts` tries all of them, and holds this section to what it sees.",
  ].join("\n");
  return [about, ...KINDS.map(({ kind, rows }) => kindOf(kind, rows, measured))].join("\n\n");
}

interface Line {
  readonly what: string;
  readonly list: ListName | undefined;
  readonly cells: readonly string[];
}

function kindOf(kind: string, rows: readonly OddRow[], measured: MeasuredRows): string {
  const lines = rows.map(({ id, what, list, worse }): Line => {
    const { "1.x": first, "2.x": second, gateway } = measured.get(id) as Measured;
    const cells = [first, second, gateway].map((one) => cellOf(one, list));
    return { what, list, cells: worse === undefined ? cells : [...cells.slice(0, 2), `${cells[2]}: "${worse}"`] };
  });
  const alike = lines.filter(({ cells }) => new Set(cells).size === 1);
  const works = alike.filter(({ cells }) => cells[0] === "works").length;
  const title = `### ${kind[0]?.toUpperCase()}${kind.slice(1)}`;
  const counted = `Tried: ${lines.length}. Works in all three: ${works}. Fails in all three alike: ${alike.length - works}.`;
  if (alike.length === lines.length) return [title, counted].join("\n\n");
  const table = [
    "| what is odd | 1.x | 2.x | gateway |",
    "| --- | --- | --- | --- |",
    ...joined(lines.filter((line) => !alike.includes(line))).map(
      ({ what, cells }) => `| ${escaped(what)} | ${cells.join(" | ")} |`,
    ),
  ];
  return [title, counted, table.join("\n")].join("\n\n");
}

/** One line where the four lists have the same outcome. */
function joined(lines: readonly Line[]): readonly Line[] {
  return lines.flatMap((line) => {
    if (line.list === undefined) return [line];
    const same = lines.filter(({ what, cells }) => what === line.what && cells.join() === line.cells.join());
    if (same[0] !== line) return [];
    const lists = same.map(({ list }) => list).join(", ");
    return [{ ...line, what: same.length === LISTS.length ? line.what : `${line.what} (${lists})` }];
  });
}

const escaped = (text: string) => text.replaceAll("|", "\\|").replaceAll(/[<>*_]/g, "\\$&");
