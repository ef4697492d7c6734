// That no folder of tests is left out where types are checked: what a test calls otherwise than it is may pass for ever.
import { readdirSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";

/** Programs of their own, with packages that are installed only where they run. */
const ELSEWHERE = ["foreign", "browser", "client-builds"];

it("every folder of tests is type-checked", () => {
  const included = ["tsconfig.json", "tsconfig.worker.json"].flatMap((name) => {
    const { include } = JSON.parse(readFileSync(new URL(name, import.meta.url), "utf8")) as { include: string[] };
    return include;
  });
  const folders = readdirSync(new URL(".", import.meta.url), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name);
  expect(folders.filter((name) => !included.includes(name) && !ELSEWHERE.includes(name))).toEqual([]);
});
