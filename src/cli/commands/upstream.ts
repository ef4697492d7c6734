// `tenantry upstream`: adds, shows, tests, refreshes and removes MCP servers behind a tenant. All settings are
// members of the tenant's document.

import type { Command } from "commander";
import { runCommand, confirm, type CommandContext } from "../command-context.ts";
import { CliError, EXIT } from "../exit.ts";
import { ResponseError } from "../terminal/server-error.ts";
import { withSpinner } from "../terminal/spinner.ts";
import { formatCount } from "../terminal/table.ts";
import type { Terminal } from "../terminal/terminal.ts";
import { addUpstreamOptions, toUpstreamDocument, type UpstreamOptions } from "./upstream-options.ts";
import { listUpstreams, showUpstream, upstreamText, upstreamTestText } from "./upstream-text.ts";

interface AddOptions extends UpstreamOptions {
  readonly replace?: boolean;
  readonly wait: boolean;
}

type UpstreamArgs = readonly [tenant: string, name: string];

const UPSTREAM_ARGUMENT = ["<upstream>", "its id, with which the names of its tools begin"] as const;

export function addUpstreamCommands(program: Command, terminal: Terminal): void {
  const upstream = program.command("upstream").description("Add and manage other MCP servers in a tenant.");
  const addSubcommand = (verb: string, about: string) =>
    upstream
      .command(verb)
      .description(about)
      .argument("<tenant>")
      .argument(...UPSTREAM_ARGUMENT);

  const addCommand = addSubcommand("add", "Add a server and read its lists. Returns when every client can use it.");
  const add = addUpstreamOptions(addCommand.argument("[url]", "where it serves MCP; a service has --service instead"))
    .option("--replace", "replace the upstream that has this id; only its trust setting stays")
    .option("--no-wait", "add it without reading its lists, even if it cannot be read")
    .addHelpText(
      "after",
      `
Examples:
  tenantry upstream add acme tracker https://mcp.example.com/mcp
  tenantry secret set acme TRACKER_TOKEN
  tenantry upstream add acme tracker https://mcp.example.com/mcp --header "Authorization: Bearer {{secret:TRACKER_TOKEN}}"
  tenantry upstream add acme billing --service BILLING --retry 2

Its tool search is listed as tracker__search: tenantry call acme shows them all. docs/gateway.md says what each flag
does. {{secret:NAME}} stands for a secret of the tenant. The rest of a header can be read by everyone who can read
the document, and here by other programs of this machine.`,
    );
  runCommand(add, terminal, addUpstream);

  const list = upstream
    .command("list")
    .description("List a tenant's upstreams, with their state and the size of their lists.")
    .argument("<tenant>")
    .addHelpText("after", "\nExamples:\n  tenantry upstream list acme");
  runCommand(list, terminal, listUpstreams);

  const show = addSubcommand(
    "show",
    "Show an upstream: its state and reason, its lists, and excluded definitions.",
  ).addHelpText("after", "\nExamples:\n  tenantry upstream show acme tracker");
  runCommand(show, terminal, showUpstream);

  const test = addSubcommand("test", "Connect to an upstream now and show its answer. Stores nothing.").addHelpText(
    "after",
    `
Examples:
  tenantry upstream test acme tracker

The exit code is ${EXIT.refused} if the upstream cannot be read, or if a known client would refuse one of its definitions.`,
  );
  runCommand(test, terminal, testUpstream);

  const refresh = addSubcommand("refresh", "Read the lists of an upstream now.")
    .option("--wait", "wait until it is in effect everywhere")
    .addHelpText("after", "\nExamples:\n  tenantry upstream refresh acme tracker --wait");
  runCommand(refresh, terminal, refreshUpstream);

  const remove = addSubcommand("remove", "Remove an upstream. When the command returns, no caller can use it.")
    .option("-y, --yes", "do not ask")
    .addHelpText("after", "\nExamples:\n  tenantry upstream remove acme tracker --yes");
  runCommand(remove, terminal, removeUpstream);
}

const upstreamParams = (tenant: string, upstream: string) => ({ id: tenant, upstream });

async function addUpstream(
  context: CommandContext,
  [tenant, name, url]: readonly [tenant: string, name: string, url?: string],
  options: AddOptions,
): Promise<void> {
  const { api } = context;
  const { trust, replace } = options;
  const members = toUpstreamDocument(url, options);
  const existing = await api.find("GET /tenants/{id}/upstreams/{upstream}", { params: upstreamParams(tenant, name) });
  // An upstream from a base document may be overridden by one of the tenant's own.
  if (existing?.setBy === "tenant" && replace !== true) {
    throw new CliError(EXIT.conflict, `${tenant} has an upstream ${name} at ${existing.url}: --replace overwrites it`);
  }
  // Changing the URL must not silently end the review of definitions.
  const isReviewed = (trust ?? existing?.trust) === "review";
  const json = isReviewed ? { ...members, trust: "review" as const } : members;
  const removed = existing && replace === true ? await removedMembers(context, [tenant, name], json) : [];
  await api.request("PUT /tenants/{id}/upstreams/{upstream}", { params: upstreamParams(tenant, name), body: json });
  if (removed.length > 0) context.note(`These fields of the old ${name} were removed: ${removed.join(", ")}`);
  await showAdded(context, [tenant, name], { ...options, isNew: existing === undefined });
  if (isReviewed) context.note(`Its definitions wait for approval: tenantry upstream pending ${tenant} ${name}`);
}

