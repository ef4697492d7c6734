// What the pages tell somebody to type is there: each command with its options, and what people see in the words of the source.

import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Command } from "commander";
import { describe, expect, it } from "vitest";
import { createProgram } from "../src/clients/cli/program.ts";
import type { Terminal } from "../src/clients/cli/terminal/terminal.ts";

const ROOT = join(import.meta.dirname, "..");
const read = (file: string) => readFileSync(join(ROOT, file), "utf8");
const program = createProgram({ stdout: {}, stderr: {} } as Terminal);

/** In a line of its own or between backticks; what follows a `|`, `#` or `\` is no part of it. */
const COMMAND = /(?:^ *(?:[A-Z_]+=\S+ )?|`|\| |\$\()(?:npm run )?tenantry (?:-- )?([^`|#\\)\n]*)/gm;

function commandsIn(page: string): string[] {
  const found = [...page.matchAll(COMMAND)].map(([, words = ""]) => words.trim());
  // A sentence that begins with the name.
  return [...new Set(found)].filter((words) => words !== "" && isCommand(words.split(" ")[0] ?? ""));
}

const isCommand = (word: string) => program.commands.some((one) => one.name() === word);

/** What of it nobody could type; undefined: nothing. */
function unknownIn(line: string): string | undefined {
  let command: Command = program;
  for (const word of line.match(/"[^"]*"|\S+/g) ?? []) {
    const known = [command, ...parentsOf(command)].flatMap((one) => [...one.options]);
    if (word.startsWith("--")) {
      if (!known.some(({ long }) => long === word.split("=")[0])) return word;
    } else if (command.commands.length > 0) {
      const next = command.commands.find((one) => one.name() === word);
      if (next === undefined) return command === program && word === "COMMAND" ? undefined : word;
      command = next;
    }
  }
  return undefined;
}

function parentsOf({ parent }: Command): Command[] {
  return parent ? [parent, ...parentsOf(parent)] : [];
}

describe("a command that a page shows", () => {
  const shown = globSync(["README.md", "SECURITY.md", "docs/*.md"], { cwd: ROOT })
    .filter((page) => !page.includes("founding"))
    .flatMap((page) => commandsIn(read(page)).map((line) => ({ page, line })));

  it("is found where there are some", () => {
    expect(shown.length).toBeGreaterThan(50);
    expect(unknownIn("upstream adds acme")).toBe("adds");
    expect(unknownIn("upstream add acme x --heade y")).toBe("--heade");
  });

  it.each(shown)("in $page is there, with its options: $line", ({ line }) => {
    expect(unknownIn(line)).toBeUndefined();
  });
});

describe("docs/troubleshooting.md", () => {
  const rows = read("docs/troubleshooting.md")
    .split("\n")
    .filter((line) => line.startsWith("| "));
  const seen = rows.flatMap((row) =>
    [...(row.split("|")[1] ?? "").matchAll(/`([^`]+)`/g)].map(([, text = ""]) => text),
  );
  const sources = globSync("src/**/*.ts", { cwd: ROOT }).map(read).join("\n");

  it.each(seen)("has what people see in the words of the source: %s", (text) => {
    // In capitals, in brackets and after a colon stands what differs from one time to another.
    const words = text.split(/\b[A-Z]{2,}\b|\(\.\.\.\)|\.\.\.|: |40\d|\bN s\b/).map((part) => part.trim());
    expect(words.filter((part) => part.length > 5 && !sources.includes(part))).toEqual([]);
  });

  it("is about more than ten", () => {
    expect(seen.length).toBeGreaterThan(10);
  });
});
