// Writes docs/decisions.md: each decision with its number and title.

import { globSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";

const FOLDER = join(import.meta.dirname, "../../docs/decisions");
const HEAD = `# Decisions

These pages explain why the product is as it is, and which ideas were rejected. \`npm run reference\` writes this list.
`;

export function decisionsPage(): string {
  const rows = globSync("*.md", { cwd: FOLDER }).toSorted().map(lineOf);
  return `${HEAD}\n${rows.join("\n")}\n`;
}

function lineOf(file: string): string {
  const [, title = ""] = /^# (.+)$/m.exec(readFileSync(join(FOLDER, file), "utf8")) ?? [];
  if (title === "") throw new Error(`docs/decisions/${file} has no title`);
  return `- ${basename(file).slice(0, 4)} [${title}](decisions/${file})`;
}