async function showAdded(
  context: CommandContext,
  [tenant, name]: UpstreamArgs,
  { wait, disabled = false, isNew }: AddOptions & { readonly isNew: boolean },
): Promise<void> {
  if (wait && !disabled) return readNow(context, [tenant, name], { wait, isNew });
  const next = disabled ? "switched off" : `read at the next request to ${tenant}`;
  const upstream = await context.api.request("GET /tenants/{id}/upstreams/{upstream}", {
    params: upstreamParams(tenant, name),
  });
  context.show(upstream, () => `${name} of ${tenant} is added; it is ${next}`);
}

/** The members that the tenant's own document sets and `json` drops. */
async function removedMembers(
  { api }: CommandContext,
  [tenant, name]: UpstreamArgs,
  json: object,
): Promise<readonly string[]> {
  const { own } = await api.request("GET /tenants/{id}", { params: { id: tenant } });
  return Object.keys(own.upstreams?.[name] ?? {}).filter(
    (member) => !Object.hasOwn(json, member) && member !== "trust",
  );
}

async function refreshUpstream(
  context: CommandContext,
  upstreamArgs: UpstreamArgs,
  { wait }: { wait?: boolean },
): Promise<void> {
  await readNow(context, upstreamArgs, { wait: wait === true, isNew: false });
}

/** Removes a new upstream again if nothing could be read. */
async function readNow(
  context: CommandContext,
  [tenant, name]: UpstreamArgs,
  { wait, isNew }: { readonly wait: boolean; readonly isNew: boolean },
): Promise<void> {
  const params = upstreamParams(tenant, name);
  const args = { params, query: { wait: wait || undefined } };
  const done = await withReadSpinner(context, `Reading ${name}`, () =>
    context.api.request("POST /tenants/{id}/upstreams/{upstream}/refresh", args),
  );
  const why = done.upstream.why ?? "";
  if (!done.read && isNew) {
    await context.api.request("DELETE /tenants/{id}/upstreams/{upstream}", { params });
    const advice = "--no-wait adds an upstream without reading it";
    throw new CliError(EXIT.refused, `${name} was not added to ${tenant}: ${why}; ${advice}`);
  }
  context.show(done, () => upstreamText(tenant, done.upstream, context.terminal));
  if (done.read) return;
  // The details are on stdout; the exit code tells scripts that nothing was read.
  throw new CliError(EXIT.refused, `${name} of ${tenant} is stored, but could not be read: ${why}`);
}

async function testUpstream(context: CommandContext, [tenant, name]: UpstreamArgs): Promise<void> {
  const answer = await withReadSpinner(context, `Connecting to ${name}`, () =>
    context.api.request("POST /tenants/{id}/upstreams/{upstream}/test", { params: upstreamParams(tenant, name) }),
  );
  context.show(answer, () => upstreamTestText([tenant, name], answer, context.terminal));
  if (!answer.works) throw new CliError(EXIT.refused, `${name}: ${answer.fault ?? "it does not work"}`);
  const { content, refused = [] } = answer;
  // The listing leaves out definitions that would break a client.
  const broken = refused.length + (content?.quarantined.length ?? 0) + (content?.unnamed ?? 0);
  if (broken > 0)
    throw new CliError(EXIT.refused, `${name}: clients refuse ${formatCount(broken, "definition")} of it`);
}

function withReadSpinner<T>(context: CommandContext, text: string, work: () => Promise<T>): Promise<T> {
  return withSpinner(context.quiet || context.json ? undefined : context.terminal.stderr, text, work);
}

async function removeUpstream(
  context: CommandContext,
  [tenant, name]: UpstreamArgs,
  { yes }: { yes?: boolean },
): Promise<void> {
  await confirm(context, `Remove the upstream ${name} of ${tenant}`, yes);
  const params = upstreamParams(tenant, name);
  // A base document or the code may define an upstream of the same name, which then stays in service.
  const findInherited = async () => {
    const existing = await context.api.find("GET /tenants/{id}/upstreams/{upstream}", { params });
    const from = existing?.setBy === "code" ? "the code of the Worker" : "a base document";
    return (
      existing &&
      `${name} of ${tenant} still exists from ${from}, at ${existing.url}: enabled: false in the tenant's own document switches it off`
    );
  };
  const done = await context.api
    .remove("DELETE /tenants/{id}/upstreams/{upstream}", { params })
    .catch(async (error: unknown) => {
      const inheritedText = error instanceof ResponseError && error.status === 404 ? await findInherited() : undefined;
      throw inheritedText === undefined ? error : new CliError(EXIT.conflict, inheritedText, { cause: error });
    });
  context.show(done ?? null, () => `${name} of ${tenant} is removed`);
  const remaining = await findInherited();
  if (remaining !== undefined) context.note(remaining);
}
