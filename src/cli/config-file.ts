// Owns the file in which `login` keeps servers, tokens and sign-ins, readable by its owner alone. Refuses to let two programs
// change it at once: of two that have the same refresh token the second would be taken for a thief.

import { mkdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { fileError } from "./admin/file-error.ts";
import { CliError, EXIT, usageError } from "./exit.ts";
import { isRunning, processIdentityOf, type ProcessIdentity } from "./local/process-identity.ts";
import type { SignInClient } from "./sign-in/issuer-client.ts";
import type { Terminal } from "./terminal/terminal.ts";

/** A sign-in as it is kept; its token is with the others. */
export interface SavedSignIn extends SignInClient {
  /** Milliseconds since the epoch. */
  readonly expires: number;
  /** From then on another one is got. */
  readonly renews: number;
  readonly refreshToken?: string | undefined;
}

export interface Config {
  readonly url?: string;
  /** Keyed by the URL of the server, as those below. */
  readonly tokens?: Readonly<Record<string, string>>;
  readonly signIns?: Readonly<Record<string, SavedSignIn>>;
}

export type ConfigContext = Pick<Terminal, "env" | "cwd" | "signal">;

/** Longer than any change takes, a renewal with its three requests too. Where the system does not say whose a lock is, it is left then. */
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
    // The error below is the same for every content that is no configuration.
  }
  throw usageError(`${file}: is not a JSON object; delete it and run tenantry login again`);
}

/** Nobody else changes it meanwhile. What `change` returns is written, unless it is what it was given. */
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
    if (await isStaleLock(lockFile)) await rm(lockFile, { force: true });
    else await new Promise((resolve) => setTimeout(resolve, LOCK_POLL_MS));
  }
}

/** Whoever was interrupted leaves it behind. One that is being written is nobody's yet, and one that is gone is free. */
async function isStaleLock(lockFile: string): Promise<boolean> {
  try {
    const run = JSON.parse(await readFile(lockFile, "utf8")) as ProcessIdentity;
    if (!isRunning(run)) return true;
    if (run.began !== "") return false;
  } catch {
    // Its age decides.
  }
  return stat(lockFile).then(
    ({ mtimeMs }) => Date.now() - mtimeMs > STALE_MS,
    () => false,
  );
}

/** Written to a file beside it first, so that it is never half-written. */
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
