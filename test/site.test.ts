import { globSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { sidebar } from "../site/sidebar.ts";

test("the sidebar of the site has every page of docs/ once, and no other", () => {
  const links = sidebar.flatMap(({ items }) => items.map(({ link }) => link));
  const pages = globSync("docs/**/*.md", { cwd: join(import.meta.dirname, "..") });
  expect(links.filter((link) => link.startsWith("/docs/")).toSorted()).toEqual(
    pages.map((page) => `/${page.slice(0, -".md".length)}`).toSorted(),
  );
});
