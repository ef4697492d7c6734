// What the pages tell somebody to type is there: each command with its options, and what people see in the words of the source.

import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Command } from "commander";
import { describe, expect, it } from "vitest";
import { createProgram } from "../src/cli/program.ts";
import type { Terminal } from "../src/cli/terminal/terminal.ts";

const ROOT = join(import.meta.dirname, "..");
const read = (file: string) => readFileSync(join(ROOT, file), "utf8");
const program = createProgram({ stdout: {}, stderr: {} } as Terminal);

/** In a line of its own or between backticks; what follows a `|`, `#` or `\` is no part of it. */
const COMMAND = /(?:^ *(?:[A-Z_]+=\S+ )?|`|\| |\$\()(?:npm run (?:-s )?)?tenantry (?:-- )?([^`|#\\)\n]*)/gm;

function commandsIn(page: string): string[] {
  const found = [...page.matchAll(COMMAND)].map(([, words = ""]) => words.trim());
  // A sentence that begins with the name.
  return [...new Set(found)].filter((words) => words !== "" && isCommand(words.split(" ")[0] ?? ""));
}

const isCommand = (word: string) => program.commands.some((one) => one.name() === word);

/** What of it nobody could type, or what it lacks; undefined: nothing. */
function unknownIn(line: string): string | undefined {
  let command: Command = program;
  const words: string[] = line.match(/"[^"]*"|'[^']*'|\S+/g) ?? [];
  for (const word of words) {
    const known = [command, ...parentsOf(command)].flatMap((one) => [...one.options]);
    if (word.startsWith("--")) {
      if (!known.some(({ long }) => long === word.split("=")[0])) return word;
    } else if (command.commands.length > 0) {
      const next = command.commands.find((one) => one.name() === word);
      if (next === undefined) return command === program && word === "COMMAND" ? undefined : word;
      command = next;
    }
  }
  return lackingIn(command, words);
}

/** Of a command that is shown with what it is about; its bare name is a mention. */
function lackingIn(command: Command, words: readonly string[]): string | undefined {
  const end = words.findIndex((word) => /^[<>&;[]/.test(word));
  const said = end === -1 ? words : words.slice(0, end);
  const flags = said.map((word) => word.split("=")[0]);
  const takesNext = (flag: string | undefined) =>
    flag?.startsWith("-") === true && optionOf(command, flag)?.isBoolean() === false && !said.includes(`${flag}=`);
  const given = said
    .filter((word, at) => !/^-./.test(word) && !takesNext(said[at - 1]))
    .slice(parentsOf(command).length);
  if (command.commands.length > 0 || given.length === 0) return undefined;
  const { registeredArguments: wanted } = command;
  const least = wanted.filter(({ required }) => required).length;
  const most = wanted.some(({ variadic }) => variadic) ? Infinity : wanted.length;
  if (given.length < least || given.length > most) return `${given.length} arguments`;
  const left = command.options.find(
    ({ mandatory, long, short }) => mandatory && !flags.some((one) => one === long || one === short),
  );
  return left === undefined ? undefined : `no ${left.long}`;
}

function optionOf(command: Command, flag: string) {
  return [command, ...parentsOf(command)]
    .flatMap((one) => [...one.options])
    .find(({ long, short }) => flag === long || flag === short);
}

function parentsOf({ parent }: Command): Command[] {
  return parent ? [parent, ...parentsOf(parent)] : [];
}

describe("a command that a page shows", () => {
  const shown = globSync(["README.md", "SECURITY.md", "docs/*.md"], { cwd: ROOT }).flatMap((page) =>
    commandsIn(read(page)).map((line) => ({ page, line })),
  );

  it("is checked word by word", () => {
    expect(shown).not.toEqual([]);
    expect(unknownIn("upstream adds acme")).toBe("adds");
    expect(unknownIn("upstream add acme x --heade y")).toBe("--heade");
    expect(unknownIn("key create acme ci")).toBe("2 arguments");
    expect(unknownIn("key create acme")).toBe("no --name");
    expect(unknownIn("key create acme -n ci > key.txt")).toBeUndefined();
  });

  it("exists, with its options and arguments", () => {
    const wrong = shown.map((one) => ({ ...one, unknown: unknownIn(one.line) }));
    expect(wrong.filter(({ unknown }) => unknown !== undefined)).toEqual([]);
  });
});

describe("a command that a message names", () => {
  const named = globSync("src/**/*.ts", { cwd: ROOT }).flatMap((file) =>
    [
      ...read(file)
        .replaceAll(/^\s*(?:\/\/|\/?\*).*$/gm, "")
        .matchAll(/\btenantry ((?:[a-z][a-z-]+ )*[a-z][a-z-]+)/g),
    ].flatMap(([, words = ""]) => {
      const [first = "", second = ""] = words.split(" ");
      return isCommand(first) && second !== "" ? [{ file, first, second }] : [];
    }),
  );
  const isGroup = (name: string) => (program.commands.find((one) => one.name() === name)?.commands.length ?? 0) > 0;
  const groups = named.filter(({ first }) => isGroup(first));

  it("exists in its group", () => {
    expect(groups).not.toEqual([]);
    const has = (first: string, second: string) =>
      program.commands.find((one) => one.name() === first)?.commands.some((one) => one.name() === second);
    expect(groups.filter(({ first, second }) => !has(first, second))).toEqual([]);
  });
});

describe("docs/troubleshooting.md", () => {
  const rows = read("docs/troubleshooting.md")
    .split("\n")
    .filter((line) => line.startsWith("| "));
  const seen = rows.flatMap((row) =>
    [...(row.split("|")[1] ?? "").matchAll(/`([^`]+)`/g)].map(([, text = ""]) => text),
  );
  const sources = globSync(["src/**/*.ts", "scripts/start.ts"], { cwd: ROOT }).map(read).join("\n");

  it("quotes messages in the words of the source", () => {
    expect(seen).not.toEqual([]);
    // In capitals, in brackets and after a colon stands what differs from one time to another.
    const words = seen
      .flatMap((text) => text.split(/\b[A-Z]{2,}\b|\(\.\.\.\)|\.\.\.|: |40\d|\bN s\b/))
      .map((part) => part.trim());
    expect(words.filter((part) => part.length > 5 && !sources.includes(part))).toEqual([]);
  });
});
