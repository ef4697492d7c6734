// `tenantry stdio`: a tenant over stdin and stdout, for clients that start local programs, and the hidden command
// that keeps a local server for them. Only MCP messages go to stdout.

import { resolve } from "node:path";
import type { Command } from "commander";
import { endpointUrl, createMcpEndpoint } from "../mcp-endpoint.ts";
import { CliError, EXIT, usageError } from "../exit.ts";
import { runCommand, type CommandContext } from "../command-context.ts";
import { Bridge } from "../stdio/bridge.ts";
import { findProject, findWrangler, isProject, runServerProcess } from "../local/server-process.ts";
import { readLines } from "../stdio/read-lines.ts";
import { startLocalServer, type LocalServer } from "../local/local-server.ts";
import { MessageWriter } from "../stdio/message-writer.ts";
import type { Terminal } from "../terminal/terminal.ts";
import { readKey, withKeyOptions, type KeyOptions } from "./key-option.ts";

interface StdioOptions extends KeyOptions {
  readonly local?: true;
  readonly state?: string;
  readonly project?: string;
}

export function addStdioCommand(program: Command, terminal: Terminal): void {
  const stdio = withKeyOptions(program.command("stdio"), "taken")
    .description("Serve a tenant to a local MCP client over stdin and stdout.")
    .argument(
      "[endpoint]",
      "a tenant, tenant/profile, or the URL of any MCP endpoint; else the server's default tenant",
    )
    .option("--local", "start a server on this machine; the server stops when the client stops")
    .option("--state <folder>", "with --local: the folder of stored data (default: .tenantry in the project)")
    .option(
      "--project <folder>",
      "with --local: the folder of the Worker (default: the nearest project, here or above)",
    )
    .addHelpText(
      "after",
      `
Examples:
  tenantry stdio demo                                       the tenant demo of the server you are logged in to
  tenantry stdio acme/public --url https://mcp.example.com --key-file key.txt
  tenantry stdio https://mcp.example.com/mcp/acme           any MCP endpoint, by its URL
  tenantry stdio --local                                    no server needed: one starts and stops with the client
  tenantry stdio --local acme --project ./my-worker --state ./my-data

An MCP client runs this command. In the client's configuration:

  { "mcpServers": { "acme": {
      "command": "node",
      "args": ["/PATH/TO/CHECKOUT/src/cli/main.ts", "stdio", "acme", "--url", "https://mcp.example.com"],
      "env": { "TENANTRY_KEY": "tnt_..." } } } }

In a project of tenantry init, "command" is "/PATH/TO/PROJECT/node_modules/.bin/tenantry", and "args" begin with "stdio".

Clients of every protocol version work. Lost sessions and broken streams are renewed without the client. Messages go to
stderr; with --quiet, only errors. The exit code is ${EXIT.ok} after the client closes stdin, and ${EXIT.interrupted} after Ctrl+C or
SIGTERM. A server of --local ends with the command.`,
    );
  runCommand(stdio, terminal, runStdio);
  const serve = program
    .command("__serve", { hidden: true })
    .argument("<project>")
    .argument("<state>")
    .argument("<port>");
  serve.action(async (project: string, state: string, port: string) =>
    runServerProcess(terminal, { project, state, port }),
  );
}

async function runStdio(
  context: CommandContext,
  [endpointRef]: readonly [string | undefined],
  options: StdioOptions,
): Promise<void> {
  const { terminal } = context;
  const key = await readKey(terminal, options, "taken");
  const local = await localServer(context, options);
  const base = local?.url ?? context.api.base;
  const log = (text: string) => context.log(text);
  const logSkipped = (why: string) => log(`an event of the server was skipped, because it is not a message: ${why}`);
  const endpoint = { ...createMcpEndpoint(endpointUrl(base, endpointRef), key), onSkipped: logSkipped };
  const end = new AbortController();
  const signal = AbortSignal.any([end.signal, terminal.signal]);
  const writer = new MessageWriter(terminal.stdout, signal);
  if (local?.error !== undefined) context.warn(`the Worker cannot serve yet: ${local.error}`);
  log(`serving ${endpoint.url} on stdin and stdout`);
  try {
    const bridge = new Bridge({ endpoint, signal, log, write: async (text) => writer.write(text) });
    await bridge.run(readLines(terminal.stdin as AsyncIterable<Buffer | string>, terminal.signal));
  } finally {
    end.abort();
    await local?.stop();
  }
  if (terminal.signal.aborted) throw new CliError(EXIT.interrupted, "interrupted");
}

async function localServer(context: CommandContext, options: StdioOptions): Promise<LocalServer | undefined> {
  const { terminal } = context;
  if (options.local !== true) {
    if (options.state !== undefined || options.project !== undefined) {
      throw usageError("--state and --project: only with --local");
    }
    return undefined;
  }
  if (context.hasUrlOption) throw usageError("--local and --url: give one of them");
  const project = options.project === undefined ? findProject(terminal.cwd) : resolve(terminal.folder, options.project);
  if (!isProject(project)) throw usageError(`--project: there is no wrangler.toml or wrangler.jsonc in ${project}`);
  findWrangler(project);
  const state = options.state === undefined ? resolve(project, ".tenantry") : resolve(terminal.folder, options.state);
  context.log(`starting a server; its data is stored in ${state}`);
  return startLocalServer(terminal, { project, state, quiet: context.quiet });
}
