// docs/how-it-works.md shows two ways through the Worker. Each stop must be a file, reached from an earlier one.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { importsOf } from "./support/imports.ts";

const ROOT = join(import.meta.dirname, "..");
const page = readFileSync(join(ROOT, "docs/how-it-works.md"), "utf8");

interface Stop {
  readonly file: string;
  readonly port: string | undefined;
}

function stopsIn(section: string): Stop[] {
  return [...section.matchAll(/^\d+\. `([^`]+)`(?: \(port: `([^`]+)`\))?/gm)].map(([, file = "", port]) => ({
    file: `src/${file}`,
    port: port === undefined ? undefined : `src/${port}`,
  }));
}

function imports(file: string): readonly (string | undefined)[] {
  return importsOf(file, readFileSync(join(ROOT, file), "utf8")).map(({ target }) => target);
}

/** The stops that nothing before them leads to. */
function unreached(stops: readonly Stop[]): string[] {
  return stops
    .filter(({ file, port }, at) => {
      if (at === 0) return false;
      const before = stops.slice(0, at).map((stop) => stop.file);
      if (port === undefined) return !before.some((earlier) => imports(earlier).includes(file));
      const known = before.some((earlier) => earlier === port || imports(earlier).includes(port));
      return !known || !imports(file).includes(port);
    })
    .map(({ file }) => file);
}

const ways = page.split(/^## /m).slice(1);

describe.each(ways.map((section) => [section.slice(0, section.indexOf("\n")), section]))("%s", (_title, section) => {
  it("is a list of files, each reached from one before it", () => {
    const stops = stopsIn(section);
    expect(stops.length).toBeGreaterThan(10);
    expect(unreached(stops)).toEqual([]);
  });

  it("would be red with a stop that nothing leads to", () => {
    const [first, ...rest] = stopsIn(section);
    const stray = { file: "src/protocol/nearest.ts", port: undefined };
    expect(unreached([first ?? stray, stray, ...rest])).toEqual([stray.file]);
  });
});

it("shows both eras", () => {
  expect(ways.map((section) => section.slice(0, section.indexOf("\n")))).toEqual([
    "A call in 2026-07-28",
    "A question in 2025-11-25",
  ]);
});
