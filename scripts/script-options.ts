// The options of a script that npm runs: `--help`, and one line for an option that the script does not have.

import { parseArgs, type ParseArgsOptionsConfig } from "node:util";

/** Ends the process for what is wrong, and after help. */
export function scriptOptions<T extends ParseArgsOptionsConfig>(script: string, options: T, help: string) {
  const all = { ...options, help: { type: "boolean", short: "h" } } as const;
  try {
    const { values } = parseArgs({ options: all, allowNegative: true });
    if ((values as { help?: boolean }).help === true) end(help, 0);
    return values;
  } catch (error) {
    const [text] = (error as Error).message.split(". ");
    return end(`${script}: ${text}; npm run ${script} -- --help says what there is`, 2);
  }
}

function end(text: string, code: number): never {
  (code === 0 ? process.stdout : process.stderr).write(`${text}\n`);
  process.exit(code);
}
