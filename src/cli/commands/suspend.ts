// `tenantry suspend` and `tenantry resume`, for a tenant, a profile, a caller or a tool.

import type { Command } from "commander";
import { CliError, EXIT, usageError } from "../exit.ts";
import { runCommand, type CommandContext } from "../command-context.ts";
import { parsePrincipal, PRINCIPAL_HELP } from "./option-values.ts";
import { repeatText } from "../terminal/changes.ts";
import type { Terminal } from "../terminal/terminal.ts";

interface SuspendOptions {
  readonly profile?: string;
  readonly principal?: string;
  readonly tool?: string;
  readonly note?: string;
}

export function addSuspendCommands(program: Command, terminal: Terminal): void {
  const suspend = addTargetOptions(program.command("suspend"), "suspend")
    .description("Suspend a tenant, profile, caller or tool. Returns when it is in effect everywhere.")
    .requiredOption("-n, --note <text>", "a text for callers")
    .addHelpText(
      "after",
      `
Examples:
  tenantry suspend acme --note "Unpaid since March"
  tenantry suspend acme --tool note_delete --note "Under repair"
  tenantry suspend acme --principal Yk3v0Qp8sD --note "Too many calls"
  tenantry suspend acme --principal "oauth https://login.example.com 00u1a2b3" --note "Left"

tenant show lists what is suspended; resume ends it. tenantry block add stops a tool in every tenant. tenantry grant list shows the principals of people who signed in.`,
    );
  runCommand(suspend, terminal, runSuspend);

  const resume = addTargetOptions(program.command("resume"), "resume")
    .description("End a suspension.")
    .addHelpText(
      "after",
      `
Examples:
  tenantry resume acme
  tenantry resume acme --tool note_delete`,
    );
  runCommand(resume, terminal, runResume);
}

function addTargetOptions(command: Command, verb: string): Command {
  return command
    .argument("<tenant>")
    .option("--profile <name>", `${verb} only this profile`)
    .option("--principal <id>", `${verb} only ${PRINCIPAL_HELP}`, parsePrincipal)
    .option("--tool <name>", `${verb} only this tool`);
}

interface SuspendTarget {
  readonly kind: "tenant" | "profile" | "principal" | "tool";
  readonly name: string | undefined;
  readonly label: string;
}

function targetOf(tenant: string, options: SuspendOptions): SuspendTarget {
  const kinds = (["profile", "principal", "tool"] as const).filter((kind) => options[kind] !== undefined);
  if (kinds.length > 1) throw usageError("give one of --profile, --principal and --tool");
  const kind = kinds[0] ?? "tenant";
  const name = kind === "tenant" ? undefined : options[kind];
  return { kind, name, label: name === undefined ? tenant : `${kind} ${name} of ${tenant}` };
}

async function runSuspend(
  context: CommandContext,
  [tenant]: readonly [string],
  options: SuspendOptions,
): Promise<void> {
  const { kind, name, label } = targetOf(tenant, options);
  const answer = await context.api.response("POST /tenants/{id}/suspensions", {
    params: { id: tenant },
    body: { kind, ...(name !== undefined && { name }), note: options.note ?? "" },
  });
  if (answer.status === 202) {
    const later = "the tenant's storage does not answer. The suspension follows as soon as the storage answers";
    throw new CliError(EXIT.refused, `${label}: not confirmed: ${later}`);
  }
  const done = (await answer.json()) as object;
  context.show(done, () => `${label}: suspended`);
}

async function runResume(context: CommandContext, [tenant]: readonly [string], options: SuspendOptions): Promise<void> {
  const { kind, name, label } = targetOf(tenant, options);
  const params = { id: tenant, kind };
  const done = await (name === undefined
    ? context.api.change("DELETE /tenants/{id}/suspensions/{kind}", { params })
    : context.api.change("DELETE /tenants/{id}/suspensions/{kind}/{name}", { params: { ...params, name } }));
  if (!done.changed) throw new CliError(EXIT.notFound, `${label}: was not suspended`);
  context.show(done, () => `${label}: resumed${repeatText(done)}`);
}
