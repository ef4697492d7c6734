// docs/commands.md: every command of the command line with its options, from its own help.

import type { Command } from "commander";
import { createProgram } from "../../src/cli/program.ts";
import type { Terminal } from "../../src/cli/terminal/terminal.ts";
import { table } from "./table.ts";

const HEAD = `# Commands

This page lists every command of \`tenantry\` with its options. Programs use the [admin API](admin-api.md). \`tenantry\` stands for \`npm run -s tenantry --\` in a checkout. \`npm run reference\` writes this page from the sources.

\`\`\`text
tenantry help                  first steps
tenantry help key create       a command, with examples
tenantry help configuration    the server and the token of a command
\`\`\``;

interface Form {
  readonly path: string;
  readonly command: Command;
}

export function commandsPage(): string {
  const program = createProgram({ stdout: {}, stderr: {} } as Terminal);
  const groups = program.commands
    .filter((one) => !one.name().startsWith("_") && one.name() !== "help")
    .toSorted((a, b) => (a.name() < b.name() ? -1 : 1));
  const common = table(["option of every command", "meaning"], program.options.map(optionRow));
  return `${[HEAD, common, ...groups.map(section)].join("\n\n")}\n`;
}

function section(group: Command): string {
  const forms = formsOf(group, group.name());
  const rows = forms.flatMap(({ path, command }) => [
    [code(["tenantry", path, ...command.registeredArguments.map(argumentText)].join(" ")), cell(command.description())],
    ...command.options.filter(({ hidden }) => !hidden).map(optionRow),
  ]);
  return `## ${group.name()}\n\n${table(["command or option", "meaning"], rows)}`;
}

function formsOf(command: Command, path: string): Form[] {
  if (command.commands.length === 0) return [{ path, command }];
  return command.commands.flatMap((one) => formsOf(one, `${path} ${one.name()}`));
}

function optionRow({ flags, description }: Command["options"][number]): string[] {
  return [code(flags), cell(description)];
}

function argumentText(argument: Command["registeredArguments"][number]): string {
  const name = argument.name() + (argument.variadic ? "..." : "");
  return argument.required ? `<${name}>` : `[${name}]`;
}

const code = (text: string) => `\`${text.replaceAll("|", "\\|")}\``;
const cell = (text: string) => text.replaceAll(/[|<*]/g, "\\$&").replaceAll("\n", " ");
