// docs/clients-tried.md names the builds that are tried, at the versions of the lock: who changes one runs `npm run clients -- --write`.

import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { allBuilds, STEPS } from "../scripts/clients/builds.ts";

const PAGE = readFileSync(new URL("../docs/clients-tried.md", import.meta.url), "utf8");
const rows = [...PAGE.matchAll(/^\| `(.+)$/gm)].map(([line]) => line.split("|").map((cell) => cell.trim()));

test("the page has a row for every build, with its version and what it cannot do", () => {
  const shown = rows.map(([, client = "", version = "", era = "", ...cells]) => ({
    name: [`${client.replaceAll("`", "")}@${version}`, ...(era === "" ? [] : [`in ${era}`])].join(" "),
    cannot: STEPS.filter((_step, at) => cells[at] !== "yes"),
  }));
  const tried = allBuilds().map(({ name, cannot }) => ({ name, cannot: STEPS.filter((step) => step in cannot) }));
  expect(shown).toEqual(tried);
});

test("every reason that a client cannot do something stands on the page", () => {
  for (const reason of allBuilds().flatMap(({ cannot }) => Object.values(cannot))) expect(PAGE).toContain(reason);
});
