// docs/limits.md says of each limit what the code does, and wrangler.toml shows the limiter that the code counts in.

import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { PLATFORM_PARTS } from "../src/limits/bucket.ts";
import { LIMIT_NAMES, LIMITS } from "../src/limits/limit-definitions.ts";
import { MAX_BATCH } from "../src/protocol/classify.ts";
import { MAX_CONTAINERS } from "../src/protocol/jsonrpc.ts";
import { MAX_LISTENED_URIS } from "../src/protocol/methods/subscriptions.ts";
import { MAX_URI_BYTES } from "../src/protocol/uri.ts";

const read = (path: string) => readFileSync(new URL(`../${path}`, import.meta.url), "utf8");
const page = read("docs/limits.md");

/** The cells of each line of the table that begins with this header. */
function rowsUnder(header: string): string[][] {
  const [, after = ""] = page.split(header);
  const [table = ""] = after.split("\n\n");
  return table
    .split("\n")
    .slice(2)
    .map((line) =>
      line
        .split("|")
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );
}

const shown = (value: number) => (value === Infinity ? "none" : value.toLocaleString("en-US"));

test("the page has each limit of the table, with its number, its unit, who may raise it, and what it counts", () => {
  const rows = rowsUnder("| limit ");
  expect(rows).toEqual(
    LIMIT_NAMES.map((name) => {
      const { initial, unit, raise, about } = LIMITS[name];
      return [`\`${name}\``, shown(initial), unit, raise, about];
    }),
  );
});

test("the page has the fixed limits, with their numbers", () => {
  const rows = new Map(rowsUnder("| fixed ").map(([what = "", number = ""]) => [what, number]));
  expect(rows.get("messages of a batch")).toBe(shown(MAX_BATCH));
  expect(rows.get("bytes of a URI")).toBe(shown(MAX_URI_BYTES));
  expect(rows.get("objects and lists in a body, or in one message of an upstream")).toBe(shown(MAX_CONTAINERS));
  expect(rows.get("resources that one stream listens to")).toBe(shown(MAX_LISTENED_URIS));
});

test("the limiter that wrangler.toml shows counts in the parts in which the code reports", () => {
  expect(read("wrangler.toml")).toContain(`simple = { limit = ${PLATFORM_PARTS}, period = 60 }`);
  expect(page).toContain(`simple = { limit = ${PLATFORM_PARTS}, period = 60 }`);
});
