// The command line as a whole: commands, shared options, help and error output.

import { Command, CommanderError } from "commander";
import { addApplyCommands } from "./commands/apply.ts";
import { addAuditCommands } from "./commands/audit.ts";
import { addBaseCommands } from "./commands/base.ts";
import { addBlockCommands } from "./commands/block.ts";
import { addBackupCommands } from "./commands/backup.ts";
import { addCallsCommands } from "./commands/calls.ts";
import { addCallCommand } from "./commands/call.ts";
import { addCompletionCommands } from "./commands/completion.ts";
import { addConnectCommand } from "./commands/connect.ts";
import { addDoctorCommand } from "./commands/doctor.ts";
import { addExportCommand } from "./commands/export.ts";
import { addRolloutCommands } from "./commands/rollout.ts";
import { addGrantCommands } from "./commands/grant.ts";
import { addInitCommand } from "./commands/init.ts";
import { addKeyCommands } from "./commands/key.ts";
import { addLimitsCommand } from "./commands/limits.ts";
import { addErrorsCommands } from "./commands/errors.ts";
import { addLoginCommands } from "./commands/login.ts";
import { addOperatorCommands } from "./commands/operator.ts";
import { addPromptCommands } from "./commands/prompt.ts";
import { addResourceCommands } from "./commands/resource.ts";
import { addSecretCommands } from "./commands/secret.ts";
import { addStdioCommand } from "./commands/stdio.ts";
import { addSuspendCommands } from "./commands/suspend.ts";
import { addTenantCommands } from "./commands/tenant.ts";
import { addUpstreamCommands } from "./commands/upstream.ts";
import { addUpstreamReviewCommands } from "./commands/upstream-review.ts";
import { addWebhookCommands } from "./commands/webhook.ts";
import { addUsageCommand } from "./commands/usage.ts";
import { addListenCommand } from "./commands/listen.ts";
import { CliError, EXIT, usageError, type ExitCode } from "./exit.ts";
import { rewriteInvocation } from "./terminal/invocation.ts";
import { collectOption } from "./command-context.ts";
import { oneLine, printableJson } from "./terminal/printable.ts";
import { ValidationError, ResponseError } from "./terminal/server-error.ts";
import { createTerminal, type ProcessContext, type Terminal } from "./terminal/terminal.ts";
import { GETTING_STARTED, TOPICS } from "./commands/help-topics.ts";
import { VERSION } from "./version.ts";

/** Runs one command line to its end. Never throws. */
export async function runCommandLine(args: readonly string[], processContext: ProcessContext): Promise<ExitCode> {
  const terminal = createTerminal(processContext);
  const program = createProgram(terminal);
  try {
    if (args.length === 0) program.outputHelp();
    else await program.parseAsync(args, { from: "user" });
    return EXIT.ok;
  } catch (error) {
    const { exit, message } = failureOf(error, terminal, (code) => helpHint(program, args, code));
    if (message === "") return exit;
    if (args.includes("--json")) terminal.stderr.write(`${printableJson(failureJson(error, { exit, message }))}\n`);
    else {
      const lines = error instanceof ValidationError ? error.lines : [message];
      const text = lines.map((line) => oneLine(rewriteInvocation(line, processContext.env))).join("\n");
      terminal.stderr.write(`tenantry: ${text}\n`);
    }
    return exit;
  }
}

export function createProgram(terminal: Terminal): Command {
  const program = new Command("tenantry")
    .description("Manage MCP endpoints of many tenants.")
    .usage("COMMAND [options]")
    .option(
      "--url <url>",
      "the server; default: TENANTRY_URL, or the last login, or the server of npm start in this folder",
    )
    .option("--token <token>", "an operator's token; other programs can see it, so prefer TENANTRY_TOKEN or login")
    .option("--json", "print JSON instead of tables")
    .version(VERSION, "-V, --version", "print the version of this program")
    .option("-q, --quiet", "print only errors on stderr")
    .exitOverride()
    .configureOutput({
      writeOut: (text) => void terminal.stdout.write(rewriteInvocation(text, terminal.env)),
      writeErr: (text) => void terminal.stderr.write(rewriteInvocation(text, terminal.env)),
      outputError: () => {},
      getOutHelpWidth: () => terminal.stdout.columns || 100,
      getErrHelpWidth: () => terminal.stderr.columns || 100,
    })
    .configureHelp({ showGlobalOptions: true, subcommandTerm: (command) => command.name() })
    .helpOption("-h, --help", "show this help")
    .addHelpText("after", GETTING_STARTED);
  for (const [title, adders] of Object.entries(GROUPS)) {
    program.commandsGroup(`${title}:`);
    for (const add of adders) add(program, terminal);
  }
  for (const command of [program, ...program.commands]) command.helpCommand(false);
  rejectRepeatedOptions(program);
  markRequiredOptions(program);
  return program;
}

/** For help and docs/commands.md: commander itself marks no option. */
function markRequiredOptions(command: Command): void {
  for (const option of command.options) if (option.mandatory) option.description = `required: ${option.description}`;
  for (const subcommand of command.commands) markRequiredOptions(subcommand);
}

