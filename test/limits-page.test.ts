// docs/limits.md says of each limit what the code does, and wrangler.toml shows the limiter that the code counts in.

import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { EDGE_PARTS } from "../src/limits/bucket.ts";
import { LIMIT_NAMES, LIMITS } from "../src/limits/limit-table.ts";
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

test("the page has what nobody raises, with its number", () => {
  const rows = new Map(rowsUnder("| fixed ").map(([what = "", number = ""]) => [what, number]));
  expect(rows.get("messages of a batch")).toBe(shown(MAX_BATCH));
  expect(rows.get("bytes of a URI")).toBe(shown(MAX_URI_BYTES));
  expect(rows.get("objects and lists in a body, or in one message of an upstream")).toBe(shown(MAX_CONTAINERS));
  expect(rows.get("resources that one stream listens to")).toBe(shown(MAX_LISTENED_URIS));
});

/** A whole number of a file that needs the platform; a product as it is written there. */
function numberIn(path: string, name: string): number {
  const [, written = ""] = new RegExp(`\\b${name} = ([\\d_ *]+);`).exec(read(path)) ?? [];
  return written.split("*").reduce((product, factor) => product * Number(factor.replaceAll("_", "")), 1);
}

test("the page has what is kept of what is noted, with its number", () => {
  const rows = new Map(rowsUnder("| fixed ").map(([what = "", number = ""]) => [what, number]));
  const usage = "src/records/usage-tables.ts";
  const calls = "src/records/call-audit-tables.ts";
  const faults = "src/tenants/authority/fault-tables.ts";
  const kept: readonly (readonly [string, number])[] = [
    ["things that `usage()` tells apart in an hour; the others of it are one", numberIn(usage, "MOST_THINGS")],
    ["days for which usage is told by the hour", numberIn(usage, "HOURS_KEPT") / 24],
    ["days for which usage is told by the day", numberIn(usage, "DAYS_KEPT")],
    ["recorded calls of a tenant", numberIn(calls, "MOST_CALLS")],
    ["bytes of recorded calls of a tenant", numberIn(calls, "MOST_CALL_BYTES")],
    [
      "characters of arguments that are recorded; of longer ones the digest",
      numberIn("src/records/redacted.ts", "MOST_ARGUMENTS"),
    ],
    ["messages that wait for webhooks of a tenant", numberIn("src/records/webhook-tables.ts", "MOST_WAITING")],
    ["errors that are kept of a tenant", numberIn(faults, "MOST_OF_TENANT")],
    ["errors that are kept for the platform", numberIn(faults, "MOST_OF_PLATFORM")],
  ];
  expect(kept.map(([what]) => [what, rows.get(what)])).toEqual(kept.map(([what, number]) => [what, shown(number)]));
});

test("the limiter that wrangler.toml shows counts in the parts in which the code reports", () => {
  expect(read("wrangler.toml")).toContain(`simple = { limit = ${EDGE_PARTS}, period = 60 }`);
  expect(page).toContain(`simple = { limit = ${EDGE_PARTS}, period = 60 }`);
});
