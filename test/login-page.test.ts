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

test("the page has the numbers of the code", () => {
  const source = ["find-client", "client-tables"].map((name) => read(`src/login/server/${name}.ts`)).join("\n");
  const constant = (name: string) => new RegExp(`const ${name} = (.+);`).exec(source)?.[1];
  expect(
    ["MOST_A_MINUTE", "LAST_GOOD_MS", "MOST_DOCUMENT_BYTES", "LEAST_KEPT_S", "MOST_KEPT_S", "MOST_CLIENTS"].map(
      constant,
    ),
  ).toEqual(["30", "30 * 86_400_000", "5 * 1024", "300", "86_400", "2000"]);
  for (const said of ["30 clients a minute", "for 30\n  days", "5 KiB", "5 minutes", "a day", "2,000 clients"]) {
    expect(page).toContain(said);
  }
});
