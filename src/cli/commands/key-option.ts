// The API key for an MCP endpoint. Every program of the machine can see command line arguments, so a key may also
// come from a file, stdin or the environment.

import type { Command } from "commander";
import { readText } from "../admin/document-file.ts";
import { parseToken } from "../config.ts";
import { usageError } from "../exit.ts";
import type { Terminal } from "../terminal/terminal.ts";

export interface KeyOptions {
  readonly key?: string;
  readonly keyFile?: string;
}

const KEY_HELP = "an API key; other programs can see it, so prefer TENANTRY_KEY";

export function withKeyOptions(command: Command, stdin: "free" | "taken" = "free"): Command {
  return command
    .option("--key <token>", `${KEY_HELP} or --key-file`)
    .option("--key-file <file>", `read the API key from this file${stdin === "free" ? ", or - for stdin" : ""}`);
}

export interface KeyInput {
  readonly token: string;
  /** Where the key came from, for messages. */
  readonly source: string;
}

/** An option takes precedence over the environment. */
export async function readKey(
  terminal: Terminal,
  { key, keyFile }: KeyOptions,
  stdin: "free" | "taken" = "free",
): Promise<KeyInput | undefined> {
  if (key !== undefined && keyFile !== undefined) throw usageError("--key and --key-file: give one of them");
  if (key !== undefined) return toKeyInput(key, "--key");
  if (keyFile === "-" && stdin === "taken")
    throw usageError("--key-file: must be a file, because the client uses stdin");
  if (keyFile !== undefined) return toKeyInput(await readText(keyFile, terminal), "--key-file");
  const environmentKey = terminal.env.TENANTRY_KEY || undefined;
  return environmentKey === undefined ? undefined : toKeyInput(environmentKey, "TENANTRY_KEY");
}

const toKeyInput = (text: string, source: string): KeyInput => ({ token: parseToken(text, source), source });
