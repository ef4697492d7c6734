// The common start of every command: server, terminal and output. `runCommand` is the one place where commander's
// untyped values get types.

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
  /** Only for `stdio`. */
  readonly local?: true;
}

export interface CommandContext {
  readonly terminal: Terminal;
  readonly json: boolean;
  readonly quiet: boolean;
  /** Whether the user gave --url, as opposed to a configured server. */
  readonly hasUrlOption: boolean;
  readonly api: AdminApi;
  /** Prints to stdout: the value with --json, otherwise the text for people. */
  show(value: unknown, human: () => string | readonly OutputLine[]): void;
  /** Prints to stderr, for people only: information beside the result. */
  note(text: string): void;
  /** Prints to stderr, for people and programs: events of a long-running command. */
  log(text: string): void;
  /** Prints to stderr, for people and programs and despite --quiet: a problem that does not end the command. */
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

/** Asks before an irreversible action. Throws unless the answer is yes. */
export async function confirm(context: CommandContext, question: string, yes: boolean | undefined): Promise<void> {
  if (yes === true) return;
  if (!isInteractive(context.terminal))
    throw usageError(`${question}: add --yes, because there is no terminal to confirm at`);
  const answer = await ask(context.terminal, `${question}? [y/N] `);
  if (!/^y(?:es)?$/i.test(answer)) throw usageError("nothing was done");
}

/** Takes the first `limit` items of a list that was requested with one more, and logs if there are more. */
export function takeNewest<T>(context: CommandContext, items: readonly T[], limit: number): readonly T[] {
  if (items.length > limit) context.log(`only the newest ${limit} shown; --limit shows more`);
  return items.slice(0, limit);
}

/** Collects the values of a repeatable option. */
export function collectOption(value: string, previous: readonly string[] | undefined): readonly string[] {
  return [...(previous ?? []), value];
}
