// docs/compared.md says of every package what is so, in the versions that bench/authors/package.json names.

import { join } from "node:path";
import { expect, test } from "vitest";
import { peers } from "../../bench/authors/comparing.ts";
import { measureComparison, readComparison } from "../support/compared-page.ts";
import { installPackages } from "../support/install-packages.ts";

test("the page says of each package what is found now", async () => {
  await installPackages(join(import.meta.dirname, "../../bench/authors"));
  const found = await measureComparison(["tenantry", "fastmcp", "mcp-lite", "sdk"], await peers());
  expect(found).toEqual(await readComparison());
});
