import type { AdminRequest } from "../../admin/admin-client.ts";
import type { Command } from "commander";
import { Option } from "commander";
import type { SuspensionShape, TenantShape, Infer } from "../../admin/contract.ts";
import { collectPages } from "../admin/admin-client.ts";
import { readTenantFile } from "../admin/document-file.ts";
import { nextStep, signInEntries, ignoredAuthText } from "../admin/login-text.ts";
import { parseCount } from "./option-values.ts";
import { runCommand, confirm, type CommandContext } from "../command-context.ts";
import { warningLines } from "../terminal/changes.ts";
import { definitionList, formatTable, formatTime } from "../terminal/table.ts";
import { rewriteInvocation } from "../terminal/invocation.ts";
import type { Terminal } from "../terminal/terminal.ts";

export type TenantAnswer = Infer<typeof TenantShape>;
interface CreateOptions {
  readonly file?: string;
  readonly title?: string;
  readonly mode?: string;
  readonly search?: true;
  readonly region?: string;
  readonly jurisdiction?: string;
}

export function addTenantCommands(program: Command, terminal: Terminal): void {
  const tenant = program.command("tenant").description("Create, list, show and delete tenants.");

  const create = tenant
    .command("create")
    .description("Create a tenant. Its MCP endpoint works at once.")
    .argument("<tenant>", "1 to 40 characters (a-z, 0-9, hyphen) that begin and end with a letter or digit")
    .option("-f, --file <file>", "start from this document (tenantry help document)")
    .option("--title <text>", "its name for people")
    .addOption(
      new Option(
        "--mode <mode>",
        "how callers get access; default: key; an oauth mode needs auth in the file that -f names",
      ).choices(["open", "key", "oauth", "key+oauth", "mixed"]),
    )
    .option("--search", "add the two built-in tools, named search and fetch")
    .option("--region <region>", "the region of its data: wnam, enam, sam, weur, eeur, apac, oc, afr, me")
    .option("--jurisdiction <name>", "the jurisdiction of its data: eu, fedramp")
    .addHelpText(
      "after",
      `
Examples:
  tenantry tenant create acme --title "Acme Inc."
  tenantry tenant create playground --mode open
  tenantry tenant create acme -f tenant.yaml --jurisdiction eu

Region and jurisdiction can never change. For everything else, see tenantry help apply.`,
    );
  runCommand(create, terminal, createTenant);

  const list = tenant
    .command("list")
    .description("List tenants.")
    .option("--limit <count>", "the largest number", parseCount)
    .addHelpText("after", "\nExamples:\n  tenantry tenant list\n  tenantry tenant list --json | jq -r '.[].id'");
  runCommand(list, terminal, listTenants);

  const show = tenant
    .command("show")
    .description("Show a tenant: its URL, settings and suspensions.")
    .argument("<tenant>")
    .addHelpText(
      "after",
      "\nExamples:\n  tenantry tenant show acme\n  tenantry tenant show acme --json | jq .effective",
    );
  runCommand(show, terminal, showTenant);

  const remove = tenant
    .command("delete")
    .description("Delete a tenant with its resources, keys, prompts and audit log. Asks first.")
    .argument("<tenant>")
    .option("-y, --yes", "do not ask")
    .addHelpText("after", "\nExamples:\n  tenantry export acme -o acme-backup && tenantry tenant delete acme --yes");
  runCommand(remove, terminal, deleteTenant);
}

async function createTenant(context: CommandContext, [id]: readonly [string], options: CreateOptions): Promise<void> {
  const { file, title, mode, search, region, jurisdiction } = options;
  const tenantFile = file === undefined ? undefined : await readTenantFile(file, context.terminal);
  // An omitted option is undefined, and must not replace the file's value.
  const document = { ...tenantFile?.document, ...definedOptions({ title, mode, search }) };
  const placement = { ...tenantFile?.placement, ...definedOptions({ region, jurisdiction }) };
  // The server validates the content of the file.
  const body = { id, document, ...placement } as AdminRequest<"POST /tenants">["body"];
  const create = () => context.api.request("POST /tenants", { body });
  const created = await (tenantFile ? tenantFile.withPositions(create) : create());
  noteIgnoredAuth(context, created.effective);
  context.show(created, () => [
    rewriteInvocation(createdText(created), context.terminal.env),
    ...warningLines(created),
  ]);
}

