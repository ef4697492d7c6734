// docs/clients.md keeps to what there is: each client, under its name, with the file that its recipe names.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { findRecipe, RECIPES } from "../src/connect/recipes/recipes.ts";
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
  it("has a row for each client, which says where the endpoint is written down", () => {
    expect(clients).toEqual(
      RECIPES.map(({ client, title, snippet }) => {
        const { file } = snippet(ANYBODY);
        const third = expect.stringContaining(file === undefined ? "a command" : `\`${file}\``) as string;
        return { first: `\`${client}\``, second: title, third };
      }),
    );
  });

  it.each(["claude-code", "vscode", "cursor", "inspector", "sdk-v2", "sdk-v1"])(
    "shows by hand what connect prints for %s",
    (client) => {
      const { text = "", language } = findRecipe(client)?.snippet(DEMO) ?? {};
      const shown = blocksIn("docs/clients.md", page).filter((block) => block.language === language);
      const plain = (one: string) => (language === "json" ? JSON.stringify(JSON.parse(one)) : one.trim());
      expect(shown.map((block) => plain(block.text))).toContain(plain(text));
    },
  );
});
