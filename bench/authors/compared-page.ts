// Writes docs/compared.md from the results of `npx node bench/authors/compare.ts`.

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

const NEVER: Finding = { when: "never", message: "" };
const WHEN: Readonly<Record<Finding["when"], string>> = {
  types: "types",
  start: "start",
  call: "call",
  never: "**never**",
};
const LONGEST = 150;

export function comparedPage(all: readonly Compared[]): string {
  const titles = all.map(({ product }) => PRODUCTS[product].title);
  const early = all.map(({ findings }) => findings.filter(({ when }) => when === "types" || when === "start").length);
  const rows: (readonly (string | number)[])[] = [
    ["lines of code of the whole server, without blank lines", ...all.map(({ lines }) => lines)],
    [`how many of the ${MISTAKES.length} mistakes are found before the first call`, ...early],
    ["milliseconds from saving a file to a call (median)", ...all.map(({ saves }) => median(saves))],
    ...MISTAKES.map(({ title }, at) => [title, ...all.map(({ findings }) => WHEN[(findings[at] ?? NEVER).when])]),
  ];
  const sections = MISTAKES.map(({ title }, at) => {
    const lines = all.map(({ product, findings }) => {
      const { when, message } = findings[at] ?? NEVER;
      return `${PRODUCTS[product].title}, ${when === "never" ? "never, result" : when}: ${shortened(message)}`;
    });
    return `### ${title[0]?.toUpperCase()}${title.slice(1)}\n\n\`\`\`text\n${lines.join("\n")}\n\`\`\``;
  });
  return `${HEAD}\n${table(["", ...titles], rows)}\n\n${TIMES}\n\n## The messages that the author reads\n\n${MESSAGES}\n\n${sections.join("\n\n")}\n`;
}

const HEAD = `# The same tool in four packages

We made ten mistakes in the same tool. This page shows which of them each package finds, and when. The tool takes one number and returns an object with two members. The arguments and the result have a schema.

- **types**: the compiler finds the mistake (TypeScript, strict, \`nodenext\`).
- **start**: the server does not start, or the Worker cannot be deployed.
- **call**: the first call fails.
- **never**: no error appears. The caller gets a wrong or an unexpected result.

\`npx node bench/authors/compare.ts\` writes this page from the files in \`bench/authors/\`.
`;

const TIMES = `The times were measured on one machine. Each server ran under \`wrangler dev\` or \`node --watch\`, which restart a server when a file changes.`;

const MESSAGES = `Each line has the package, the time at which the mistake is found, and the message. A long message is cut in the middle, at \`…\`.`;

function table(head: readonly string[], rows: readonly (readonly (string | number)[])[]): string {
  const line = (cells: readonly (string | number)[]): string => `| ${cells.join(" | ")} |`;
  return [line(head), line(head.map((_title, at) => (at === 0 ? "---" : "---:"))), ...rows.map(line)].join("\n");
}

/** Of what is long the end says what is wrong, after what was met where. */
function shortened(message: string): string {
  const text = message.replaceAll(/\s+/g, " ").replaceAll("`", "'");
  if (text === "") return "nothing";
  return text.length > LONGEST ? `${text.slice(0, LONGEST / 3)}…${text.slice((-2 * LONGEST) / 3)}` : text;
}

function median(numbers: readonly number[]): number {
  return numbers.toSorted((one, other) => one - other)[Math.floor(numbers.length / 2)] ?? 0;
}
