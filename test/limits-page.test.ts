// docs/limits.md and wrangler.toml show the rate limiter in which the code counts. `npm run reference` writes the tables of the page.

import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { PLATFORM_PARTS } from "../src/limits/bucket.ts";

const read = (path: string) => readFileSync(new URL(`../${path}`, import.meta.url), "utf8");

test("the limiter that wrangler.toml shows counts in the parts in which the code reports", () => {
  expect(read("wrangler.toml")).toContain(`simple = { limit = ${PLATFORM_PARTS}, period = 60 }`);
  expect(read("docs/limits.md")).toContain(`simple = { limit = ${PLATFORM_PARTS}, period = 60 }`);
});
