// The help teaches: every command has examples, and every example is a command line that this program understands. Those in the
// pages: test/pages-commands.test.ts.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Command } from "commander";
import { expect, test } from "vitest";
import { Document } from "../../../src/admin/contract.ts";
import { Profile, Upstream } from "../../../src/admin/document-schema.ts";
import { createProgram } from "../../../src/cli/program.ts";
import type { Terminal } from "../../../src/cli/terminal/terminal.ts";
import { commandLine } from "../../support/command-line.ts";

type Json = Record<string, string>;

interface Leaf {
  readonly path: string;
  readonly command: Command;
}

function leaves(command: Command, path: readonly string[] = []): Leaf[] {
  return command.commands.flatMap((one) => {
    const here = [...path, one.name()];
    return one.commands.length > 0 ? leaves(one, here) : [{ path: here.join(" "), command: one }];
  });
}

const COMMANDS = leaves(createProgram({ stdout: {}, stderr: {} } as Terminal)).filter(
  ({ path }) => path !== "help" && !path.startsWith("_"),
);

/** The words of a command line, without what a shell would make of pipes, comments and substitutions. */
function wordsOf(example: string): string[] {
  const line = example.replace(/^.*?\btenantry /, "").split(/ {2,}|(?: [|<>]|&&|\)).*$/)[0] ?? "";
  return [...line.matchAll(/(?:[^\s"']|"[^"]*"|'[^']*')+/g)].map(([word]) => word.replaceAll(/["']/g, ""));
}

test.each(COMMANDS)("help $path shows examples that are command lines of it", async ({ path, command }) => {
  const { cli } = await commandLine();
  const { exit, stdout, stderr } = await cli.run(["help", ...path.split(" ")]);
  expect({ exit, stderr }).toEqual({ exit: 0, stderr: "" });
  const [, examples = ""] = stdout.split("\nExamples:\n");
  const lines = examples.split("\n").filter((line) => /^ {2}\S.*\btenantry |^ {2}tenantry /.test(line));
  expect(lines).not.toEqual([]);
  for (const line of lines) {
    const found = commandOf(wordsOf(line));
    expect(found.unknown, line).toEqual([]);
  }
  expect(command.description()).not.toBe("");
});

/** Looked up by hand rather than parsed, because parsing would run it. */
function commandOf(words: readonly string[]): { unknown: string[] } {
  let command = createProgram({ stdout: {}, stderr: {} } as Terminal);
  const globals = command.options;
  const unknown: string[] = [];
  for (const word of words) {
    const next = command.commands.find((one) => one.name() === word);
    if (next) command = next;
    const known = [...command.options, ...globals].some(({ short, long }) => [short, long].includes(word));
    if (word.startsWith("-") && word !== "-" && !known) unknown.push(word);
  }
  return command.parent === null || command.commands.length > 0 ? { unknown: [...words] } : { unknown };
}

test("a required option is marked", async () => {
  const { cli } = await commandLine();
  const { stdout } = await cli.run(["help", "suspend"]);
  expect(stdout).toMatch(/--note <text> +required: a text for callers$/m);
  expect(stdout.match(/required/g)).toHaveLength(1);
});

test("tenantry alone and tenantry --help show all commands in groups and the first steps", async () => {
  const { cli } = await commandLine();
  const alone = await cli.run([]);
  expect(alone).toEqual(await cli.run(["--help"]));
  expect(alone.exit).toBe(0);
  for (const word of ["Tenants:", "apply ", "First steps", "exit-codes"]) expect(alone.stdout).toContain(word);
  expect(alone.stdout).not.toContain("__complete");
});

test("--version prints the version of the package", async () => {
  const { cli } = await commandLine();
  const { version } = JSON.parse(await readFile(join(import.meta.dirname, "../../../package.json"), "utf8")) as Json;
  expect(await cli.run(["--version"])).toEqual({ exit: 0, stdout: `${version}\n`, stderr: "" });
});

