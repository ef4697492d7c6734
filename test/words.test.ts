// docs/words.md explains the words of src, one in a line. Each line names a file of src that exists; groups are sorted.

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";

const ROOT = join(import.meta.dirname, "..");
const page = readFileSync(join(ROOT, "docs/words.md"), "utf8");

const LINE = /^- \*\*([^*]+)\*\*: .+\. `[\w./-]+\.ts`$/;

const groups = page
  .split(/^## /m)
  .slice(1)
  .map((group) => {
    const [title = "", ...lines] = group.split("\n");
    return { title, lines: lines.filter((line) => line !== "") };
  });

/** The backticked paths of a text that are no file under src. */
function missingFiles(text: string): string[] {
  const files = [...text.matchAll(/`([^`]+\.ts)`/g)].map(([, file = ""]) => file);
  return files.filter((file) => !existsSync(join(ROOT, "src", file)));
}

function wordsOf(lines: readonly string[]): string[] {
  return lines.map((line) => (LINE.exec(line)?.[1] ?? "").toLowerCase());
}

it("names only files that are in src", () => {
  expect(missingFiles(page)).toEqual([]);
  expect(missingFiles("- **lease**: a right. `tenants/authority/nowhere.ts`")).toEqual([
    "tenants/authority/nowhere.ts",
  ]);
});

it("has groups, and each word once", () => {
  const words = groups.flatMap(({ lines }) => wordsOf(lines));
  expect(groups.length).toBeGreaterThan(1);
  expect(words.filter((word, at) => words.indexOf(word) !== at)).toEqual([]);
});

describe.each(groups)("$title", ({ lines }) => {
  it("explains one word in each line, and names its file", () => {
    expect(lines.filter((line) => !LINE.test(line))).toEqual([]);
  });

  it("is in alphabetical order", () => {
    const words = wordsOf(lines);
    expect(words).toEqual(words.toSorted());
  });
});
