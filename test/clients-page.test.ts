// docs/clients.md keeps to what there is: each client, under its name, with the file that its recipe names; and each step of doctor.

import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { recipeFor, RECIPES } from "../src/protocol/connect/recipes.ts";
import { blocksIn } from "./support/page-blocks.ts";

const ROOT = join(import.meta.dirname, "..");
const page = readFileSync(join(ROOT, "docs/clients.md"), "utf8");

interface Row {
  readonly first: string;
  readonly second: string;
  readonly third: string;
}

/** Of the table under that head. */
function rowsUnder(head: RegExp): Row[] {
  const table = page.split(head)[1]?.split("\n\n")[0] ?? "";
  return table.split("\n").flatMap((line) => {
    const [, first = "", second = "", third = ""] = line.split("|").map((cell) => cell.trim());
    return line.startsWith("| `") ? [{ first, second, third }] : [];
  });
}

const clients = rowsUnder(/^\| client .*$/m);
const DEMO = { name: "demo", url: "http://localhost:8362/mcp/demo", access: { kind: "open" } } as const;
const ANYBODY = { name: "x", url: "http://localhost/mcp/x", access: { kind: "open" } } as const;

describe("docs/clients.md", () => {
  it("has a row for each client, and no other", () => {
    expect(clients.map(({ first }) => first)).toEqual(RECIPES.map(({ client }) => `\`${client}\``));
  });

  it.each(RECIPES)("says where $client is told of the endpoint", ({ client, title, snippet }) => {
    const row = clients.find(({ first }) => first === `\`${client}\``);
    const { file } = snippet(ANYBODY);
    expect(row?.second).toBe(title);
    expect(row?.third).toContain(file === undefined ? "a command" : `\`${file}\``);
  });

  it.each(["claude-code", "vscode", "cursor", "inspector", "sdk-v2", "sdk-v1"])(
    "shows by hand what connect prints for %s",
    (client) => {
      const { text = "", language } = recipeFor(client)?.snippet(DEMO) ?? {};
      const shown = blocksIn("docs/clients.md", page).filter((block) => block.language === language);
      const plain = (one: string) => (language === "json" ? JSON.stringify(JSON.parse(one)) : one.trim());
      expect(shown.map((block) => plain(block.text))).toContain(plain(text));
    },
  );

  it("has every step that doctor takes", () => {
    const sources = globSync("src/clients/cli/doctor/*.ts", { cwd: ROOT }).map((file) =>
      readFileSync(join(ROOT, file), "utf8"),
    );
    const taken = sources.flatMap((text) => [
      ...text.matchAll(/(?:const (?:step|ENTRANCE) = |ok\(|failed\(|skipped\()"([^":]+)/g),
    ]);
    const steps = new Set(taken.map(([, step = ""]) => step));
    const shown = rowsUnder(/^\| step .*$/m).flatMap(({ first }) =>
      [...first.matchAll(/`([^`]+)`/g)].map(([, step]) => step),
    );
    expect(steps.size).toBeGreaterThan(8);
    const ofTools = new Set(["definitions", "names of tools"]);
    expect([...steps].filter((step) => !ofTools.has(step) && !shown.includes(step))).toEqual([]);
  });
});
