// The keeper process of a local server: one for each state folder. It ends the server and all its child processes
// when the bridge is gone.

import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import {
  developmentOptions,
  developmentSecrets,
  WRANGLER_ENVIRONMENT,
  loadOrCreateSecretsKey,
  LOCAL_VARS,
} from "./development.ts";
import { deleteEnvFile, writeEnvFile } from "./env-file.ts";
import { lockFolder } from "./folder-lock.ts";
import { deleteDevelopmentToken, writeDevelopmentToken, WRANGLER_FILES } from "./token-file.ts";
import { CliError, EXIT, usageError } from "../exit.ts";
import { ENTRY, PACKAGE_FOLDER } from "../install-path.ts";
import type { Terminal } from "../terminal/terminal.ts";

const STOP_TIMEOUT_MS = 3000;
export interface ServerProcessOptions {
  readonly project: string;
  readonly state: string;
  readonly port: string;
}

/** Runs the server until stdin closes, which happens when the bridge is gone. */
export async function runServerProcess(
  terminal: Terminal,
  { project, state, port }: ServerProcessOptions,
): Promise<void> {
  const wrangler = findWrangler(project);
  const lock = lockFolder(state, { port, option: "--state" });
  try {
    // Not the default: commands that a user types must not reach the server of one client.
    const token = await writeDevelopmentToken(project, port, false);
    const secretsKey = await loadOrCreateSecretsKey(join(state, "secrets-key"));
    const files = await writeEnvFile({ project, port }, developmentSecrets(token, secretsKey));
    const child = spawnWrangler(wrangler, ["dev", ...wranglerArguments(state, port), ...LOCAL_VARS, ...files], project);
    if (child.pid !== undefined) lock.share(child.pid);
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding("utf8").on("data", (chunk: string) => terminal.stderr.write(chunk));
    }
    await waitForExit(child, terminal);
  } finally {
    deleteDevelopmentToken(project, port);
    deleteEnvFile({ project, port });
    lock.release();
  }
}

function wranglerArguments(state: string, port: string): string[] {
  const options = Object.entries(developmentOptions(port, state)).map(([name, value]) => `--${name}=${value}`);
  return ["--ip=127.0.0.1", ...options];
}

/** Uses a process group of its own: wrangler starts other processes, and all of them must end together. */
function spawnWrangler(wrangler: string, args: readonly string[], cwd: string): ChildProcess {
  const env = { ...process.env, ...WRANGLER_ENVIRONMENT };
  const detached = process.platform !== "win32";
  return spawn(process.execPath, [wrangler, ...args], { cwd, env, detached, stdio: ["ignore", "pipe", "pipe"] });
}

async function waitForExit(child: ChildProcess, { stdin, signal }: Terminal): Promise<void> {
  const exited = once(child, "exit");
  const stop = () => {
    child.kill("SIGTERM");
    setTimeout(() => killGroup(child), STOP_TIMEOUT_MS).unref();
  };
  for (const event of ["end", "close", "error"] as const) stdin.once(event, stop);
  signal.addEventListener("abort", stop, { once: true });
  if (signal.aborted) stop();
  stdin.resume();
  await exited;
  killGroup(child);
}

function killGroup(child: ChildProcess): void {
  if (child.pid === undefined) return;
  try {
    if (process.platform === "win32") child.kill("SIGKILL");
    else process.kill(-child.pid, "SIGKILL");
  } catch {
    // The group has no processes left, as intended.
  }
}

/** The Worker to run: in this folder or above, or else the one in this program's package. */
export function findProject(cwd: string): string {
  for (let folder = cwd; ; folder = dirname(folder)) {
    if (isProject(folder)) return folder;
    if (dirname(folder) !== folder) continue;
    if (isProject(PACKAGE_FOLDER)) return PACKAGE_FOLDER;
    throw usageError(
      `--local: there is no wrangler.toml or wrangler.jsonc in ${cwd} or above; name the Worker's folder with --project`,
    );
  }
}

export function isProject(folder: string): boolean {
  return WRANGLER_FILES.some((name) => existsSync(join(folder, name)));
}

export function findWrangler(project: string): string {
  for (const from of [join(project, "package.json"), ENTRY]) {
    try {
      return join(dirname(createRequire(from).resolve("wrangler/package.json")), "bin", "wrangler.js");
    } catch {
      // Not found here, so try the next place. After the last one, the error below is thrown.
    }
  }
  throw new CliError(EXIT.usage, `--local needs wrangler. Install it in ${project}: npm install --save-dev wrangler`);
}
