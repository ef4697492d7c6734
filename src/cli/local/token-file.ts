// How the command line finds a local server and its token: a file for each port, in the folder where the server was
// started. The token is valid as long as that server runs.

import { randomBytes } from "node:crypto";
import { rmSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { parseEnv } from "node:util";
import { writePrivate } from "./private-file.ts";
import { isRunning, processIdentityOf } from "./process-identity.ts";

const FOLDER = ".wrangler";
const PREFIX = "development-token-";

/** Configuration files of a Worker, in wrangler's order. */
export const WRANGLER_FILES = ["wrangler.json", "wrangler.jsonc", "wrangler.toml"];
/** The usual forms: `port` in the table `[dev]`, and in the object `dev`. */
const TOML_PORT = /^\[dev\][^\n]*\n(?:(?!\[).*\n)*?[ \t]*port[ \t]*=[ \t]*(\d+)/m;
const JSON_PORT = /"dev"\s*:\s*\{[^{}]*?"port"\s*:\s*(\d+)/;

/** `isDefault`: commands without --url use this server. */
export async function writeDevelopmentToken(folder: string, port: string, isDefault: boolean): Promise<string> {
  const token = randomBytes(24).toString("base64url");
  const { pid, began } = processIdentityOf(process.pid);
  await writePrivate(tokenFileOf(folder, port), isDefault ? `${token}\n${pid}\n${began}\n` : `${token}\n`);
  return token;
}

/** Synchronous, because a process that exits does not wait. */
export function deleteDevelopmentToken(folder: string, port: string): void {
  rmSync(tokenFileOf(folder, port), { force: true });
}

/** The token of the server at this port that was started in this folder or above. */
export async function readDevelopmentToken(cwd: string, port: string): Promise<string | undefined> {
  for (const folder of ancestorsOf(cwd)) {
    const text = await readFile(tokenFileOf(folder, port), "utf8").catch(() => undefined);
    if (text !== undefined) return text.split("\n")[0];
  }
  return undefined;
}

/** The owner token of a project that runs with `wrangler dev`, in this folder or above. */
export async function readDevVarsToken(
  cwd: string,
): Promise<{ readonly token: string; readonly file: string } | undefined> {
  for (const folder of ancestorsOf(cwd)) {
    const file = join(folder, ".dev.vars");
    const text = await readFile(file, "utf8").catch(() => undefined);
    if (text === undefined) continue;
    const { ADMIN_TOKEN: token } = parseEnv(text);
    return token ? { token, file } : undefined;
  }
  return undefined;
}

/** The port in the wrangler file of this folder or the nearest one above. */
export async function readWranglerPort(cwd: string): Promise<string | undefined> {
  for (const folder of ancestorsOf(cwd)) {
    for (const name of WRANGLER_FILES) {
      const text = await readFile(join(folder, name), "utf8").catch(() => undefined);
      if (text !== undefined) return (name.endsWith(".toml") ? TOML_PORT : JSON_PORT).exec(text)?.[1];
    }
  }
  return undefined;
}

/** The ports of running servers, from the nearest folder that has any. */
export async function findRunningPorts(cwd: string): Promise<readonly string[]> {
  for (const folder of ancestorsOf(cwd)) {
    const names = await readdir(join(folder, FOLDER)).catch(() => []);
    const ports = names.filter((name) => name.startsWith(PREFIX)).map((name) => name.slice(PREFIX.length));
    const running = await Promise.all(ports.map((port) => isServerRunning(tokenFileOf(folder, port))));
    const runningHere = ports.filter((port, at) => running[at] === true && /^\d+$/.test(port));
    if (runningHere.length > 0) return runningHere.toSorted((a, b) => Number(a) - Number(b));
  }
  return [];
}

async function isServerRunning(file: string): Promise<boolean> {
  const text = await readFile(file, "utf8").catch(() => "");
  const [, pid = "", began = ""] = text.split("\n");
  return isRunning({ pid: Number(pid), began });
}

function tokenFileOf(folder: string, port: string): string {
  return join(folder, FOLDER, PREFIX + port);
}

function ancestorsOf(cwd: string): readonly string[] {
  const parent = dirname(cwd);
  return parent === cwd ? [cwd] : [cwd, ...ancestorsOf(parent)];
}
