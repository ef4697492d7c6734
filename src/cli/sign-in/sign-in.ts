// Signs in with the authorization server that a tenantry server names: opens the browser and waits for the callback.
// Refuses a server over plain HTTP, and one whose tokens another server would accept.

import { confirm, type CommandContext } from "../command-context.ts";
import { loadConfig, type Config } from "../config-file.ts";
import { CliError, EXIT, usageError } from "../exit.ts";
import { isLoopback } from "../server-url.ts";
import { oneLine } from "../terminal/printable.ts";
import { toResponseError, unreachableError } from "../terminal/server-error.ts";
import { openBrowser, browserCommand } from "./browser.ts";
import { IssuerClient, type SignInClient, type Tokens } from "./issuer-client.ts";
import { startLoopbackServer, type Redirect } from "./loopback.ts";

const SIGN_IN_TIMEOUT_MS = 300_000;
const TIMEOUT_MS = 30_000;

/** undefined: the server uses operator tokens, or is an older release. */
export async function fetchSignInClient(url: string, signal: AbortSignal): Promise<SignInClient | undefined> {
  const timeoutSignal = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]);
  let response: Response;
  try {
    response = await fetch(`${url}/admin/login`, { redirect: "manual", signal: timeoutSignal });
  } catch (error) {
    if (signal.aborted) throw new CliError(EXIT.interrupted, "interrupted", { cause: error });
    throw unreachableError(error, url);
  }
  // A server without this endpoint asks for a token.
  if (response.status === 404 || response.status === 401) {
    await response.body?.cancel();
    return undefined;
  }
  if (!response.ok) throw await toResponseError(response);
  const client = parseSignInClient(await response.json().catch(() => undefined));
  if (client) return client;
  const message = `${url}/admin/login does not say how to sign in: no tenantry server answers there`;
  throw new CliError(EXIT.refused, message);
}

function parseSignInClient(value: unknown): SignInClient | undefined {
  const { issuer, clientId, scopes, audience } = (value ?? {}) as Partial<Record<keyof SignInClient, unknown>>;
  if (!isText(issuer) || !isText(clientId) || !Array.isArray(scopes) || !scopes.every(isText)) return undefined;
  if (audience === undefined) return { issuer, clientId, scopes };
  return isText(audience) ? { issuer, clientId, scopes, audience } : undefined;
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}

export interface SignInOptions {
  readonly client: SignInClient;
  /** 0 for any free port. */
  readonly port: number;
  /** Skips the question whether this server, issuer and client are right. */
  readonly yes: boolean | undefined;
}

export async function signIn(
  context: CommandContext,
  url: string,
  { client, port, yes }: SignInOptions,
): Promise<Tokens> {
  const { terminal } = context;
  const { signIns = {} } = await loadConfig(terminal);
  rejectUnsafe(url, client, signIns);
  if (!Object.hasOwn(signIns, url)) {
    await confirm(context, oneLine(`Sign in to ${url} with ${client.issuer} as its client ${client.clientId}`), yes);
  }
  const loopback = await startLoopbackServer(port);
  try {
    const codeRequest = await new IssuerClient(client, terminal.signal).createCodeRequest(loopback.redirectUri);
    const browser = browserCommand(terminal.env);
    const print = (text: string) => void terminal.stderr.write(`${oneLine(text)}\n`);
    print(`Signing in to ${url} with ${client.issuer}`);
    print(browser ? "If no browser opens, open this URL:" : "Open this URL in a browser on this machine:");
    print(codeRequest.url);
    if (!browser)
      print(
        `For a browser on another machine, first run there: ssh -L ${loopback.port}:127.0.0.1:${loopback.port} THIS-MACHINE`,
      );
    if (browser) openBrowser(browser, codeRequest.url, terminal.env);
    const redirect = await waitWithTimeout(
      (signal) => loopback.waitForRedirect(codeRequest.state, signal),
      terminal.signal,
    );
    return await finishSignIn(redirect, url, codeRequest.exchangeCode(redirect.parameters));
  } finally {
    loopback.close();
  }
}

async function finishSignIn(redirect: Redirect, url: string, exchange: Promise<Tokens>): Promise<Tokens> {
  try {
    const tokens = await exchange;
    redirect.respond(`You are signed in to ${url}. Close this page and go back to the terminal.`);
    return tokens;
  } catch (error) {
    redirect.respond(`You are not signed in to ${url}: the terminal says why.`);
    throw error;
  }
}

async function waitWithTimeout(
  waitForRedirect: (signal: AbortSignal) => Promise<Redirect>,
  signal: AbortSignal,
): Promise<Redirect> {
  const timeoutSignal = AbortSignal.any([signal, AbortSignal.timeout(SIGN_IN_TIMEOUT_MS)]);
  try {
    return await waitForRedirect(timeoutSignal);
  } catch (error) {
    if (signal.aborted) throw new CliError(EXIT.interrupted, "interrupted", { cause: error });
    const message = `no sign-in within ${SIGN_IN_TIMEOUT_MS / 60_000} minutes: run tenantry login again`;
    throw new CliError(EXIT.notAuthorised, message, { cause: error });
  }
}

function rejectUnsafe(url: string, client: SignInClient, signIns: NonNullable<Config["signIns"]>): void {
  const { audience = "" } = client;
  if (url.startsWith("http:") && !isLoopback(url)) {
    throw usageError(`${url}: the token would be sent unencrypted; use https://`);
  }
  // Otherwise, a fake server could obtain a token for another server.
  const isUrl = /^https?:/.test(audience);
  if (isUrl && !(URL.canParse(audience) && new URL(audience).origin === new URL(url).origin)) {
    throw signInRejected(`${url} asks for a token for another server, ${audience}`);
  }
  const isSame = (other: SignInClient) => other.issuer === client.issuer && other.clientId === client.clientId;
  const saved = Object.hasOwn(signIns, url) ? signIns[url] : undefined;
  if (saved && !isSame(saved)) {
    const before = `${url} named the issuer ${saved.issuer} with the client ${saved.clientId} before`;
    throw signInRejected(
      `${before}: if ${client.issuer} with ${client.clientId} is right, run tenantry logout --url ${url}`,
    );
  }
  const otherUrl = Object.keys(signIns).find(
    (savedUrl) => savedUrl !== url && isSame(signIns[savedUrl] as SignInClient),
  );
  if (otherUrl !== undefined && !isUrl) {
    const why = `${url} names the issuer and client of ${otherUrl}, which would accept its token, too`;
    throw signInRejected(`${why}: it needs a client of its own, or an audience that begins with ${url}`);
  }
}

function signInRejected(why: string): CliError {
  return new CliError(EXIT.refused, oneLine(`${why}; nothing was sent`));
}
