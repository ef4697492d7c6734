// The handbook cut into the pages that the demo tenant stores at its first start.
import { describe, expect, test } from "vitest";
import handbook from "../../src/demo/handbook.md?raw";
import { handbookPages } from "../../src/demo/handbook-pages.ts";
import { VERSION_2026, VERSIONS_2025 } from "../../src/protocol/revisions.ts";

describe("pages of a document", () => {
  const pages = handbookPages(
    [
      "# Project",
      "",
      "What it is. More.",
      "",
      "## Start here",
      "",
      "```sh",
      "## not a heading",
      "```",
      "",
      "Run it.",
      "### Detail",
      "Text.",
      "## Limits & plans ##",
      "None known.",
      "## Start here",
      "Again.",
      "## Empty",
      "",
    ].join("\n"),
  );

  test("each section is one page, in order, under a slug of its own", () => {
    expect(pages.map(({ uri }) => uri)).toEqual([
      "docs://tenantry/project",
      "docs://tenantry/start-here",
      "docs://tenantry/limits-plans",
      "docs://tenantry/start-here-2",
    ]);
    expect(pages.map(({ priority }) => priority)).toEqual([1, 0.83, 0.67, 0.5]);
  });

  test("a page is Markdown with its heading, its whole text and its first sentence", () => {
    expect(pages[1]).toMatchObject({
      name: "start-here",
      title: "Start here",
      description: "Run it.",
      mimeType: "text/markdown",
      text: "# Start here\n\n```sh\n## not a heading\n```\n\nRun it.\n### Detail\nText.\n",
    });
    expect(pages[0]).toMatchObject({ title: "Project", description: "What it is." });
  });

  test("a document without headings is one page, an empty one none", () => {
    expect(handbookPages("Just text.")).toMatchObject([{ uri: "docs://tenantry/introduction", priority: 1 }]);
    expect(handbookPages("")).toEqual([]);
  });
});

test("the handbook gives pages with distinct URIs, titles and descriptions", () => {
  const pages = handbookPages(handbook);
  expect(pages.length).toBeGreaterThan(5);
  expect(new Set(pages.map(({ uri }) => uri)).size).toBe(pages.length);
  for (const page of pages) {
    expect(page.title).toBeTruthy();
    expect(page.description, page.uri).not.toBe(page.title);
  }
});

test("the handbook names every revision that is served", () => {
  for (const revision of [...VERSIONS_2025, VERSION_2026]) expect(handbook).toContain(revision);
});
