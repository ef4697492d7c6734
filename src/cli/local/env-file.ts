// The file that passes secrets to a local Worker, because everyone on a machine can list arguments. A file given to
// wrangler replaces `.dev.vars`, so this file repeats its content.

import { rmSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { parseEnv } from "node:util";
import { usageError } from "../exit.ts";
import { writePrivate } from "./private-file.ts";

export interface EnvFileOptions {
  /** The folder with the Worker's configuration. */
  readonly project: string;
  readonly port: string;
  /** wrangler's `--env`, which may have its own `.dev.vars`. */
  readonly environment?: string | undefined;
  /** The user names env files, so wrangler reads none by default. */
  readonly hasOwnFiles?: boolean;
}

/**
 * The arguments that pass the files to wrangler. They go last: the last file has precedence, and it holds the
 * secrets.
 */
export async function writeEnvFile(
  options: EnvFileOptions,
  secrets: Readonly<Record<string, string>>,
): Promise<readonly string[]> {
  const { hasOwnFiles = false } = options;
  const devVarsValues = hasOwnFiles ? undefined : await readDevVars(options);
  await writePrivate(envFileOf(options), formatEnv({ ...devVarsValues, ...secrets }));
  const defaults = hasOwnFiles || devVarsValues !== undefined ? [] : dotEnvFiles(options);
  // Spelled in a way that node does not know: node would read the files as well, and exit if one is missing.
  return [...defaults, envFileOf(options)].map((file) => `--envFile=${resolve(file)}`);
}

/** Synchronous, because a process that exits does not wait. */
export function deleteEnvFile(options: EnvFileOptions): void {
  rmSync(envFileOf(options), { force: true });
}

function envFileOf({ project, port }: EnvFileOptions): string {
  return join(project, ".wrangler", `development-vars-${port}`);
}

async function readDevVars({ project, environment }: EnvFileOptions): Promise<NodeJS.Dict<string> | undefined> {
  const names = environment === undefined ? [".dev.vars"] : [`.dev.vars.${environment}`, ".dev.vars"];
  for (const name of names) {
    const text = await readFile(join(project, name), "utf8").catch(() => undefined);
    if (text !== undefined) return parseEnv(text);
  }
  return undefined;
}

/** The files that wrangler reads without a `.dev.vars`; wrangler skips missing ones. */
function dotEnvFiles({ project, environment }: EnvFileOptions): string[] {
  const names = [".env", ".env.local"];
  if (environment !== undefined) names.push(`.env.${environment}`, `.env.${environment}.local`);
  return names.map((name) => join(project, name));
}

const PLAIN = /^[\w.,:;/+=@%^~!?*&|<>()[\]{}-]*$/;
const QUOTES = ["'", "`", '"'];

function formatEnv(values: NodeJS.Dict<string>): string {
  return Object.entries(values)
    .map(([name, value = ""]) => `${name}=${PLAIN.test(value) ? value : quoteValue(name, value)}\n`)
    .join("");
}

/** wrangler expands `$NAME` in these files, but not in `.dev.vars`. */
function quoteValue(name: string, value: string): string {
  const quote = QUOTES.find((mark) => !value.includes(mark));
  if (quote === undefined || value.endsWith("\\")) {
    throw usageError(`.dev.vars: ${name} ends in a backslash, or has all of the quotation marks ' " and \``);
  }
  return quote + value.replaceAll("$", String.raw`\$`) + quote;
}
