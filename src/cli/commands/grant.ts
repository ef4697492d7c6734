// `tenantry grant` and `tenantry login-client`: the access that people granted to clients, and those clients.

import type { Command } from "commander";
import type { GrantShape, Infer } from "../../admin/contract.ts";
import { collectPages } from "../admin/admin-client.ts";
import { CliError, EXIT } from "../exit.ts";
import { parsePrincipal, PRINCIPAL_HELP } from "./option-values.ts";
import { runCommand, confirm, type CommandContext } from "../command-context.ts";
import { formatTable, formatTime } from "../terminal/table.ts";
import type { Terminal } from "../terminal/terminal.ts";

type Grant = Infer<typeof GrantShape>;

export function addGrantCommands(program: Command, terminal: Terminal): void {
  const grant = program.command("grant").description("List and end grants of people to clients.");
  const list = grant
    .command("list")
    .description("List the grants that people gave to clients, and the tools that each person excluded.")
    .argument("<tenant>")
    .option("--principal <id>", `only grants of ${PRINCIPAL_HELP}`, parsePrincipal)
    .addHelpText(
      "after",
      `
Examples:
  tenantry grant list acme
  tenantry grant list acme --principal "oauth https://login.example.com 00u1a2b3"`,
    );
  runCommand(list, terminal, listGrants);
  const end = grant
    .command("end")
    .description("End a grant. When the command returns, the tokens of the grant no longer work.")
    .argument("<tenant>")
    .argument("<grant>", "its id, as grant list shows it")
    .option("-y, --yes", "do not ask")
    .addHelpText("after", "\nExamples:\n  tenantry grant end acme Yk3v0Qp8sD --yes");
  runCommand(end, terminal, endGrant);

  const client = program.command("login-client").description("List and remove the OAuth clients of a tenant.");
  const clients = client
    .command("list")
    .description("List a tenant's OAuth clients, both registered clients and clients with a metadata document.")
    .argument("<tenant>")
    .addHelpText("after", "\nExamples:\n  tenantry login-client list acme");
  runCommand(clients, terminal, listClients);
  const remove = client
    .command("remove")
    .description("Remove a client and end its grants. It may register again (auth.login.clients).")
    .argument("<tenant>")
    .argument("<client>", "its id, as login-client list shows it")
    .option("-y, --yes", "do not ask")
    .addHelpText(
      "after",
      "\nExamples:\n  tenantry login-client remove acme https://client.example/metadata.json --yes",
    );
  runCommand(remove, terminal, removeClient);
}

async function listGrants(
  context: CommandContext,
  [tenant]: readonly [string],
  { principal }: { principal?: string },
): Promise<void> {
  const query = principal === undefined ? {} : { principal };
  const grants = await collectPages(context.api.pages("GET /tenants/{id}/grants", { params: { id: tenant }, query }));
  if (grants.length === 0) context.note("No grants: no person has given a client access.");
  context.show(grants, () => {
    const rows = grants.map((one) => [
      one.id,
      one.client.name,
      one.person.email ?? one.person.name ?? one.principal,
      grantSummary(one),
      formatTime(one.created),
      formatTime(one.lastUsed),
      one.principal,
    ]);
    const titles = ["grant", "client", "person", "may use", "since", "last used", "principal"];
    return rows.length === 0 ? "" : formatTable(titles, rows, context.terminal.stdout);
  });
}

function grantSummary({ deny, allow, toolsOnly, profile, scopes }: Grant): string {
  const tools = allow ? `only ${allow.join(", ") || "no tool"}` : deny.length > 0 ? `not ${deny.join(", ")}` : "all";
  const read = toolsOnly ? ["no prompts or resources"] : [];
  return [tools, ...read, ...(profile === null ? [] : [`profile ${profile}`]), ...(scopes ?? [])].join("; ");
}

async function listClients(context: CommandContext, [tenant]: readonly [string]): Promise<void> {
  const clients = await collectPages(context.api.pages("GET /tenants/{id}/login-clients", { params: { id: tenant } }));
  if (clients.length === 0) context.note("No clients: no OAuth client has registered or asked for a login.");
  context.show(clients, () => {
    const rows = clients.map((one) => [one.id, one.name, one.kind, one.redirects.join(" "), formatTime(one.lastUsed)]);
    const titles = ["client", "name", "kind", "redirects", "last used"];
    return rows.length === 0 ? "" : formatTable(titles, rows, context.terminal.stdout);
  });
}

async function endGrantOrClient(
  [context, tenant, id]: readonly [context: CommandContext, tenant: string, id: string],
  kind: "grants" | "login-clients",
  yes?: boolean,
): Promise<void> {
  const [label, verb] = kind === "grants" ? [`grant ${id}`, "End"] : [`client ${id}`, "Remove"];
  await confirm(context, `${verb} ${label} of ${tenant}`, yes);
  const done =
    kind === "grants"
      ? await context.api.request("DELETE /tenants/{id}/grants/{grant}", { params: { id: tenant, grant: id } })
      : await context.api.request("DELETE /tenants/{id}/login-clients/{client}", {
          params: { id: tenant, client: id },
        });
  // A mistyped id must not look like an ended grant.
  if (!done.changed) throw new CliError(EXIT.notFound, `there is no ${label} in ${tenant}, or not any more`);
  context.show(done, () => `${label}: ended everywhere`);
}

interface YesOption {
  readonly yes?: boolean;
}

async function endGrant(
  context: CommandContext,
  [tenant, id]: readonly [string, string],
  { yes }: YesOption,
): Promise<void> {
  await endGrantOrClient([context, tenant, id], "grants", yes);
}

async function removeClient(
  context: CommandContext,
  [tenant, id]: readonly [string, string],
  { yes }: YesOption,
): Promise<void> {
  await endGrantOrClient([context, tenant, id], "login-clients", yes);
}
