// Finds the command of a command line before it is parsed: `key create` in `tenantry key create acme`.

import type { Command } from "commander";

export interface CommandMatch {
  readonly command: Command;
  /** The words of the command, such as `key create`; none for the program itself. */
  readonly words: readonly string[];
}

export function findCommand(program: Command, args: readonly string[]): CommandMatch {
  let command = program;
  const words = args.filter((arg) => {
    const next = command.commands.find((one) => one.name() === arg);
    command = next ?? command;
    return next !== undefined;
  });
  return { command, words };
}
