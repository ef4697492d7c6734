// Owns what every command starts from: the server, the terminal, and how results are printed. `act` is the one place
// where commander's untyped values get their types.

import type { Command } from "commander";
import { createAdminApi, type AdminApi } from "./admin/admin-client.ts";
import { findTarget } from "./config.ts";
import { rewriteInvocation } from "./terminal/invocation.ts";
import type { OutputLine } from "./terminal/output.ts";
import { oneLine, printableJson } from "./terminal/printable.ts";
import { ask, isInteractive, type Terminal } from "./terminal/terminal.ts";
import { usageError } from "./exit.ts";
import { isLoopback } from "./server-url.ts";

export interface GlobalOptions {
  readonly url?: string;
  readonly token?: string;
  readonly json?: true;
  readonly quiet?: true;
  /** Of `stdio` alone. */
  readonly local?: true;
}

export interface CommandContext {
  readonly terminal: Terminal;
  readonly json: boolean;
  readonly quiet: boolean;
  /** Whether --url was given, as opposed to a server found in the configuration. */
  readonly hasUrlOption: boolean;
  readonly api: AdminApi;
  /** To stdout: the value itself with --json, else what a person reads. */
  show(value: unknown, human: () => string | readonly OutputLine[]): void;
  /** To stderr, for a person only: what happened beside the result. */
  note(text: string): void;
  /** To stderr, whoever reads: what happens while a command goes on and on. */
  log(text: string): void;
  /** To stderr, whoever reads and in spite of --quiet: something is wrong, and the command goes on. */
  warn(text: string): void;
}

/** `run` declares the types of its arguments (in order) and options (in camel case). Nothing checks these types. */
export function runCommand(
  command: Command,
  terminal: Terminal,
  run: (context: CommandContext, args: never, options: never) => Promise<void>,
): Command {
  return command.action(async () => {
    const context = await createCommandContext(terminal, command.optsWithGlobals<GlobalOptions>());
    await run(context, command.processedArgs as never, command.opts<never>());
  });
}

async function createCommandContext(terminal: Terminal, globals: GlobalOptions): Promise<CommandContext> {
  const target = await findTarget(globals, terminal);
  const json = globals.json === true;
  const quiet = globals.quiet === true;
  const warn = (text: string) =>
    void terminal.stderr.write(`tenantry: ${oneLine(rewriteInvocation(text, terminal.env))}\n`);
  const log = (text: string) => {
    if (!quiet) warn(text);
  };
  const note = (text: string) => {
    if (!json && !quiet) terminal.stderr.write(`${oneLine(rewriteInvocation(text, terminal.env))}\n`);
  };
  if (target.token !== undefined && target.url.startsWith("http:") && !isLoopback(target.url)) {
    note(`Warning: the token goes to ${target.url} unencrypted`);
  }
  return {
    terminal,
    json,
    quiet,
    hasUrlOption: globals.url !== undefined,
    api: createAdminApi(target, terminal.signal),
    note,
    log,
    warn,
    show: (value, human) => {
      terminal.stdout.lines([json ? printableJson(value, 2) : human()].flat());
    },
  };
}

/** Asks before something that cannot be undone; throws unless the answer is yes. */
export async function confirm(context: CommandContext, question: string, yes: boolean | undefined): Promise<void> {
  if (yes === true) return;
  if (!isInteractive(context.terminal)) throw usageError(`${question}: add --yes, nobody can be asked here`);
  const answer = await ask(context.terminal, `${question}? [y/N] `);
  if (!/^y(?:es)?$/i.test(answer)) throw usageError("nothing was done");
}

/** The first of a list that is asked for one more than `limit`, and a word where there is that one. */
export function takeNewest<T>(context: CommandContext, items: readonly T[], limit: number): readonly T[] {
  if (items.length > limit) context.log(`the newest ${limit}; --limit shows more`);
  return items.slice(0, limit);
}

/** Collects the values of an option that may be given several times. */
export function collectOption(value: string, previous: readonly string[] | undefined): readonly string[] {
  return [...(previous ?? []), value];
}
