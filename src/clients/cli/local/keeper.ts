// Owns the process that runs a local server for a bridge: one at a time for each state folder, ended with all that it
// started when the bridge is gone.

import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { developmentOptions, developmentSecrets, ENVIRONMENT, keepSecretsKey, LOCAL_VARS } from "./development.ts";
import { dropEnvFile, keepEnvFile } from "./env-file.ts";
import { lockFolder } from "./folder-lock.ts";
import { dropDevelopmentToken, keepDevelopmentToken, WRANGLER_FILES } from "./token-file.ts";
import { CliError, EXIT, usageError } from "../exit.ts";
import { ENTRY, PACKAGE_FOLDER } from "../own-place.ts";
import type { Terminal } from "../terminal/terminal.ts";

const STOPPED_WITHIN_MS = 3000;
export interface KeptServer {
  readonly project: string;
  readonly state: string;
  readonly port: string;
}

/** Runs the server until stdin ends, which is when the bridge is gone. */
export async function keepServer(terminal: Terminal, { project, state, port }: KeptServer): Promise<void> {
  const wrangler = findWrangler(project);
  const lock = lockFolder(state, { port, option: "--state" });
  try {
    // A person who types a command does not mean the server that a client has to itself.
    const token = await keepDevelopmentToken(project, port, false);
    const secretsKey = await keepSecretsKey(join(state, "secrets-key"));
    const files = await keepEnvFile({ project, port }, developmentSecrets(token, secretsKey));
    const child = start(wrangler, ["dev", ...argumentsFor(state, port), ...LOCAL_VARS, ...files], project);
    if (child.pid !== undefined) lock.share(child.pid);
    for (const said of [child.stdout, child.stderr]) {
      said?.setEncoding("utf8").on("data", (chunk: string) => terminal.stderr.write(chunk));
    }
    await untilOver(child, terminal);
  } finally {
    dropDevelopmentToken(project, port);
    dropEnvFile({ project, port });
    lock.release();
  }
}

function argumentsFor(state: string, port: string): string[] {
  const options = Object.entries(developmentOptions(port, state)).map(([name, value]) => `--${name}=${value}`);
  return ["--ip=127.0.0.1", ...options];
}

/** In a process group of its own: wrangler starts other processes, and all of them must be ended together. */
function start(wrangler: string, args: readonly string[], cwd: string): ChildProcess {
  const env = { ...process.env, ...ENVIRONMENT };
  const detached = process.platform !== "win32";
  return spawn(process.execPath, [wrangler, ...args], { cwd, env, detached, stdio: ["ignore", "pipe", "pipe"] });
}

async function untilOver(child: ChildProcess, { stdin, signal }: Terminal): Promise<void> {
  const ended = once(child, "exit");
  const end = () => {
    child.kill("SIGTERM");
    setTimeout(() => endGroup(child), STOPPED_WITHIN_MS).unref();
  };
  for (const event of ["end", "close", "error"] as const) stdin.once(event, end);
  signal.addEventListener("abort", end, { once: true });
  if (signal.aborted) end();
  stdin.resume();
  await ended;
  endGroup(child);
}

function endGroup(child: ChildProcess): void {
  if (child.pid === undefined) return;
  try {
    if (process.platform === "win32") child.kill("SIGKILL");
    else process.kill(-child.pid, "SIGKILL");
  } catch {
    // Nobody is left in the group, which is what was wanted.
  }
}

/** The Worker to run: of this folder or one above, else the one that this program is part of. */
export function findProject(cwd: string): string {
  for (let folder = cwd; ; folder = dirname(folder)) {
    if (isProject(folder)) return folder;
    if (dirname(folder) !== folder) continue;
    if (isProject(PACKAGE_FOLDER)) return PACKAGE_FOLDER;
    throw usageError(`--local: there is no wrangler.toml in ${cwd} or above; name the Worker's folder with --project`);
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
      // Not there: the next place is tried, and after the last one the error below is thrown.
    }
  }
  throw new CliError(EXIT.usage, `--local needs wrangler; install it: npm install --save-dev wrangler (in ${project})`);
}
