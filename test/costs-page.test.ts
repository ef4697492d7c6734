// docs/costs.md says what was counted, and a month costs no more than it may.

import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import type { BilledTable } from "../scripts/costs/billed.ts";
import { reckonMonth } from "../scripts/costs/month.ts";
import { costsPage } from "../scripts/costs/page.ts";

const MOST_USD = 150;
const read = (path: string) => readFileSync(new URL(`../${path}`, import.meta.url), "utf8");
const table = JSON.parse(read("scripts/costs/billed.json")) as BilledTable;

/** The formatter lays out tables. */
const laidOut = (text: string) => text.replace(/ +\|/g, " |").replace(/-{3,}/g, "---");

test("the page of costs is made of what was counted: npx node scripts/costs.ts", () => {
  expect(laidOut(read("docs/costs.md"))).toBe(laidOut(costsPage(table)));
});

test("a month of 500 tenants, five million calls a day and 5,000 streams costs no more than it may", () => {
  expect(reckonMonth(table).total).toBeLessThanOrEqual(MOST_USD);
});
