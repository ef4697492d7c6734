// Owns what every command starts from: the server, the terminal, and how results are printed. `act` is the one place
// where commander's untyped values get their types.

import type { Command } from "commander";
import { createAdminClient, type AdminClient } from "./admin/admin-client.ts";
import { findTarget, isLoopback } from "./config.ts";
import { ask, isInteractive, oneLine, type Terminal } from "./terminal/terminal.ts";
import { usageError } from "./exit.ts";

export interface Globals {
  readonly url?: string;
  readonly token?: string;
  readonly json?: true;
  readonly quiet?: true;
}

export interface Session {
  readonly terminal: Terminal;
  readonly json: boolean;
  readonly quiet: boolean;
  /** The command line says which server; it is not the one that would be taken anyway. */
  readonly namesServer: boolean;
  readonly api: AdminClient;
  /** To stdout: the value itself with --json, else what a person reads. */
  show(value: unknown, human: () => string): void;
  /** To stderr, for a person only: what happened beside the result. */
  note(text: string): void;
  /** To stderr, whoever reads: what happens while a command goes on and on. */
  log(text: string): void;
}

/** A handler names the types of what its command declares: arguments in order, options in camel case. */
export function act(
  command: Command,
  terminal: Terminal,
  run: (session: Session, args: never, options: never) => Promise<void>,
): Command {
  return command.action(async () => {
    const session = await openSession(terminal, command.optsWithGlobals<Globals>());
    await run(session, command.processedArgs as never, command.opts<never>());
  });
}

async function openSession(terminal: Terminal, globals: Globals): Promise<Session> {
  const target = await findTarget(globals, terminal);
  const json = globals.json === true;
  const quiet = globals.quiet === true;
  const log = (text: string) => {
    if (!quiet) terminal.stderr.write(`tenantry: ${oneLine(text)}\n`);
  };
  const note = (text: string) => {
    if (!json && !quiet) terminal.stderr.write(`${oneLine(text)}\n`);
  };
  if (target.token !== undefined && target.url.startsWith("http:") && !isLoopback(target.url)) {
    note(`Warning: the token goes to ${target.url} unencrypted`);
  }
  return {
    terminal,
    json,
    quiet,
    namesServer: globals.url !== undefined,
    api: createAdminClient(target, terminal.signal),
    note,
    log,
    show: (value, human) => {
      const text = json ? JSON.stringify(value, null, 2) : human();
      if (text !== "") terminal.stdout.write(text.endsWith("\n") ? text : `${text}\n`);
    },
  };
}

/** Before something that cannot be taken back. */
export async function confirm(session: Session, question: string, yes: boolean | undefined): Promise<void> {
  if (yes === true) return;
  if (!isInteractive(session.terminal)) throw usageError(`${question}: add --yes, nobody can be asked here`);
  const answer = await ask(session.terminal, `${question}? [y/N] `);
  if (!/^y(?:es)?$/i.test(answer)) throw usageError("nothing was done");
}

/** For options that may be repeated. */
export function repeated(value: string, before: readonly string[] | undefined): readonly string[] {
  return [...(before ?? []), value];
}