function definedOptions(options: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
}

/** A note and not an error: a base may change the mode of its tenants later. */
export function noteIgnoredAuth(context: CommandContext, effective: Parameters<typeof ignoredAuthText>[0]): void {
  const text = ignoredAuthText(effective);
  if (text !== undefined) context.note(`Note: ${text}`);
}

function createdText({ id, url, effective }: TenantAnswer): string {
  return `${id} is at ${url}${nextStep(id, effective)}`;
}

async function listTenants(context: CommandContext, _args: readonly [], options: { limit?: number }): Promise<void> {
  const tenants = await collectPages(context.api.pages("GET /tenants", {}, options.limit));
  if (tenants.length === 0) context.note("No tenants yet: tenantry tenant create ID makes one.");
  context.show(tenants, () => {
    const rows = tenants.map(({ id, created, state, suspended }) => {
      return [id, suspended === true && state === "active" ? "suspended" : state, formatTime(created)];
    });
    return rows.length === 0 ? "" : formatTable(["tenant", "state", "created"], rows, context.terminal.stdout);
  });
}

async function showTenant(context: CommandContext, [id]: readonly [string]): Promise<void> {
  const params = { id };
  const tenant = await context.api.request("GET /tenants/{id}", { params });
  // A tenant in the state "gone" has no other data to show.
  const pages = () => context.api.pages("GET /tenants/{id}/suspensions", { params });
  const suspensions = tenant.state === "gone" ? [] : await collectPages(pages());
  context.show({ ...tenant, suspensions }, () => tenantText(tenant, suspensions));
}

function tenantText(tenant: TenantAnswer, suspensions: readonly Infer<typeof SuspensionShape>[]): string {
  const { own, effective } = tenant;
  return definitionList([
    ["tenant", tenant.id],
    ["title", effective.title],
    ["url", tenant.url],
    ["state", suspensions.some(({ kind, onItsWay }) => kind === "tenant" && !onItsWay) ? "suspended" : tenant.state],
    ["mode", effective.mode ?? "open"],
    ...signInEntries(tenant),
    ["created", formatTime(tenant.created)],
    ["region", tenant.region],
    ["jurisdiction", tenant.jurisdiction],
    ["revision", tenant.revision],
    ["extends", own.extends?.join(", ")],
    ["hostnames", effective.hostnames?.join(", ")],
    ["profiles", namesIn(effective.profiles)],
    ["scopes", namesIn(effective.scopes)],
    ["prompts", namesIn(effective.prompts)],
    ["tools set", namesIn(effective.tools)],
    ["upstreams", namesIn(effective.upstreams)],
    ...suspensions.map(({ kind, name, note, since, onItsWay }) => {
      return [
        onItsWay ? "on its way" : "suspended",
        `${kind === "tenant" ? "the whole tenant" : `${kind} ${name}`} since ${formatTime(since)}: ${note}`,
      ] as const;
    }),
  ]);
}

function namesIn(map: Readonly<Record<string, unknown>> | undefined): string {
  return Object.keys(map ?? {}).join(", ");
}

async function deleteTenant(
  context: CommandContext,
  [id]: readonly [string],
  { yes }: { yes?: boolean },
): Promise<void> {
  const params = { id };
  // Find the tenant first, so that a mistyped name fails before the confirmation.
  const existing = yes === true ? undefined : await context.api.request("GET /tenants/{id}", { params });
  await confirm(context, `Delete ${id} with everything it has`, yes);
  // The name may belong to another tenant by the time the user confirms.
  const done = await context.api.remove("DELETE /tenants/{id}", { params, query: { created: existing?.created } });
  context.show(done ?? { deleted: id }, () => `${id} is deleted`);
}
