// Owns that an option with one value is given once: of `-f a.yaml -f b.yaml` the last would be taken, and the first left out unsaid.
// Refuses to know any option: those that may be repeated say so by their parser.

import type { Command } from "commander";
import { collectOption } from "./command-context.ts";
import { usageError } from "./exit.ts";

/** For this command and all below it; for one run of the program. */
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
