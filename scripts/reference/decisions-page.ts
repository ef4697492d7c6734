// docs/decisions.md: each decision by its number and title.

import { globSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";

const FOLDER = join(import.meta.dirname, "../../docs/decisions");
const HEAD = `# Decisions

Why things are as they are: what was measured, what else was tried, what was refused. Newest first. Written by \`npm run reference\`.
`;

export function decisionsPage(): string {
  const rows = globSync("*.md", { cwd: FOLDER }).toSorted().toReversed().map(lineOf);
  return `${HEAD}\n${rows.join("\n")}\n`;
}

function lineOf(file: string): string {
  const [, title = ""] = /^# (?:\d+\.? )?(.+)$/m.exec(readFileSync(join(FOLDER, file), "utf8")) ?? [];
  if (title === "") throw new Error(`docs/decisions/${file} has no title`);
  return `- ${basename(file).slice(0, 4)} [${title}](decisions/${file})`;
}
