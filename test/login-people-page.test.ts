// docs/login-people.md shows what the clients send that a test signs in as, and the numbers that hold for them.

import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { cellsOf, KNOWN_CLIENTS } from "./support/known-clients.ts";

const read = (path: string) => readFileSync(new URL(`../${path}`, import.meta.url), "utf8");
const page = read("docs/login-people.md");

test("the page has each client that a test signs in as, with what it sends", () => {
  const [, after = ""] = page.split("### What clients send");
  const rows = after.split("\n").filter((line) => line.startsWith("| "));
  const cells = rows.map((line) =>
    line
      .split("|")
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
  expect(cells.slice(2)).toEqual(KNOWN_CLIENTS.map(cellsOf));
});
