// `tenantry operator`: who may use the admin API, and in which role.

import type { Command } from "commander";
import { Option } from "commander";
import type { Infer, Role } from "../../admin/contract.ts";
import { collectPages } from "../admin/admin-client.ts";
import { parseMoment } from "./option-values.ts";
import { runCommand, confirm, collectOption, type CommandContext } from "../command-context.ts";
import { ResponseError } from "../terminal/server-error.ts";
import { formatTable, formatTime } from "../terminal/table.ts";
import type { Terminal } from "../terminal/terminal.ts";

interface CreateOptions {
  readonly role: Infer<typeof Role>;
  readonly tenant?: readonly string[];
  readonly expires?: string;
}

export function addOperatorCommands(program: Command, terminal: Terminal): void {
  const operator = program.command("operator").description("Create, list and delete the operators of this server.");

  const create = operator
    .command("create")
    .description("Create an operator. Stdout gets only the token, which is shown once.")
    .argument("<name>")
    .addOption(
      new Option("-r, --role <role>", "the role")
        .choices(["owner", "operator", "auditor", "tenant-admin"])
        .makeOptionMandatory(),
    )
    .option("-t, --tenant <tenant>", "for tenant-admin: a tenant; repeatable", collectOption)
    .option("--expires <when>", "when it expires: 30d, 2027-01-31, or a full ISO 8601 time", parseMoment)
    .addHelpText(
      "after",
      `
Examples:
  tenantry operator create ci --role operator --expires 90d
  tenantry operator create acme-team --role tenant-admin --tenant acme --tenant acme-staging

owner: everything. operator: everything but operators. auditor: reads. tenant-admin: everything in its tenants.`,
    );
  runCommand(create, terminal, createOperator);

  const list = operator
    .command("list")
    .description("List operators, without their tokens.")
    .addHelpText("after", "\nExamples:\n  tenantry operator list");
  runCommand(list, terminal, listOperators);

  const remove = operator
    .command("delete")
    .description("Delete an operator; the token stops working.")
    .argument("<name>")
    .option("-y, --yes", "do not ask")
    .addHelpText("after", "\nExamples:\n  tenantry operator delete ci --yes");
  runCommand(remove, terminal, deleteOperator);
}

async function createOperator(
  context: CommandContext,
  [name]: readonly [string],
  options: CreateOptions,
): Promise<void> {
  const { role, tenant, expires } = options;
  const body = { name, role, ...(tenant && { tenants: [...tenant] }), ...(expires !== undefined && { expires }) };
  const created = await context.api.request("POST /operators", { body });
  const { isTTY } = context.terminal.stdout;
  context.note(
    isTTY
      ? `Operator ${created.name}, ${created.role}. This is the only time the token is shown:`
      : `Operator ${created.name}, ${created.role}, created. The token is on stdout and cannot be shown again.`,
  );
  context.show(created, () => created.token);
  for (const id of tenant ?? []) await warnIfTenantMissing(context, id);
}

/**
 * The tenant may be created later, and then belongs to this operator. Any error here is ignored, because the
 * operator already exists.
 */
async function warnIfTenantMissing(context: CommandContext, id: string): Promise<void> {
  const failure = await context.api.request("GET /tenants/{id}", { params: { id } }).catch((error: unknown) => error);
  if (failure instanceof ResponseError && failure.status === 404) context.warn(`there is no tenant ${id} yet`);
}

async function listOperators(context: CommandContext): Promise<void> {
  const operators = await collectPages(context.api.pages("GET /operators", {}));
  if (operators.length === 0) context.note("No operators: only the owner's token works.");
  context.show(operators, () => {
    const rows = operators.map((one) => [
      one.name,
      one.role,
      one.tenants?.join(", "),
      formatTime(one.created),
      formatTime(one.expires),
    ]);
    const titles = ["operator", "role", "tenants", "created", "expires"];
    return rows.length === 0 ? "" : formatTable(titles, rows, context.terminal.stdout);
  });
}

async function deleteOperator(
  context: CommandContext,
  [name]: readonly [string],
  { yes }: { yes?: boolean },
): Promise<void> {
  await confirm(context, `Delete operator ${name}`, yes);
  const done = await context.api.remove("DELETE /operators/{name}", { params: { name } });
  context.show(done ?? { deleted: name }, () => `${name}: deleted`);
}
