// Owns which server is spoken to and as whom. Flags come first, then the environment, then what `login` kept, then the
// server of `npm start` or `wrangler dev`. Refuses to send a token that was kept for one server to another.

import { changeConfig, configFile, loadConfig, type Config, type ConfigPlace, type KeptSignIn } from "./config-file.ts";
import { usageError } from "./exit.ts";
import { DEFAULT_PORT } from "./local/development.ts";
import { developmentToken, portOfWrangler, runningPorts, tokenInDevVars } from "./local/token-file.ts";
import { isLoopback, parseUrl } from "./server-url.ts";
import type { SignInClient, Tokens } from "./sign-in/issuer-client.ts";
import { keptIn, keptOf, tokenOfSignIn, withSignIn } from "./sign-in/kept-sign-in.ts";

export const DEFAULT_URL = `http://localhost:${DEFAULT_PORT}`;

export interface Target {
  /** Without a trailing slash. */
  readonly url: string;
  readonly token: string | undefined;
  /** Where the token comes from, for messages. */
  readonly tokenFrom: string;
  /** Of a sign-in, whose token ends: the one to send now. */
  readonly current?: (signal: AbortSignal) => Promise<string>;
}

interface Flags {
  readonly url?: string;
  readonly token?: string;
  /** The command starts a server of its own: which others run is nothing to it. */
  readonly local?: true;
}

export async function findTarget(flags: Flags, place: ConfigPlace): Promise<Target> {
  const config = await loadConfig(place);
  const named = flags.url ?? (place.env.TENANTRY_URL || undefined) ?? config.url;
  const url = parseUrl(named ?? (flags.local === true ? DEFAULT_URL : await startedUrl(place.cwd)));
  if (flags.token !== undefined) return { url, token: parseToken(flags.token), tokenFrom: "--token" };
  const given = place.env.TENANTRY_TOKEN;
  if (given) return { url, token: parseToken(given, "TENANTRY_TOKEN"), tokenFrom: "TENANTRY_TOKEN" };
  const kept = config.tokens?.[url];
  if (kept !== undefined) {
    const signedIn = keptIn(config, url);
    const current = signedIn && { current: tokenOfSignIn(url, signedIn, place) };
    return { url, token: parseToken(kept), tokenFrom: configFile(place), ...current };
  }
  return { url, ...(await localToken(url, place.cwd)) };
}

/** `from` is what a person gave it with. */
export function parseToken(text: string, from = "--token"): string {
  const token = text.trim();
  if (/^bearer\s/i.test(token)) throw usageError(`${from}: must be the key or token alone, without "Bearer "`);
  if (token === "") throw usageError(`${from}: is empty`);
  if (!/^[\x21-\x7e]+$/.test(token)) throw usageError(`${from}: must be visible ASCII characters, without spaces`);
  return token;
}

/** Where `npm start` runs, in this folder or one above; where nothing does, that of `wrangler dev`, or the documented one. */
async function startedUrl(cwd: string): Promise<string> {
  const ports = await runningPorts(cwd);
  if (ports.length > 1 && !ports.includes(DEFAULT_PORT)) {
    throw usageError(`npm start runs at the ports ${ports.join(" and ")}: say which, --url http://localhost:PORT`);
  }
  const port = ports.length > 1 ? DEFAULT_PORT : (ports[0] ?? (await portOfWrangler(cwd)) ?? DEFAULT_PORT);
  return `http://localhost:${port}`;
}

/** Of `npm start`, else the one that `wrangler dev` gives the Worker of this folder or one above. */
async function localToken(url: string, cwd: string): Promise<Pick<Target, "token" | "tokenFrom">> {
  const nothing = { token: undefined, tokenFrom: "npm start" };
  if (!isLoopback(url)) return nothing;
  const made = await developmentToken(cwd, new URL(url).port || "80");
  if (made !== undefined) return { token: parseToken(made), tokenFrom: "npm start" };
  const kept = await tokenInDevVars(cwd);
  return kept === undefined ? nothing : { token: parseToken(kept.token, kept.file), tokenFrom: kept.file };
}

/** Makes that server the default. */
export function keepToken(url: string, token: string, place: ConfigPlace): Promise<string> {
  return changeConfig(place, (config) => {
    const { tokens, ...rest } = without(config, url);
    return { ...rest, url, tokens: { ...tokens, [url]: token } };
  });
}

/** The same for a sign-in, whose token ends. */
export function keepSignIn(url: string, tokens: Tokens, about: SignInClient, place: ConfigPlace): Promise<string> {
  return changeConfig(place, (config) => ({ ...withSignIn(config, url, keptOf(about, tokens)), url }));
}

export interface Forgotten {
  /** False where no token was kept for this server. */
  readonly had: boolean;
  /** With which it can be ended at its issuer. */
  readonly signIn: KeptSignIn | undefined;
}

export async function forgetToken(url: string, place: ConfigPlace): Promise<Forgotten> {
  const forgotten = { had: false, signIn: undefined as KeptSignIn | undefined };
  await changeConfig(place, (config) => {
    if (!Object.hasOwn(config.tokens ?? {}, url)) return config;
    Object.assign(forgotten, { had: true, signIn: keptIn(config, url)?.signIn });
    const { url: standard, ...rest } = without(config, url);
    return { ...rest, ...(standard === undefined || standard === url ? {} : { url: standard }) };
  });
  return forgotten;
}

/** Its sign-in, too. */
function without({ tokens = {}, signIns = {}, ...rest }: Config, url: string): Config {
  const others = <T>(all: Readonly<Record<string, T>>) =>
    Object.fromEntries(Object.entries(all).filter(([of]) => of !== url));
  return { ...rest, tokens: others(tokens), signIns: others(signIns) };
}
