// The file in which `login` stores servers, tokens and sign-ins, readable by its owner only. A lock prevents
// concurrent changes: an issuer treats a refresh token that is used twice as stolen.

import { readFileSync, statSync } from "node:fs";
import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { fileError } from "./admin/file-error.ts";
import { CliError, EXIT, usageError } from "./exit.ts";
import { isRunning, processIdentityOf, type ProcessIdentity } from "./local/process-identity.ts";
import { removeStaleLock } from "./local/stale-lock.ts";
import type { SignInClient } from "./sign-in/issuer-client.ts";
import type { Terminal } from "./terminal/terminal.ts";

/** A stored sign-in. Its token is in `tokens`. */
export interface SavedSignIn extends SignInClient {
  /** Milliseconds since the epoch. */
  readonly expires: number;
  /** The time to renew the token, in milliseconds since the epoch. */
  readonly renews: number;
  readonly refreshToken?: string | undefined;
}

export interface Config {
  readonly url?: string;
  /** Keyed by the URL of the server, like `signIns`. */
  readonly tokens?: Readonly<Record<string, string>>;
  readonly signIns?: Readonly<Record<string, SavedSignIn>>;
}

export type ConfigContext = Pick<Terminal, "env" | "cwd" | "signal">;

/**
 * Longer than any change takes, including a renewal with its three requests. If the system does not identify the
 * lock's process, an older lock counts as abandoned.
 */
const STALE_MS = 180_000;
const LOCK_POLL_MS = 50;

export function configFile({ env }: ConfigContext): string {
  const folder = env["XDG_CONFIG_HOME"] || join(env["HOME"] || homedir(), ".config");
  return join(folder, "tenantry", "config.json");
}

export async function loadConfig(context: ConfigContext): Promise<Config> {
  const file = configFile(context);
  let text: string;
  try {
    text = await readFile(file, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return {};
    throw fileError(error, file);
  }
  try {
    const config = JSON.parse(text) as Config | null;
    if (typeof config === "object" && config !== null) return config;
  } catch {
    // The error below covers any content that is not a configuration.
  }
  throw usageError(`${file}: is not a JSON object; delete it and run tenantry login again`);
}

/** Changes the configuration under a lock. Writes the result of `change`, unless it is the same object. */
export async function changeConfig(
  context: ConfigContext,
  change: (config: Config) => Config | Promise<Config>,
): Promise<string> {
  const file = configFile(context);
  const unlock = await lock(file, context.signal);
  try {
    const before = await loadConfig(context);
    const after = await change(before);
    if (after !== before) await writeConfig(file, after);
  } finally {
    await unlock();
  }
  return file;
}

async function lock(file: string, signal: AbortSignal): Promise<() => Promise<void>> {
  const lockFile = `${file}.lock`;
  for (;;) {
    try {
      await mkdir(dirname(file), { recursive: true, mode: 0o700 });
      await writeFile(lockFile, JSON.stringify(processIdentityOf(process.pid)), { flag: "wx", mode: 0o600 });
      return () => rm(lockFile, { force: true });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw fileError(error, file);
    }
    if (signal.aborted) throw new CliError(EXIT.interrupted, "interrupted");
    if (isStaleLock(lockFile)) removeStaleLock(lockFile, isStaleLock);
    else await new Promise((resolve) => setTimeout(resolve, LOCK_POLL_MS));
  }
}

/**
 * An interrupted process leaves its lock behind. A lock that is still being written has no owner yet, and a missing
 * lock is free.
 */
function isStaleLock(lockFile: string): boolean {
  try {
    const run = JSON.parse(readFileSync(lockFile, "utf8")) as ProcessIdentity;
    if (!isRunning(run)) return true;
    if (run.began !== "") return false;
  } catch {
    // The lock's age decides.
  }
  const mtimeMs = statSync(lockFile, { throwIfNoEntry: false })?.mtimeMs ?? Infinity;
  return Date.now() - mtimeMs > STALE_MS;
}

/** Writes to a temporary file first, so that the file is never half-written. */
async function writeConfig(file: string, config: Config): Promise<void> {
  const temporary = `${file}.${process.pid}`;
  try {
    await writeFile(temporary, `${JSON.stringify(config, null, 2)}\n`, { mode: 0o600 });
    await rename(temporary, file);
  } catch (error) {
    await rm(temporary, { force: true });
    throw fileError(error, file);
  }
}