test.each(["document", "configuration", "local-clients", "exit-codes", "exit codes"])(
  "help %s explains it",
  async (topic) => {
    const { cli } = await commandLine();
    const { exit, stdout } = await cli.run(["help", ...topic.split(" ")]);
    expect(exit).toBe(0);
    expect(stdout.length).toBeGreaterThan(300);
  },
);

test("the document that help shows is one that the contract accepts", async () => {
  const { admin, cli } = await commandLine();
  const { stdout } = await cli.run(["help", "document"]);
  const yaml = stdout.split("\n\n")[1]?.replaceAll(/^ {2}/gm, "");
  const ended = await cli.run(["apply", "-f", "-"], { stdin: yaml ?? "" });
  expect(ended).toMatchObject({ exit: 0, stderr: "" });
  expect(admin.tenants.get("acme")?.birth).toEqual({ region: "weur" });
});

test("the document that help shows has every member that the contract knows", async () => {
  const { cli } = await commandLine();
  const { stdout } = await cli.run(["help", "document"]);
  const shown = [...stdout.matchAll(/^ {2}(\w+):/gm)].map(([, member = ""]) => member);
  const known = Object.keys(Document.shape);
  expect(known.filter((member) => !shown.includes(member))).toEqual([]);
  for (const inner of [Profile, Upstream, Upstream.shape.auth.unwrap()]) {
    const unsaid = Object.keys(inner.shape).filter((member) => !new RegExp(`\\b${member}\\b`).test(stdout));
    expect(unsaid).toEqual([]);
  }
});

test("a group without a subcommand shows its help on stderr and is a usage error", async () => {
  const { cli } = await commandLine();
  const { exit, stdout, stderr } = await cli.run(["key"]);
  expect({ exit, stdout }).toEqual({ exit: 2, stdout: "" });
  expect(stderr).toContain("rotate");
});

test("the configuration that help and docs/stdio.md show for a local client is JSON that starts this program", async () => {
  const { cli } = await commandLine();
  const { stdout } = await cli.run(["help", "local-clients"]);
  const page = await readFile(join(import.meta.dirname, "../../../docs/stdio.md"), "utf8");
  const blocks = [...page.matchAll(/```json\n(.*?)```/gs)].map(([, json = ""]) => json);
  const shown = [stdout.split("\n\n")[1] ?? "", ...blocks.filter((json) => json.includes('"stdio"'))];
  expect(shown).toHaveLength(2);
  const starts = [
    ["node", "/PATH/TO/CHECKOUT/src/cli/main.ts"],
    ["node", "/PATH/TO/CHECKOUT/src/cli/main.ts"],
  ];
  for (const [index, text] of shown.entries()) {
    const start = starts[index] ?? [];
    const { mcpServers } = JSON.parse(text) as {
      mcpServers: Record<string, { command: string; args: string[] }>;
    };
    for (const { command, args } of Object.values(mcpServers)) {
      expect([command, ...args].slice(0, start.length)).toEqual(start);
      expect(args[start.length - 1]).toBe("stdio");
      expect(commandOf(args.slice(start.length - 1)).unknown).toEqual([]);
    }
  }
});

test("a command that takes a key or token as an option says in its help where else it can come from", async () => {
  const { cli } = await commandLine();
  for (const { path, command } of COMMANDS) {
    if (!command.options.some(({ flags }) => /--(?:key|token) <token>/.test(flags))) continue;
    const { stdout } = await cli.run(["help", ...path.split(" ")]);
    for (const other of ["TENANTRY_KEY", "--key-file <file>"]) expect(stdout, path).toContain(other);
    expect(stdout.split("\nExamples:")[1], path).not.toMatch(/--(?:key|token) \S/);
  }
  expect((await cli.run(["help"])).stdout.replaceAll(/\s+/g, " ")).toContain("prefer TENANTRY_TOKEN or login");
});

test("stdio does not read its key from the stdin that is its client's", async () => {
  const { cli } = await commandLine();
  const { exit, stderr } = await cli.run(["stdio", "acme", "--key-file", "-"], { stdin: "tnt_1\n" });
  expect({ exit, stderr }).toEqual({
    exit: 2,
    stderr: "tenantry: --key-file: must be a file, because the client uses stdin\n",
  });
});
