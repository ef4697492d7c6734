// Owns which server is spoken to and as whom. Flags come first, then the environment, then what `login` kept, then the
// server of `npm start`. Refuses to send a token that was kept for one server to another.

import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { usageError } from "./exit.ts";
import { fileError } from "./admin/file-error.ts";
import { developmentToken, runningPorts } from "./local/token-file.ts";
import type { Terminal } from "./terminal/terminal.ts";

export const DEFAULT_URL = "http://localhost:8787";
const LOOPBACK = new Set(["localhost", "127.0.0.1", "[::1]"]);

export interface Target {
  /** Without a trailing slash. */
  readonly url: string;
  readonly token: string | undefined;
  /** Where the token comes from, for messages. */
  readonly tokenFrom: string;
}

interface Config {
  readonly url?: string;
  /** Keyed by the URL of the server. */
  readonly tokens?: Readonly<Record<string, string>>;
}

type Place = Pick<Terminal, "env" | "cwd">;

interface Flags {
  readonly url?: string;
  readonly token?: string;
  /** The command starts a server of its own: which others run is nothing to it. */
  readonly local?: true;
}

export async function findTarget(flags: Flags, place: Place): Promise<Target> {
  const config = await loadConfig(place);
  const named = flags.url ?? (place.env.TENANTRY_URL || undefined) ?? config.url;
  const url = parseUrl(named ?? (flags.local === true ? DEFAULT_URL : await startedUrl(place.cwd)));
  if (flags.token !== undefined) return { url, token: parseToken(flags.token), tokenFrom: "--token" };
  const given = place.env.TENANTRY_TOKEN;
  if (given) return { url, token: parseToken(given, "TENANTRY_TOKEN"), tokenFrom: "TENANTRY_TOKEN" };
  const kept = config.tokens?.[url];
  if (kept !== undefined) return { url, token: parseToken(kept), tokenFrom: configFile(place) };
  return { url, token: await localToken(url, place.cwd), tokenFrom: "npm start" };
}

/** Origin and path; without a scheme it is https, or http on this machine. */
export function parseUrl(text: string): string {
  const scheme = /^(?:localhost|127\.0\.0\.1|\[::1\])(?:[:/]|$)/i.test(text) ? "http" : "https";
  const full = /^[a-z]+:\/\//i.test(text) ? text : `${scheme}://${text}`;
  if (!/^https?:/i.test(full) || !URL.canParse(full)) throw usageError(`--url: ${text} is not an http or https URL`);
  const url = new URL(full);
  if (url.username !== "" || url.password !== "") throw usageError("--url: must not hold a user name or password");
  if (url.search !== "" || url.hash !== "") throw usageError("--url: must not have a query or fragment");
  return url.origin + url.pathname.replace(/\/+$/, "");
}

/** `from` is what a person gave it with. */
export function parseToken(text: string, from = "--token"): string {
  const token = text.trim();
  if (!/^[\x21-\x7e]+$/.test(token)) throw usageError(`${from}: must be visible ASCII characters, without spaces`);
  return token;
}

export function isLoopback(url: string): boolean {
  return LOOPBACK.has(new URL(url).hostname);
}

/** Where `npm start` runs, in this folder or one above; the documented port where nothing does. */
async function startedUrl(cwd: string): Promise<string> {
  const { port: usual } = new URL(DEFAULT_URL);
  const ports = await runningPorts(cwd);
  if (ports.length > 1 && !ports.includes(usual)) {
    throw usageError(`npm start runs at the ports ${ports.join(" and ")}: say which, --url http://localhost:PORT`);
  }
  return ports.length === 1 ? `http://localhost:${ports[0]}` : DEFAULT_URL;
}

async function localToken(url: string, cwd: string): Promise<string | undefined> {
  if (!isLoopback(url)) return undefined;
  const token = await developmentToken(cwd, new URL(url).port || "80");
  return token === undefined ? undefined : parseToken(token);
}

export function configFile({ env }: Place): string {
  const folder = env.XDG_CONFIG_HOME || join(env.HOME || homedir(), ".config");
  return join(folder, "tenantry", "config.json");
}

async function loadConfig(place: Place): Promise<Config> {
  const file = configFile(place);
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

/** Keeps a server's token, and makes that server the default. */
export async function keepToken(url: string, token: string, place: Place): Promise<string> {
  const config = await loadConfig(place);
  return saveConfig({ ...config, url, tokens: { ...config.tokens, [url]: token } }, place);
}

/** False where no token was kept for this server. */
export async function forgetToken(url: string, place: Place): Promise<boolean> {
  const { url: standard, tokens = {}, ...rest } = await loadConfig(place);
  if (!Object.hasOwn(tokens, url)) return false;
  const others = Object.fromEntries(Object.entries(tokens).filter(([of]) => of !== url));
  await saveConfig({ ...rest, ...(standard === url ? {} : { url: standard }), tokens: others }, place);
  return true;
}

/** Readable by its owner alone, and written to a file beside it first, so that it is never half-written. */
async function saveConfig(config: Config, place: Place): Promise<string> {
  const file = configFile(place);
  const fresh = `${file}.${process.pid}`;
  try {
    await mkdir(dirname(file), { recursive: true, mode: 0o700 });
    await writeFile(fresh, `${JSON.stringify(config, null, 2)}\n`, { mode: 0o600 });
    await rename(fresh, file);
  } catch (error) {
    await rm(fresh, { force: true });
    throw fileError(error, file);
  }
  return file;
}
