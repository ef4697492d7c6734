// docs/compared.md: what `npx node bench/authors/compare.ts` found, as a page.

import { MISTAKES, type Product } from "./mistakes.ts";
import { PRODUCTS, type Finding } from "./products.ts";

export interface Compared {
  readonly product: Product;
  readonly lines: number;
  /** In the order of the mistakes. */
  readonly findings: readonly Finding[];
  /** Milliseconds, of each save. */
  readonly saves: readonly number[];
}

const NOBODY: Finding = { when: "never", message: "" };
const WHEN: Readonly<Record<Finding["when"], string>> = {
  types: "types",
  start: "start",
  call: "call",
  never: "**nobody**",
};
const LONGEST = 150;

export function comparedPage(all: readonly Compared[]): string {
  const titles = all.map(({ product }) => PRODUCTS[product].title);
  const early = all.map(({ findings }) => findings.filter(({ when }) => when === "types" || when === "start").length);
  const rows: (readonly (string | number)[])[] = [
    ["lines of the whole server, without blank ones", ...all.map(({ lines }) => lines)],
    [`mistakes of ${MISTAKES.length} found by types or at start`, ...early],
    ["from save to call, ms, median", ...all.map(({ saves }) => median(saves))],
    ...MISTAKES.map(({ title }, at) => [title, ...all.map(({ findings }) => WHEN[(findings[at] ?? NOBODY).when])]),
  ];
  const sections = MISTAKES.map(({ title }, at) => {
    const lines = all.map(({ product, findings }) => {
      const { when, message } = findings[at] ?? NOBODY;
      return `- ${PRODUCTS[product].title}, ${WHEN[when]}: ${quoted(message)}`;
    });
    return `**${title[0]?.toUpperCase()}${title.slice(1)}**\n\n${lines.join("\n")}`;
  });
  return `${HEAD}\n${table(["", ...titles], rows)}\n\n${TIMES}\n\n## What the author reads\n\n${sections.join("\n\n")}\n`;
}

const HEAD = `# The same first tool in four packages

Written by \`npx node bench/authors/compare.ts\` (\`bench/authors/\`): the same tool (one number in, two members out, both with a schema, answered as text and as
structured content), then ten mistakes in it, one by one. Who says so first: the **types** (TypeScript, strict, \`nodenext\`), the server's
**start** (of a Worker: its deployment), the first **call**, or **nobody**, and then the caller gets what is shown.
`;

const TIMES = `The times are of the machine that wrote this page, each server in the way that watches files: \`wrangler dev\`, \`node --watch\`.`;

function table(head: readonly string[], rows: readonly (readonly (string | number)[])[]): string {
  const line = (cells: readonly (string | number)[]): string => `| ${cells.join(" | ")} |`;
  return [line(head), line(head.map((_title, at) => (at === 0 ? "---" : "---:"))), ...rows.map(line)].join("\n");
}

/** Of what is long the end says what is wrong, after what was met where. */
function quoted(message: string): string {
  const text = message.replaceAll(/\s+/g, " ").replaceAll("`", "'");
  if (text === "") return "nothing";
  return `\`${text.length > LONGEST ? `${text.slice(0, LONGEST / 3)}…${text.slice((-2 * LONGEST) / 3)}` : text}\``;
}

function median(numbers: readonly number[]): number {
  return numbers.toSorted((one, other) => one - other)[Math.floor(numbers.length / 2)] ?? 0;
}
