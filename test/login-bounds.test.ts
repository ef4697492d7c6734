// The tables of login's bounds are those of src: whoever adds one there is told here to add a case of it, and whoever takes
// one away, or changes its number, too.

import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { ASKED, boundsInSource, KEPT } from "./support/login-bounds.ts";

test("each bound that src has is in one of the tables, with its number", () => {
  const kept = Object.entries(KEPT).map(([name, { most }]) => [name, most]);
  expect(boundsInSource()).toEqual({ ...ASKED, ...Object.fromEntries(kept) });
});

test.each(Object.entries(KEPT))("%s has a test that meets it", (_name, { file, title }) => {
  const text = readFileSync(new URL(`${file}.test.ts`, import.meta.url), "utf8");
  expect(text).toContain(`"${title}"`);
});
