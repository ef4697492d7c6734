// docs/clients-in-the-wild.md shows what a test sends, row by row.

import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { rowOf } from "./endpoint/clients-in-the-wild/row.ts";
import { WILD_CLIENTS } from "./endpoint/clients-in-the-wild/rows.ts";

const page = readFileSync(new URL("../docs/clients-in-the-wild.md", import.meta.url), "utf8");

test("the page has each row that is sent", () => {
  const rows = page.split("\n").filter((line) => line.startsWith("| "));
  const cells = rows.map((line) =>
    line
      .split("|")
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
  expect(cells.slice(2)).toEqual(WILD_CLIENTS.map(rowOf));
});
