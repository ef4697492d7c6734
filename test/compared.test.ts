// What docs/compared.md says is what this project promises of itself; that it is what is found now, test/long looks at.

import { beforeAll, expect, test } from "vitest";
import { readComparison, type Rows } from "./support/compared-page.ts";

let page: Rows;
beforeAll(async () => {
  page = await readComparison();
});

test("no package needs fewer lines than tenantry, and the most mistakes are found by types or at start", () => {
  const numbers = (about: string) =>
    [...page].map(([name, said]) => {
      const cell = said.find((one) => one.startsWith(about));
      return [name, Number(cell?.split(": ")[1])] as const;
    });
  const others = (about: string) => numbers(about).filter(([name]) => name !== "tenantry");
  const ours = (about: string) => new Map(numbers(about)).get("tenantry");
  expect(page.size).toBe(4);
  const [lines, early] = ["lines of code of the whole server", "how many of the 10 mistakes are found"] as const;
  expect(ours(lines)).toBeLessThanOrEqual(Math.min(...others(lines).map(([, number]) => number)));
  expect(ours(early)).toBeGreaterThan(Math.max(...others(early).map(([, number]) => number)));
});
