// What helps with an upstream that cannot be read: the command line and docs/gateway.md say the same, and no code goes without.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { upstreamHints } from "../../../src/cli/terminal/upstream-hints.ts";
import { CAUSES } from "../../../src/protocol/cause.ts";

const AT = { tenant: "acme", upstream: "tracker" };
const page = readFileSync(join(import.meta.dirname, "../../../docs/gateway.md"), "utf8");
const [, table = ""] = page.split(/^\| code +\| reason +\| remedy +\|\n/m);
const rows = (table.split("\n\n")[0] ?? "")
  .split("\n")
  .slice(1)
  .map((line) => line.split("|").map((cell) => cell.trim()))
  .map(([, code = "", , helps = ""]) => [plain(code), plain(helps)] as const);

/** Without backticks and addresses of links. */
function plain(cell: string): string {
  return cell.replaceAll(/`|\]\([^)]*\)|\[/g, "");
}

it("the page has a row for each code", () => {
  expect(rows.map(([code]) => code).toSorted()).toEqual(CAUSES.toSorted());
});

it.each(rows)("%s helps what the page says", (code, helps) => {
  expect(upstreamHints([{ code, name: "NAME" }], AT)).toBe(helps);
});

it("each of several causes is helped, and one that comes twice once", () => {
  expect(upstreamHints([{ code: "too-much" }, { code: "waiting" }, { code: "too-much" }], AT)).toBe(
    "ask the server's operator for a smaller list. tenantry upstream pending acme tracker, then approve or reject",
  );
});

it("nothing is made up for a code that a later server gives, nor where there is none", () => {
  for (const code of ["full-moon", "constructor"]) expect(upstreamHints([{ code }], AT)).toBeUndefined();
  expect(upstreamHints([], AT)).toBeUndefined();
});
