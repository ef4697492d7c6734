// The server and the token to use: from flags, then the environment, then `login`, then a running `npm start` or
// `wrangler dev`. A token stored for one server is never sent to another.

import {
  changeConfig,
  configFile,
  loadConfig,
  type Config,
  type ConfigContext,
  type SavedSignIn,
} from "./config-file.ts";
import { usageError } from "./exit.ts";
import { DEFAULT_PORT } from "./local/development.ts";
import { readDevelopmentToken, readWranglerPort, findRunningPorts, readDevVarsToken } from "./local/token-file.ts";
import { isLoopback, parseServerUrl } from "./server-url.ts";
import type { SignInClient, Tokens } from "./sign-in/issuer-client.ts";
import { savedSignInOf, toSignInToken, createTokenGetter, withSignIn } from "./sign-in/saved-sign-in.ts";

export const DEFAULT_URL = `http://localhost:${DEFAULT_PORT}`;

export interface Target {
  /** Without a trailing slash. */
  readonly url: string;
  readonly token: string | undefined;
  /** Where the token comes from, for messages. */
  readonly tokenSource: string;
  /** For a sign-in, whose token expires: returns the current token. */
  readonly getToken?: (signal: AbortSignal) => Promise<string>;
}

interface Flags {
  readonly url?: string;
  readonly token?: string;
  /** The command starts a server of its own, so running servers do not matter. */
  readonly local?: true;
}

export async function findTarget(flags: Flags, context: ConfigContext): Promise<Target> {
  const config = await loadConfig(context);
  const configuredUrl = flags.url ?? (context.env.TENANTRY_URL || undefined) ?? config.url;
  const url = parseServerUrl(
    configuredUrl ?? (flags.local === true ? DEFAULT_URL : await runningServerUrl(context.cwd)),
  );
  if (flags.token !== undefined) return { url, token: parseToken(flags.token), tokenSource: "--token" };
  const environmentToken = context.env.TENANTRY_TOKEN;
  if (environmentToken)
    return { url, token: parseToken(environmentToken, "TENANTRY_TOKEN"), tokenSource: "TENANTRY_TOKEN" };
  const savedToken = config.tokens?.[url];
  if (savedToken !== undefined) {
    const saved = savedSignInOf(config, url);
    const getToken = saved && { getToken: createTokenGetter(url, saved, context) };
    return { url, token: parseToken(savedToken), tokenSource: configFile(context), ...getToken };
  }
  return { url, ...(await findLocalToken(url, context.cwd)) };
}

/** `source`: where the token was given, for messages. */
export function parseToken(text: string, source = "--token"): string {
  const token = text.trim();
  if (/^bearer\s/i.test(token)) throw usageError(`${source}: must be the key or token alone, without "Bearer "`);
  if (token === "") throw usageError(`${source}: is empty`);
  if (!/^[\x21-\x7e]+$/.test(token)) throw usageError(`${source}: must be visible ASCII characters, without spaces`);
  return token;
}

/** The URL of `npm start` in this folder or above, or else of `wrangler dev`, or the default. */
async function runningServerUrl(cwd: string): Promise<string> {
  const ports = await findRunningPorts(cwd);
  if (ports.length > 1 && !ports.includes(DEFAULT_PORT)) {
    throw usageError(`npm start runs at the ports ${ports.join(" and ")}: choose one with --url http://localhost:PORT`);
  }
  const port = ports.length > 1 ? DEFAULT_PORT : (ports[0] ?? (await readWranglerPort(cwd)) ?? DEFAULT_PORT);
  return `http://localhost:${port}`;
}

/** The token of `npm start`, or else the one in the `.dev.vars` of this folder or above. */
async function findLocalToken(url: string, cwd: string): Promise<Pick<Target, "token" | "tokenSource">> {
  const none = { token: undefined, tokenSource: "npm start" };
  if (!isLoopback(url)) return none;
  const started = await readDevelopmentToken(cwd, new URL(url).port || "80");
  if (started !== undefined) return { token: parseToken(started), tokenSource: "npm start" };
  const devVars = await readDevVarsToken(cwd);
  return devVars === undefined ? none : { token: parseToken(devVars.token, devVars.file), tokenSource: devVars.file };
}

/** Stores the token and makes the server the default. */
export function saveToken(url: string, token: string, context: ConfigContext): Promise<string> {
  return changeConfig(context, (config) => {
    const { tokens, ...rest } = withoutServer(config, url);
    return { ...rest, url, tokens: { ...tokens, [url]: token } };
  });
}

/** Stores a sign-in, whose token expires, and makes the server the default. */
export function saveSignIn(url: string, tokens: Tokens, client: SignInClient, context: ConfigContext): Promise<string> {
  return changeConfig(context, (config) => ({ ...withSignIn(config, url, toSignInToken(client, tokens)), url }));
}

export interface ForgetResult {
  /** false: no token was stored for this server. */
  readonly existed: boolean;
  /** The sign-in to revoke at its issuer. */
  readonly signIn: SavedSignIn | undefined;
}

export async function forgetToken(url: string, context: ConfigContext): Promise<ForgetResult> {
  const result = { existed: false, signIn: undefined as SavedSignIn | undefined };
  await changeConfig(context, (config) => {
    if (!Object.hasOwn(config.tokens ?? {}, url)) return config;
    Object.assign(result, { existed: true, signIn: savedSignInOf(config, url)?.signIn });
    const { url: defaultUrl, ...rest } = withoutServer(config, url);
    return { ...rest, ...(defaultUrl === undefined || defaultUrl === url ? {} : { url: defaultUrl }) };
  });
  return result;
}

/** Removes the server's token and sign-in. */
function withoutServer({ tokens = {}, signIns = {}, ...rest }: Config, url: string): Config {
  const others = <T>(all: Readonly<Record<string, T>>) =>
    Object.fromEntries(Object.entries(all).filter(([key]) => key !== url));
  return { ...rest, tokens: others(tokens), signIns: others(signIns) };
}
