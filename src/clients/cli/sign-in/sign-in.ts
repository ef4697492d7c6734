// Owns signing in with the authorization server that a tenantry server names: asks it for one, sends a person there, and
// waits for what comes back. Refuses a server that is spoken to in the clear, or whose tokens another one takes, too.

import { confirm, type CommandContext } from "../command-context.ts";
import { loadConfig, type Config } from "../config-file.ts";
import { CliError, EXIT, usageError } from "../exit.ts";
import { isLoopback } from "../server-url.ts";
import { oneLine } from "../terminal/printable.ts";
import { serverRefusal, unreachable } from "../terminal/problem.ts";
import { openBrowser, openerOf } from "./browser.ts";
import { IssuerClient, type SignInClient, type Tokens } from "./issuer-client.ts";
import { openLoopback, type Redirected } from "./loopback.ts";

const WAITS_MS = 300_000;
const WITHIN_MS = 30_000;

/** undefined: operators of this server have tokens, or it is an older one. */
export async function operatorClientOf(url: string, signal: AbortSignal): Promise<SignInClient | undefined> {
  const ends = AbortSignal.any([signal, AbortSignal.timeout(WITHIN_MS)]);
  let response: Response;
  try {
    response = await fetch(`${url}/admin/login`, { redirect: "manual", signal: ends });
  } catch (error) {
    if (signal.aborted) throw new CliError(EXIT.interrupted, "interrupted", { cause: error });
    throw unreachable(error, url);
  }
  // A server that has no such page asks for a token.
  if (response.status === 404 || response.status === 401) {
    await response.body?.cancel();
    return undefined;
  }
  if (!response.ok) throw await serverRefusal(response);
  const about = clientIn(await response.json().catch(() => undefined));
  if (about) return about;
  const message = `${url}/admin/login does not say how to sign in: no tenantry server answers there`;
  throw new CliError(EXIT.refused, message);
}

function clientIn(said: unknown): SignInClient | undefined {
  const { issuer, clientId, scopes, audience } = (said ?? {}) as Partial<Record<keyof SignInClient, unknown>>;
  if (!isText(issuer) || !isText(clientId) || !Array.isArray(scopes) || !scopes.every(isText)) return undefined;
  if (audience === undefined) return { issuer, clientId, scopes };
  return isText(audience) ? { issuer, clientId, scopes, audience } : undefined;
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}

export interface SignInHow {
  readonly about: SignInClient;
  /** 0 for any that is free. */
  readonly port: number;
  /** A person need not be asked whether this server, issuer and client are right. */
  readonly yes: boolean | undefined;
}

export async function signIn(context: CommandContext, url: string, { about, port, yes }: SignInHow): Promise<Tokens> {
  const { terminal } = context;
  const { signIns = {} } = await loadConfig(terminal);
  refuseUnsafe(url, about, signIns);
  if (!Object.hasOwn(signIns, url)) {
    await confirm(context, oneLine(`Sign in to ${url} with ${about.issuer} as its client ${about.clientId}`), yes);
  }
  const loopback = await openLoopback(port);
  try {
    const asked = await new IssuerClient(about, terminal.signal).ask(loopback.redirectUri);
    const opener = openerOf(terminal.env);
    const say = (text: string) => void terminal.stderr.write(`${oneLine(text)}\n`);
    say(`Signing in to ${url} with ${about.issuer}`);
    say(opener ? "If no browser opens, open this in one:" : "Open this in a browser on this machine:");
    say(asked.url);
    if (!opener) say(`In a browser elsewhere, first: ssh -L ${loopback.port}:127.0.0.1:${loopback.port} THIS-MACHINE`);
    if (opener) openBrowser(opener, asked.url, terminal.env);
    const redirected = await inTime((signal) => loopback.redirected(asked.state, signal), terminal.signal);
    return await answered(redirected, url, asked.redeem(redirected.parameters));
  } finally {
    loopback.close();
  }
}

/** Shows in the browser how it went. */
async function answered(redirected: Redirected, url: string, redeeming: Promise<Tokens>): Promise<Tokens> {
  try {
    const tokens = await redeeming;
    redirected.answer(`You are signed in to ${url}. Close this page and go back to the terminal.`);
    return tokens;
  } catch (error) {
    redirected.answer(`You are not signed in to ${url}: the terminal says why.`);
    throw error;
  }
}

async function inTime(
  redirected: (signal: AbortSignal) => Promise<Redirected>,
  signal: AbortSignal,
): Promise<Redirected> {
  const ends = AbortSignal.any([signal, AbortSignal.timeout(WAITS_MS)]);
  try {
    return await redirected(ends);
  } catch (error) {
    if (signal.aborted) throw new CliError(EXIT.interrupted, "interrupted", { cause: error });
    const message = `nobody signed in within ${WAITS_MS / 60_000} minutes: run tenantry login again`;
    throw new CliError(EXIT.notAuthorised, message, { cause: error });
  }
}

function refuseUnsafe(url: string, about: SignInClient, signIns: NonNullable<Config["signIns"]>): void {
  const { audience = "" } = about;
  if (url.startsWith("http:") && !isLoopback(url)) {
    throw usageError(`${url}: what signs you in would travel unencrypted; use https://`);
  }
  // Whoever has a page that looks like a server could else have a token for another one.
  const isUrl = /^https?:/.test(audience);
  if (isUrl && !(URL.canParse(audience) && new URL(audience).origin === new URL(url).origin)) {
    throw refused(`${url} asks for a token for ${audience}, which it is not`);
  }
  const isSame = (known: SignInClient) => known.issuer === about.issuer && known.clientId === about.clientId;
  const own = Object.hasOwn(signIns, url) ? signIns[url] : undefined;
  if (own && !isSame(own)) {
    const before = `${url} named the issuer ${own.issuer} with the client ${own.clientId} before`;
    throw refused(`${before}: if ${about.issuer} with ${about.clientId} is right, run tenantry logout --url ${url}`);
  }
  const other = Object.keys(signIns).find((of) => of !== url && isSame(signIns[of] as SignInClient));
  if (other !== undefined && !isUrl) {
    const why = `${url} names the issuer and client of ${other}, which would take its token, too`;
    throw refused(`${why}: it needs a client of its own, or an audience that begins with ${url}`);
  }
}

function refused(why: string): CliError {
  return new CliError(EXIT.refused, oneLine(`${why}; nothing was sent`));
}
