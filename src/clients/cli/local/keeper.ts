// Owns the process that runs a local server for a bridge: one at a time for each state folder, ended with all that it
// started when the bridge is gone.

import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import {
  developmentOptions,
  developmentSecrets,
  developmentTokenFile,
  ENVIRONMENT,
  HOSTS,
  keepDevelopmentToken,
  keepSecretsKey,
} from "./development.ts";
import { dropEnvFile, keepEnvFile } from "./env-file.ts";
import { CliError, EXIT, usageError } from "../exit.ts";
import { fileError } from "../admin/file-error.ts";
import type { Terminal } from "../terminal/terminal.ts";

const CONFIGS = ["wrangler.toml", "wrangler.jsonc", "wrangler.json"];
const STOPPED_WITHIN_MS = 3000;

export interface KeptServer {
  readonly project: string;
  readonly state: string;
  readonly port: string;
}

/** Runs the server until stdin ends, which is when the bridge is gone. */
export async function keepServer(terminal: Terminal, { project, state, port }: KeptServer): Promise<void> {
  const wrangler = findWrangler(project);
  const release = await lock(state);
  try {
    const token = await keepDevelopmentToken(project, port);
    const secretsKey = await keepSecretsKey(join(state, "secrets-key"));
    const files = await keepEnvFile({ project, port }, developmentSecrets(token, secretsKey));
    const args = [...argumentsFor(state, port), HOSTS, ...files];
    const child = start(wrangler, args, project);
    for (const said of [child.stdout, child.stderr]) {
      said?.setEncoding("utf8").on("data", (chunk: string) => terminal.stderr.write(chunk));
    }
    await untilOver(child, terminal);
  } finally {
    await rm(developmentTokenFile(project, port), { force: true });
    dropEnvFile({ project, port });
    await release();
  }
}

function argumentsFor(state: string, port: string): string[] {
  const options = Object.entries(developmentOptions(port, state)).map(([name, value]) => `--${name}=${value}`);
  return ["dev", "--ip=127.0.0.1", ...options];
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

/** Takes the folder until the returned function is called: two servers on the same files would destroy them. */
async function lock(state: string): Promise<() => Promise<void>> {
  const file = join(state, "server.pid");
  try {
    await mkdir(state, { recursive: true });
    if (!(await take(file))) {
      const owner = Number(await readFile(file, "utf8").catch(() => "0"));
      // The file may be left from a process that is gone, for instance when the machine was switched off.
      if (!isAlive(owner)) await rm(file, { force: true });
      if (isAlive(owner) || !(await take(file))) {
        throw usageError(`${state} is in use by process ${owner}; end that, or give --state another folder`);
      }
    }
  } catch (error) {
    throw error instanceof CliError ? error : fileError(error, state);
  }
  return async () => rm(file, { force: true });
}

/** Writes our process id into the file. False where it exists already. */
async function take(file: string): Promise<boolean> {
  try {
    await writeFile(file, String(process.pid), { flag: "wx" });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

function isAlive(pid: number): boolean {
  if (!Number.isSafeInteger(pid) || pid <= 0) return false;
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

/** The Worker to run: of this folder or one above, else the one that this program is part of. */
export function findProject(cwd: string): string {
  const own = fileURLToPath(new URL("../../../..", import.meta.url));
  for (let folder = cwd; ; folder = dirname(folder)) {
    if (isProject(folder)) return folder;
    if (dirname(folder) !== folder) continue;
    if (isProject(own)) return own;
    throw usageError(`--local: there is no wrangler.toml in ${cwd} or above; name the Worker's folder with --project`);
  }
}

export function isProject(folder: string): boolean {
  return CONFIGS.some((name) => existsSync(join(folder, name)));
}

export function findWrangler(project: string): string {
  for (const from of [join(project, "package.json"), import.meta.url]) {
    try {
      return join(dirname(createRequire(from).resolve("wrangler/package.json")), "bin", "wrangler.js");
    } catch {
      // Not there: the next place is tried, and after the last one the error below is thrown.
    }
  }
  throw new CliError(EXIT.usage, `--local needs wrangler; install it: npm install --save-dev wrangler (in ${project})`);
}
