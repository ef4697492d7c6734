// Owns `tenantry login` and `tenantry logout`: which server this person works with, kept in a file only they can read.

import type { Command } from "commander";
import { createAdminClient } from "../admin/admin-client.ts";
import { findTarget, forgetToken, keepToken, parseToken, parseUrl } from "../config.ts";
import { usageError } from "../exit.ts";
import { ServerRefused } from "../terminal/problem.ts";
import { act, type Globals, type CommandContext } from "../command-context.ts";
import { askSecret, isInteractive, readStdin, type Terminal } from "../terminal/terminal.ts";

export function addLoginCommands(program: Command, terminal: Terminal): void {
  const login = program
    .command("login")
    .description("Check a server's URL and token and keep them for later commands.")
    .addHelpText(
      "after",
      `
Examples:
  tenantry login --url https://mcp.example.com
  tenantry login --url https://mcp.example.com < token.txt
  pass show mcp/token | tenantry login --url https://mcp.example.com

The token is asked for, or read from stdin. Other programs of this machine can read --token. Several servers may be kept: the last login is the default, --url picks another.`,
    );
  act(login, terminal, (context) => keep(context, login.optsWithGlobals<Globals>()));

  const logout = program
    .command("logout")
    .description("Forget the token of a server.")
    .addHelpText("after", "\nExamples:\n  tenantry logout\n  tenantry logout --url https://mcp.example.com");
  act(logout, terminal, async (context) => {
    const { url } = await findTarget(logout.optsWithGlobals<Globals>(), terminal);
    const had = await forgetToken(url, terminal);
    context.show({ url, forgotten: had }, () =>
      had ? `The token of ${url} is forgotten` : `No token of ${url} is kept`,
    );
  });
}

async function keep(context: CommandContext, globals: Globals): Promise<void> {
  const { terminal } = context;
  const url = globals.url === undefined ? context.api.base : parseUrl(globals.url);
  const token = parseToken(globals.token ?? (await askToken(terminal, url)));
  const target = { url, token, tokenFrom: globals.token === undefined ? "stdin" : "--token" };
  await checkToken(target, terminal);
  const file = await keepToken(url, token, terminal);
  context.show({ url, file }, () => `Logged in to ${url}; kept in ${file}`);
}

/** Throws for a token that the server does not know. A 403 is no such refusal: the server looks at the token first. */
async function checkToken(target: Parameters<typeof createAdminClient>[0], terminal: Terminal): Promise<void> {
  try {
    await createAdminClient(target, terminal.signal).json({ path: ["tenants"], query: { limit: 1 } });
  } catch (error) {
    if (error instanceof ServerRefused && error.status === 403) return;
    throw error;
  }
}

async function askToken(terminal: Terminal, url: string): Promise<string> {
  const text = isInteractive(terminal)
    ? await askSecret(terminal, `Token for ${url}: `)
    : (await readStdin(terminal)).toString("utf8");
  if (text.trim() === "") throw usageError("no token: type it, or give it on stdin, such as < token.txt");
  return text;
}
