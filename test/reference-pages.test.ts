// The pages that are made from the sources are as `npm run reference` makes them now, and README leads to every page.

import { globSync, readFileSync, existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { laidOut, REFERENCE_PAGES } from "../scripts/reference/reference-pages.ts";
import { wordsOf } from "../scripts/reference/table.ts";

const ROOT = join(import.meta.dirname, "..");
const read = (file: string) => readFileSync(join(ROOT, file), "utf8");

it.each(Object.entries(REFERENCE_PAGES))("%s says what the sources say", (page, write) => {
  const isUpToDate = read(page) === laidOut(page, write());
  expect(isUpToDate, `${page} is out of date: run npm run reference, and look at the difference`).toBe(true);
});

it("a member without words, and words of no member, end it", () => {
  expect(wordsOf("member", { a: "x" }, ["a"])).toEqual([["a", "x"]]);
  expect(() => wordsOf("member", { a: "x" }, ["a", "b"])).toThrow("member without words: b");
  expect(() => wordsOf("member", { a: "x", b: "y" }, ["a"])).toThrow("words of no member: b");
});

it("docs/decisions.md has every decision", () => {
  const files = globSync("*.md", { cwd: join(ROOT, "docs/decisions") });
  expect(files.filter((file) => !read("docs/decisions.md").includes(`](decisions/${file})`))).toEqual([]);
});

describe("a link", () => {
  const pages = globSync(["*.md", "docs/*.md", "examples/*/README.md"], { cwd: ROOT });
  const links = pages.flatMap((page) =>
    [...read(page).matchAll(/\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)/g)].map(([, to = "", anchor]) => ({
      page,
      to: to === "" ? page : join(dirname(page), to),
      anchor,
    })),
  );

  it("leads to a file that is there, and to a heading of it", () => {
    expect(links).not.toEqual([]);
    const broken = links.filter(
      ({ to, anchor }) => !existsSync(join(ROOT, to)) || (anchor !== undefined && !hasHeading(to, anchor)),
    );
    expect(broken).toEqual([]);
  });

  it("leads from README to every page, by itself or by the page of the author's API", () => {
    const reached = new Set(
      links.filter(({ page }) => ["README.md", "docs/api.md"].includes(page)).map(({ to }) => to),
    );
    expect(globSync("docs/*.md", { cwd: ROOT }).filter((page) => !reached.has(page))).toEqual([]);
  });
});

/** As GitHub names headings. */
function hasHeading(file: string, anchor: string): boolean {
  const headings = [...read(file).matchAll(/^#+ (.+)$/gm)].map(([, heading = ""]) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
      .replaceAll(" ", "-"),
  );
  return headings.includes(anchor);
}
