// Owns the file by which a local Worker is told its secrets. Not by arguments: everybody on a machine may list those. A
// file that wrangler is given takes the place of `.dev.vars`, so what is in there is said again.

import { rmSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { parseEnv } from "node:util";
import { usageError } from "../exit.ts";
import { writePrivate } from "./private-file.ts";

export interface EnvFileOptions {
  /** With the configuration of the Worker. */
  readonly project: string;
  readonly port: string;
  /** wrangler's `--env`, which may have a `.dev.vars` of its own. */
  readonly environment?: string | undefined;
  /** Somebody names files: wrangler reads none by itself then. */
  readonly hasOwnFiles?: boolean;
}

/** The arguments that give wrangler its files. They go last: the last file wins, and the secrets are in that. */
export async function writeEnvFile(
  options: EnvFileOptions,
  secrets: Readonly<Record<string, string>>,
): Promise<readonly string[]> {
  const { hasOwnFiles = false } = options;
  const devVarsValues = hasOwnFiles ? undefined : await readDevVars(options);
  await writePrivate(envFileOf(options), formatEnv({ ...devVarsValues, ...secrets }));
  const defaults = hasOwnFiles || devVarsValues !== undefined ? [] : dotEnvFiles(options);
  // In the spelling that node itself does not know: it would read the files too, and end where one is not there.
  return [...defaults, envFileOf(options)].map((file) => `--envFile=${resolve(file)}`);
}

/** At once, because a process that ends waits for nothing. */
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

/** What wrangler reads where there is no `.dev.vars`; it passes over those that are not there. */
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

/** wrangler puts variables in the place of what begins with a dollar sign, but not in `.dev.vars`. */
function quoteValue(name: string, value: string): string {
  const quote = QUOTES.find((mark) => !value.includes(mark));
  if (quote === undefined || value.endsWith("\\")) {
    throw usageError(`.dev.vars: ${name} ends in a backslash, or has each of the quotation marks ' " and \``);
  }
  return quote + value.replaceAll("$", String.raw`\$`) + quote;
}
