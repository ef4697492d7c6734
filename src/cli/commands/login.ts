// `tenantry login` and `tenantry logout`: the server and the account to use, stored in a file that only the user can
// read.

import type { Command } from "commander";
import { createAdminApi } from "../admin/admin-client.ts";
import { runCommand, type CommandContext, type GlobalOptions } from "../command-context.ts";
import { findTarget, forgetToken, saveSignIn, saveToken, parseToken } from "../config.ts";
import type { SavedSignIn } from "../config-file.ts";
import { CliError, EXIT, usageError } from "../exit.ts";
import { parseServerUrl } from "../server-url.ts";
import { IssuerClient } from "../sign-in/issuer-client.ts";
import { fetchSignInClient, signIn, type SignInOptions } from "../sign-in/sign-in.ts";
import { ResponseError } from "../terminal/server-error.ts";
import { askSecret, isInteractive, readStdin, type Terminal } from "../terminal/terminal.ts";
import { parseUpTo } from "./option-values.ts";

interface LoginOptions {
  readonly browser?: true;
  readonly port?: number;
  readonly yes?: true;
}

export function addLoginCommands(program: Command, terminal: Terminal): void {
  const login = program
    .command("login")
    .description("Sign in to a server with the browser or a token. Later commands use this sign-in.")
    .option("--browser", "sign in with the browser, even without a terminal")
    .option("--port <port>", "a fixed port for the redirect, if the authorization server needs one", parseUpTo(65_535))
    .option("-y, --yes", "at the first sign-in, accept the server, the issuer and the client id without a question")
    .addHelpText(
      "after",
      `
Examples:
  tenantry login --url https://mcp.example.com
  tenantry login --browser --port 8401 --url https://mcp.example.com
  tenantry login --url https://mcp.example.com < token.txt
  pass show mcp/token | tenantry login --url https://mcp.example.com

If operators of the server sign in with an authorization server, a browser opens; the address is printed, too. Otherwise, the
command asks for a token, or reads it from stdin. Other programs on this machine can read --token. You can log in to several
servers: the last login is the default, and --url selects another.`,
    );
  runCommand(login, terminal, async (context, _args, options: LoginOptions) => {
    const globals = login.optsWithGlobals<GlobalOptions>();
    const url = globals.url === undefined ? context.api.base : parseServerUrl(globals.url);
    const usesBrowser = options.browser ?? (globals.token === undefined && isInteractive(terminal));
    const client = usesBrowser ? await fetchSignInClient(url, terminal.signal) : undefined;
    if (client) return logInByBrowser(context, url, { client, port: options.port ?? 0, yes: options.yes });
    if (options.browser) {
      throw new CliError(
        EXIT.notFound,
        `${url} has no sign-in in the browser: run tenantry login without --browser, and give a token`,
      );
    }
    return logInByToken(context, url, globals.token);
  });

  const logout = program
    .command("logout")
    .description("Delete the stored token of a server, and end its sign-in.")
    .addHelpText("after", "\nExamples:\n  tenantry logout\n  tenantry logout --url https://mcp.example.com");
  runCommand(logout, terminal, async (context) => {
    const { url } = await findTarget(logout.optsWithGlobals<GlobalOptions>(), terminal);
    const { existed, signIn: savedSignIn } = await forgetToken(url, terminal);
    if (savedSignIn) await revokeAtIssuer(context, savedSignIn);
    context.show({ url, forgotten: existed }, () =>
      existed ? `The token of ${url} is deleted` : `No token of ${url} is stored`,
    );
  });
}

async function logInByBrowser(context: CommandContext, url: string, options: SignInOptions): Promise<void> {
  const { terminal } = context;
  const tokens = await signIn(context, url, options);
  await checkToken({ url, token: parseToken(tokens.token), tokenSource: options.client.issuer }, terminal);
  const file = await saveSignIn(url, tokens, options.client, terminal);
  const { accountName = "somebody", refreshToken, expires } = tokens;
  const until = refreshToken === undefined ? `, until ${new Date(expires).toISOString()}` : "";
  context.show(
    { url, file, as: accountName },
    () => `Logged in to ${url} as ${accountName}${until}; stored in ${file}`,
  );
}

async function logInByToken(context: CommandContext, url: string, tokenOption: string | undefined): Promise<void> {
  const { terminal } = context;
  const token = parseToken(tokenOption ?? (await askToken(terminal, url)));
  await checkToken({ url, token, tokenSource: tokenOption === undefined ? "stdin" : "--token" }, terminal);
  const file = await saveToken(url, token, terminal);
  context.show({ url, file }, () => `Logged in to ${url}; stored in ${file}`);
}

/** A failure here does not restore the sign-in that was deleted locally. */
async function revokeAtIssuer(context: CommandContext, { refreshToken, ...client }: SavedSignIn): Promise<void> {
  if (refreshToken === undefined) return;
  try {
    await new IssuerClient(client, context.terminal.signal).revoke(refreshToken);
  } catch (error) {
    context.warn(`the sign-in at ${client.issuer} was not ended: ${(error as Error).message}`);
  }
}

/**
 * Throws for a token that the server does not know. A 403 means that the token is valid: the server checks the token
 * first.
 */
async function checkToken(target: Parameters<typeof createAdminApi>[0], terminal: Terminal): Promise<void> {
  try {
    await createAdminApi(target, terminal.signal).request("GET /tenants", { query: { limit: 1 } });
  } catch (error) {
    if (error instanceof ResponseError && error.status === 403) return;
    throw error;
  }
}

async function askToken(terminal: Terminal, url: string): Promise<string> {
  const text = isInteractive(terminal)
    ? await askSecret(terminal, `Token for ${url}: `)
    : (await readStdin(terminal)).toString("utf8");
  if (text.trim() === "") throw usageError("no token: type it, or pass it on stdin, such as < token.txt");
  return text;
}
