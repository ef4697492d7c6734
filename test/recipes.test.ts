// The recipes of docs/api.md are lines of the examples: each block names its file, and is in it, part by part and word by word.

import { existsSync, globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";

const ROOT = join(import.meta.dirname, "..");
const read = (file: string) => readFileSync(join(ROOT, file), "utf8");
const page = read("docs/api.md");

/** Between the parts of a block stands that something was left out. */
const LEFT_OUT = /^\/\/ …\n/m;

interface Block {
  readonly file: string;
  readonly parts: readonly string[];
}

function blocksOf(text: string): readonly Block[] {
  return [...text.matchAll(/^```ts\n\/\/ (\S+)\n([\s\S]*?)^```$/gm)].map(([, file = "", code = ""]) => ({
    file,
    parts: code.split(LEFT_OUT),
  }));
}

/** How far a line is indented is of where it stands. */
const linesOf = (text: string) => text.replaceAll(/^ +/gm, "");

function absent({ file, parts }: Block): readonly string[] {
  const source = existsSync(join(ROOT, file)) ? linesOf(`\n${read(file)}`) : "";
  return parts.filter((part) => !source.includes(`\n${linesOf(part)}`));
}

describe("docs/api.md", () => {
  const blocks = blocksOf(page);

  it.each(blocks)("shows what $file says", (block) => {
    expect(absent(block)).toEqual([]);
  });

  it("is found to differ where a block is in no file", () => {
    const block = blocksOf(
      "```ts\n// examples/tickets/src/worker.ts\n  fetch: mcp.fetch,\n// …\n  fetch: other,\n```\n",
    );
    expect(block.flatMap(absent)).toEqual(["  fetch: other,\n"]);
    expect(absent({ file: "examples/nowhere.ts", parts: ["\n"] })).toEqual(["\n"]);
  });

  it("has no block of which no file is known", () => {
    expect(2 * blocks.length).toBe(page.match(/^```/gm)?.length);
  });

  it("leads to every page about the API", () => {
    const pages = globSync("docs/api-*.md", { cwd: ROOT }).map((file) => file.slice("docs/".length));
    expect(pages.filter((name) => !page.includes(`](${name})`))).toEqual([]);
  });
});
