// Owns `tenantry suspend` and `tenantry resume`: stopping a tenant, a profile, a caller or a tool, and letting it go
// on.

import type { Command } from "commander";
import { CliError, EXIT, usageError } from "../exit.ts";
import { act, type CommandContext } from "../command-context.ts";
import { parseKeyId } from "./option-values.ts";
import { staleEnd } from "../terminal/changes.ts";
import type { Terminal } from "../terminal/terminal.ts";

interface SuspendOptions {
  readonly profile?: string;
  readonly principal?: string;
  readonly tool?: string;
  readonly allTenants?: boolean;
  readonly note?: string;
}

export function addSuspendCommands(program: Command, terminal: Terminal): void {
  const suspend = withTarget(program.command("suspend"), "suspend")
    .description("Stop a tenant, or a profile, a caller or a tool of it. When this returns, it is in force everywhere.")
    .requiredOption("-n, --note <text>", "what callers are told")
    .addHelpText(
      "after",
      `
Examples:
  tenantry suspend acme --note "Unpaid since March"
  tenantry suspend acme --tool note_delete --note "Under repair"
  tenantry suspend acme --principal Yk3v0Qp8sD --note "Too many calls"
  tenantry suspend acme --principal "oauth https://login.example.com 00u1a2b3" --note "Left"
  tenantry suspend --all-tenants --tool note_delete --note "Security fix under way"
  tenantry suspend --all-tenants --tool tracker__delete --note "Upstream was broken into"

tenant show lists what is suspended; resume ends it. Who signed in has a principal in tenantry grant list.`,
    );
  act(suspend, terminal, runSuspend);

  const resume = withTarget(program.command("resume"), "resume")
    .description("End a suspension.")
    .addHelpText(
      "after",
      `
Examples:
  tenantry resume acme
  tenantry resume acme --tool note_delete
  tenantry resume --all-tenants --tool note_delete`,
    );
  act(resume, terminal, runResume);
}

function withTarget(command: Command, verb: string): Command {
  return command
    .argument("[tenant]")
    .option("--profile <name>", `only ${verb} this profile`)
    .option(
      "--principal <id>",
      `only ${verb} this caller: a key's id, "oauth ISSUER SUBJECT", "app ID" or "worker NAME"`,
      parseKeyId,
    )
    .option("--tool <name>", `only ${verb} this tool`)
    .option("--all-tenants", "the tool in every tenant");
}

interface SuspendTarget {
  /** Undefined for all tenants. */
  readonly tenant: string | undefined;
  readonly kind: "tenant" | "profile" | "principal" | "tool";
  readonly name: string | undefined;
  readonly shown: string;
}

function placeOf(tenant: string | undefined, options: SuspendOptions): SuspendTarget {
  const kinds = (["profile", "principal", "tool"] as const).filter((kind) => options[kind] !== undefined);
  if (kinds.length > 1) throw usageError("give one of --profile, --principal and --tool");
  const kind = kinds[0] ?? "tenant";
  const name = kind === "tenant" ? undefined : options[kind];
  if (options.allTenants === true) {
    if (tenant !== undefined || kind !== "tool") throw usageError("--all-tenants: needs --tool, and no tenant");
    return { tenant: undefined, kind, name, shown: `tool ${name} of all tenants` };
  }
  if (tenant === undefined) throw usageError("give a tenant, or --all-tenants with --tool");
  return { tenant, kind, name, shown: name === undefined ? tenant : `${kind} ${name} of ${tenant}` };
}

async function runSuspend(
  context: CommandContext,
  [tenant]: readonly [string?],
  options: SuspendOptions,
): Promise<void> {
  const place = placeOf(tenant, options);
  const { kind, name } = place;
  const { note } = options;
  const done = await context.api.json<{ readonly staleUntil?: string } | undefined>(
    place.tenant === undefined
      ? { method: "POST", path: ["tools", name ?? "", "block"], json: { note } }
      : {
          method: "POST",
          path: ["tenants", place.tenant, "suspensions"],
          json: { kind, ...(name !== undefined && { name }), note },
        },
  );
  context.show(done ?? {}, () => [`${place.shown}: suspended`, ...staleEnd(done)].join("\n"));
}

async function runResume(
  context: CommandContext,
  [tenant]: readonly [string?],
  options: SuspendOptions,
): Promise<void> {
  const place = placeOf(tenant, options);
  const { kind, name } = place;
  const done = await context.api.json<{ readonly changed: boolean } | undefined>({
    method: "DELETE",
    path:
      place.tenant === undefined
        ? ["tools", name ?? "", "block"]
        : ["tenants", place.tenant, "suspensions", kind, ...(name === undefined ? [] : [name])],
  });
  if (done?.changed === false) throw new CliError(EXIT.notFound, `${place.shown}: was not suspended`);
  context.show(done ?? {}, () => `${place.shown}: resumed`);
}
