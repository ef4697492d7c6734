// The options of a script that a person runs: `--help`, and an error for an option that the script does not have.

import { parseArgs, type ParseArgsOptionsConfig } from "node:util";

type Values<T extends ParseArgsOptionsConfig> = ReturnType<typeof parseArgs<{ options: T }>>["values"];

/** Ends the process after `--help`, and at an unknown option. The first line of `help` is the usage. */
export function scriptOptions<const T extends ParseArgsOptionsConfig>(help: string, options: T): Values<T> {
  const all = { ...options, help: { type: "boolean", short: "h" } } as const;
  let values: ReturnType<typeof parseArgs<{ options: typeof all }>>["values"];
  try {
    values = parseArgs({ options: all }).values;
  } catch (error) {
    return optionError(`${(error as Error).message.split(". ")[0]}\n\n${help}`);
  }
  if ("help" in values) {
    process.stdout.write(`${help}\n`);
    process.exit(0);
  }
  return values;
}

/** Ends the process because of the value of an option. */
export function optionError(message: string): never {
  process.stderr.write(`${message}\n`);
  process.exit(2);
}
