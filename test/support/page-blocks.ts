// The fenced blocks of README.md and docs/*.md: where each stands, its language, its text, and why it cannot be tried
// as it stands where the page says so before it: `<!-- not tried: REASON -->`.

import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";

const ROOT = join(import.meta.dirname, "../..");
const BLOCK = /(?:^<!-- not tried: ([^>]+) -->\n+)?^```(\w*)\n([\s\S]*?)^```$/gm;

export interface PageBlock {
  readonly page: string;
  /** From 1, in the page. */
  readonly line: number;
  readonly language: string;
  readonly text: string;
  readonly untried: string | undefined;
}

export function pageNames(): readonly string[] {
  return globSync(["README.md", "docs/*.md"], { cwd: ROOT }).toSorted();
}

export function textOf(page: string): string {
  return readFileSync(join(ROOT, page), "utf8");
}

export function blocksIn(page: string, text: string): readonly PageBlock[] {
  return [...text.matchAll(BLOCK)].map((match) => {
    const [all, untried, language = "", code = ""] = match;
    const before = text.slice(0, match.index + all.indexOf("```"));
    return { page, line: before.split("\n").length, language, text: code, untried };
  });
}

export function pageBlocks(): readonly PageBlock[] {
  return pageNames().flatMap((page) => blocksIn(page, textOf(page)));
}
