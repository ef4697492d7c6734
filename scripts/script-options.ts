// Owns the options of a script that npm runs: `--help`, and one line for what it does not know. Refuses to run where npm kept an option
// for itself, because two dashes were missing: without it the script would do something else, such as deploy another environment.

import { parseArgs, type ParseArgsOptionsConfig } from "node:util";

/** What npm took of these options, as they are to be written: of `--env staging` it hands on the value. Undefined where it took none. */
export function keptByNpm(
  names: readonly string[],
  args = process.argv.slice(2),
  env = process.env,
): string | undefined {
  const kept = names.map((name) => ({ name, value: env[`npm_config_${name.replaceAll("-", "_")}`] }));
  const found = kept.find(({ value }) => value !== undefined);
  if (!found) return undefined;
  const { name, value } = found;
  if (value === "") return `--no-${name}`;
  return [`--${name}`, value === "true" ? args[0] : value].filter(Boolean).join(" ");
}

/** Ends the process for what is wrong, and after help. */
export function scriptOptions<T extends ParseArgsOptionsConfig>(script: string, options: T, help: string) {
  const kept = keptByNpm(Object.keys(options));
  if (kept !== undefined) {
    end(`${script}: npm kept ${kept} for itself; two dashes are missing: npm run ${script} -- ${kept}`, 2);
  }
  const all = { ...options, help: { type: "boolean", short: "h" } } as const;
  try {
    const { values } = parseArgs({ options: all, allowNegative: true });
    if ((values as { help?: boolean }).help === true) end(help, 0);
    return values;
  } catch (error) {
    const [said] = (error as Error).message.split(". ");
    return end(`${script}: ${said}; npm run ${script} -- --help says what there is`, 2);
  }
}

function end(said: string, code: number): never {
  (code === 0 ? process.stdout : process.stderr).write(`${said}\n`);
  process.exit(code);
}
