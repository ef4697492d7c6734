import type { Command } from "commander";
import { collectPages } from "../admin/admin-client.ts";
import { readDocument, toYaml } from "../admin/document-file.ts";
import { runCommand, confirm, type CommandContext } from "../command-context.ts";
import { followRollout, rolloutLines } from "./rollout.ts";
import { formatTable, formatTime } from "../terminal/table.ts";
import type { Terminal } from "../terminal/terminal.ts";

export function addBaseCommands(program: Command, terminal: Terminal): void {
  const base = program.command("base").description("List, show, write, roll out and delete base documents.");

  const list = base
    .command("list")
    .description("List base documents, and the number of tenants that extend each.")
    .addHelpText("after", "\nExamples:\n  tenantry base list");
  runCommand(list, terminal, listBases);

  const show = base
    .command("show")
    .description("Print a base document as YAML.")
    .argument("<base>")
    .addHelpText("after", "\nExamples:\n  tenantry base show standard > standard.yaml");
  runCommand(show, terminal, showBase);

  const put = base
    .command("put")
    .description("Write a base document. A tenant uses the new version after its next apply, or after a rollout.")
    .argument("<base>", "the name that tenants give under extends")
    .requiredOption("-f, --file <path>", "a YAML or JSON file, or - for stdin")
    .addHelpText(
      "after",
      "\nExamples:\n  tenantry base put standard -f standard.yaml\n\ntenantry base rollout brings it to the tenants that extend it.",
    );
  runCommand(put, terminal, putBase);

  const rollout = base
    .command("rollout")
    .description("Roll a base document out to every tenant that extends it.")
    .argument("<base>")
    .option("--dry-run", "only show what would change in each tenant")
    .addHelpText(
      "after",
      `
Examples:
  tenantry base rollout standard --dry-run
  tenantry base rollout standard

A tenant's own fields win over its bases. If the new base does not fit a tenant, the tenant keeps the old base, and the
command names the tenant. The server does the rollout, and this command only shows its progress. tenantry rollout list shows
the progress later, and tenantry rollout stop stops the rollout.`,
    );
  runCommand(rollout, terminal, rollOutBase);

  const remove = base
    .command("delete")
    .description("Delete a base document that no tenant extends.")
    .argument("<base>")
    .option("-y, --yes", "do not ask")
    .addHelpText("after", "\nExamples:\n  tenantry base delete standard");
  runCommand(remove, terminal, deleteBase);
}

async function listBases(context: CommandContext): Promise<void> {
  const bases = await collectPages(context.api.pages("GET /bases", {}));
  if (bases.length === 0) context.note("No base documents: tenantry base put NAME -f FILE makes one.");
  context.show(bases, () => {
    const rows = bases.map(({ name, revision, tenants, changed }) => [name, revision, tenants, formatTime(changed)]);
    return rows.length === 0
      ? ""
      : formatTable(["base", "revision", "tenants", "changed"], rows, context.terminal.stdout);
  });
}

async function showBase(context: CommandContext, [name]: readonly [string]): Promise<void> {
  const document = await context.api.request("GET /bases/{name}", { params: { name } });
  const text = await toYaml(document);
  context.show(document, () => text.trimEnd());
}

async function putBase(context: CommandContext, [name]: readonly [string], { file }: { file: string }): Promise<void> {
  const { value, withPositions } = await readDocument(file, context.terminal);
  const args = { params: { name }, body: value };
  const done = await withPositions(() => context.api.request("PUT /bases/{name}", args));
  context.show(done, () =>
    done.changed ? `${name}: written (revision ${done.revision})` : `${name}: nothing to change`,
  );
  if (done.changed)
    context.note(`Tenants use it from their next apply on; to change them now, run tenantry base rollout ${name}`);
}

async function rollOutBase(
  context: CommandContext,
  [name]: readonly [string],
  { dryRun }: { dryRun?: boolean },
): Promise<void> {
  const args = { params: { name }, body: { ...(dryRun && { dryRun }) } };
  const { rollout } = await context.api.request("POST /bases/{name}/rollout", args);
  const finished = await followRollout(context, rollout);
  context.show(finished, () => rolloutLines(finished));
}

async function deleteBase(
  context: CommandContext,
  [name]: readonly [string],
  { yes }: { yes?: boolean },
): Promise<void> {
  await confirm(context, `Delete the base document ${name}`, yes);
  const done = await context.api.remove("DELETE /bases/{name}", { params: { name } });
  context.show(done ?? { deleted: name }, () => `${name} is deleted`);
}