/**
 * Rejects a repeated single-value option of this command and its subcommands, for one run of the program: with
 * `-f a.yaml -f b.yaml`, commander would silently drop the first. Repeatable options are recognized by their parser.
 */
function rejectRepeatedOptions(command: Command): void {
  for (const option of command.options) {
    if (option.isBoolean() || option.variadic || option.parseArg === (collectOption as typeof option.parseArg))
      continue;
    let times = 0;
    command.on(`option:${option.name()}`, () => {
      times += 1;
      if (times > 1) throw usageError(`${option.long ?? option.flags} is given twice, and has one value`);
    });
  }
  for (const subcommand of command.commands) rejectRepeatedOptions(subcommand);
}

const GROUPS: Readonly<Record<string, readonly ((program: Command, terminal: Terminal) => void)[]>> = {
  "A project": [addInitCommand],
  Tenants: [addTenantCommands, addApplyCommands, addExportCommand, addBackupCommands],
  "Content of a tenant": [
    addResourceCommands,
    addPromptCommands,
    addSecretCommands,
    addUpstreamCommands,
    addUpstreamReviewCommands,
  ],
  Access: [addKeyCommands, addGrantCommands, addSuspendCommands, addLimitsCommand],
  Records: [addAuditCommands, addCallsCommands, addUsageCommand, addWebhookCommands],
  Tests: [addCallCommand, addListenCommand, addDoctorCommand],
  Clients: [addConnectCommand, addStdioCommand],
  "All tenants": [addBaseCommands, addRolloutCommands, addBlockCommands, addOperatorCommands, addErrorsCommands],
  "This program": [addLoginCommands, addCompletionCommands, addHelpCommand],
};

function addHelpCommand(program: Command, terminal: Terminal): void {
  program
    .command("help")
    .description(`Explain a command with examples, or a topic: ${Object.keys(TOPICS).join(", ")}.`)
    .argument("[words...]", "such as resource put")
    .action((words: readonly string[]) => {
      const topic = TOPICS[words.join("-")];
      if (topic !== undefined) return void terminal.stdout.write(`${rewriteInvocation(topic, terminal.env)}\n`);
      let command = program;
      for (const word of words) {
        const next = command.commands.find((one) => one.name() === word);
        if (!next) throw usageError(`there is no help for ${words.join(" ")}; tenantry help lists what there is`);
        command = next;
      }
      command.outputHelp();
    });
}

interface CommandMatch {
  readonly command: Command;
  /** The words of the command, such as `key create`; none for the program itself. */
  readonly words: readonly string[];
}

/** The command of a command line before it is parsed: `key create` in `tenantry key create acme`. */
function findCommand(program: Command, args: readonly string[]): CommandMatch {
  let command = program;
  const words = args.filter((arg) => {
    const next = command.commands.find((one) => one.name() === arg);
    command = next ?? command;
    return next !== undefined;
  });
  return { command, words };
}

/** Adds to commander's message: which unknown option it did not report, and the help command to run. */
function helpHint(program: Command, args: readonly string[], code: string): string {
  const { command, words } = findCommand(program, args);
  const known = [...command.options, ...program.options].flatMap(({ short, long }) => [short, long]);
  const flags = args.flatMap((arg) => /^--[a-z][^=]*/.exec(arg) ?? []);
  const unknown = flags.find((flag) => !known.includes(flag));
  // Commander checks mandatory options first, and so does not report that one of them is misspelt.
  const misspelt = code === "commander.missingMandatoryOptionValue" && unknown !== undefined;
  return `${misspelt ? `; there is no option ${unknown}` : ""}; ${["tenantry help", ...words].join(" ")} shows what it takes`;
}

/** The error as JSON for --json. Errors from the server have a status, unlike those of this program. */
function failureJson(error: unknown, failure: { readonly exit: ExitCode; readonly message: string }): object {
  const status = error instanceof ResponseError ? { status: error.status } : {};
  const errors = error instanceof ValidationError ? { errors: error.memberErrors } : {};
  return { error: { ...failure, ...status, ...errors } };
}

/** Errors of this program and of commander are written for people. Any other error is a bug of this program. */
function failureOf(
  error: unknown,
  terminal: Terminal,
  hintFor: (code: string) => string,
): { exit: ExitCode; message: string } {
  if (error instanceof CliError) return { exit: error.exit, message: error.message };
  if (error instanceof CommanderError) {
    if (error.exitCode === 0) return { exit: EXIT.ok, message: "" };
    // A command group such as `tenantry key` without a subcommand; its help has been printed.
    if (error.code === "commander.help") return { exit: EXIT.usage, message: "" };
    const message = error.message.replace(/^error: /, "").replace(/\.$/, "");
    return { exit: EXIT.usage, message: message + hintFor(error.code) };
  }
  if (terminal.signal.aborted) return { exit: EXIT.interrupted, message: "interrupted" };
  const message = error instanceof Error ? error.message : String(error);
  return { exit: EXIT.refused, message: `unexpected: ${message}` };
}
