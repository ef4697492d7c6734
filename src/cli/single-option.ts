// Rejects a repeated single-value option: with `-f a.yaml -f b.yaml`, commander would silently drop the first.
// Repeatable options are recognized by their parser.

import type { Command } from "commander";
import { collectOption } from "./command-context.ts";
import { usageError } from "./exit.ts";

/** Applies to this command and its subcommands, for one run of the program. */
export function rejectRepeatedOptions(command: Command): void {
  for (const option of command.options) {
    if (option.isBoolean() || option.variadic || option.parseArg === (collectOption as typeof option.parseArg))
      continue;
    let times = 0;
    command.on(`option:${option.name()}`, () => {
      times += 1;
      if (times > 1) throw usageError(`${option.long ?? option.flags} is given twice, and has one value`);
    });
  }
  for (const subcommand of command.commands) rejectRepeatedOptions(subcommand);
}
