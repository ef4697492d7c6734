// Owns `tenantry upstream`: other MCP servers behind a tenant, added, looked at, tried, read again and removed. Refuses to
// keep anything: an upstream is a member of the tenant's document.

import type { Command } from "commander";
import { act, confirm, type CommandContext } from "../command-context.ts";
import { CliError, EXIT } from "../exit.ts";
import { ServerRefused } from "../terminal/problem.ts";
import { whileSpinning } from "../terminal/spinner.ts";
import { count } from "../terminal/table.ts";
import type { Terminal } from "../terminal/terminal.ts";
import { addUpstreamOptions, membersSaid, type UpstreamOptions } from "./upstream-options.ts";
import { listUpstreams, showUpstream, shownText, testedText } from "./upstream-text.ts";

interface AddOptions extends UpstreamOptions {
  readonly replace?: boolean;
  readonly wait: boolean;
}

type Named = readonly [tenant: string, name: string];

const UPSTREAM = ["<upstream>", "its id, with which the names of its tools begin"] as const;

export function addUpstreamCommands(program: Command, terminal: Terminal): void {
  const upstream = program.command("upstream").description("Offer what other MCP servers have as a tenant's own.");
  const named = (verb: string, about: string) =>
    upstream
      .command(verb)
      .description(about)
      .argument("<tenant>")
      .argument(...UPSTREAM);

  const adding = named("add", "Add a server, read what it lists, and return when every client can use it.");
  const add = addUpstreamOptions(adding.argument("[url]", "where it serves MCP; a service has --service instead"))
    .option("--replace", "write over an upstream of this id; of what it was only its trust stays")
    .option("--no-wait", "return when it is written, and do not wait until it was read")
    .addHelpText(
      "after",
      `
Examples:
  tenantry upstream add acme tracker https://mcp.example.com/mcp
  tenantry secret set acme TRACKER_TOKEN
  tenantry upstream add acme tracker https://mcp.example.com/mcp --header "Authorization: Bearer {{secret:TRACKER_TOKEN}}"
  tenantry upstream add acme billing --service BILLING --retry 2

Its tool search is listed as tracker__search: tenantry call acme shows them all. docs/gateway.md says what each flag
does. {{secret:NAME}} stands for a secret of the tenant; what else is in a header can be read by whoever reads
the document, and here by other programs of this machine.`,
    );
  act(add, terminal, addUpstream);

  const list = upstream
    .command("list")
    .description("List a tenant's upstreams, how each is doing and how much it lists.")
    .argument("<tenant>")
    .addHelpText("after", "\nExamples:\n  tenantry upstream list acme");
  act(list, terminal, listUpstreams);

  const show = named("show", "Show an upstream: its state and why, what it lists, what is left out of it.").addHelpText(
    "after",
    "\nExamples:\n  tenantry upstream show acme tracker",
  );
  act(show, terminal, showUpstream);

  const test = named("test", "Connect to an upstream now and say what it answers. Nothing of it is kept.").addHelpText(
    "after",
    `
Examples:
  tenantry upstream test acme tracker

Ends with ${EXIT.refused} where it cannot be read, and where a known client would refuse something that it lists.`,
  );
  act(test, terminal, testUpstream);

  const refresh = named("refresh", "Read an upstream now, instead of when it is due.")
    .option("--wait", "return when every part of the world has it")
    .addHelpText("after", "\nExamples:\n  tenantry upstream refresh acme tracker --wait");
  act(refresh, terminal, refreshUpstream);

  const remove = named("remove", "Take a tenant's own upstream away. When this returns, nobody can use it.")
    .option("-y, --yes", "do not ask")
    .addHelpText("after", "\nExamples:\n  tenantry upstream remove acme tracker --yes");
  act(remove, terminal, removeUpstream);
}

const at = (tenant: string, upstream: string) => ({ id: tenant, upstream });

async function addUpstream(
  context: CommandContext,
  [tenant, name, url]: readonly [tenant: string, name: string, url?: string],
  options: AddOptions,
): Promise<void> {
  const { api } = context;
  const { trust, replace } = options;
  const said = membersSaid(url, options);
  const there = await api.find("GET /tenants/{id}/upstreams/{upstream}", { params: at(tenant, name) });
  // Of a base document it is no other one: then this is the tenant's own instead.
  if (there?.setBy === "tenant" && replace !== true) {
    throw new CliError(EXIT.conflict, `${tenant} has an upstream ${name} at ${there.url}: --replace writes over it`);
  }
  // Whoever names another URL must not end, without a word, the review of what is listed.
  const isReviewed = (trust ?? there?.trust) === "review";
  const json = isReviewed ? { ...said, trust: "review" as const } : said;
  const gone = there && replace === true ? await membersGone(context, [tenant, name], json) : [];
  await api.request("PUT /tenants/{id}/upstreams/{upstream}", { params: at(tenant, name), body: json });
  if (gone.length > 0) context.note(`${name} had more, which is gone: ${gone.join(", ")}`);
  if (isReviewed) context.note(`What waits for approval: tenantry upstream pending ${tenant} ${name}`);
  return showAdded(context, [tenant, name], options);
}

async function showAdded(
  context: CommandContext,
  [tenant, name]: Named,
  { wait, disabled = false }: AddOptions,
): Promise<void> {
  if (wait && !disabled) return readNow(context, [tenant, name], { wait });
  const next = disabled ? "switched off" : `read when somebody next asks ${tenant}`;
  const shown = await context.api.request("GET /tenants/{id}/upstreams/{upstream}", { params: at(tenant, name) });
  context.show(shown, () => `${name} of ${tenant} is added; it is ${next}`);
}

/** What the tenant's own document says of it, and `json` does not. */
async function membersGone({ api }: CommandContext, [tenant, name]: Named, json: object): Promise<readonly string[]> {
  const { own } = await api.request("GET /tenants/{id}", { params: { id: tenant } });
  return Object.keys(own.upstreams?.[name] ?? {}).filter(
    (member) => !Object.hasOwn(json, member) && member !== "trust",
  );
}

async function refreshUpstream(context: CommandContext, named: Named, { wait }: { wait?: boolean }): Promise<void> {
  await readNow(context, named, { wait: wait === true });
}

async function readNow(context: CommandContext, [tenant, name]: Named, { wait }: { wait: boolean }): Promise<void> {
  const asked = { params: at(tenant, name), query: { wait: wait || undefined } };
  const done = await spinning(context, `Reading ${name}`, () =>
    context.api.request("POST /tenants/{id}/upstreams/{upstream}/refresh", asked),
  );
  context.show(done, () => shownText(tenant, done.upstream, context.terminal.stdout));
  if (done.read) return;
  // What was said is on stdout; scripts see that nothing was read.
  throw new CliError(EXIT.refused, `${name} is a part of ${tenant} and could not be read: ${done.upstream.why ?? ""}`);
}

async function testUpstream(context: CommandContext, [tenant, name]: Named): Promise<void> {
  const tested = await spinning(context, `Connecting to ${name}`, () =>
    context.api.request("POST /tenants/{id}/upstreams/{upstream}/test", { params: at(tenant, name) }),
  );
  context.show(tested, () => testedText([tenant, name], tested, context.terminal.stdout));
  if (!tested.works) throw new CliError(EXIT.refused, `${name}: ${tested.fault ?? "it does not work"}`);
  const { content, refused = [] } = tested;
  // What would break a client's list is left out of it.
  const broken = refused.length + (content?.quarantined.length ?? 0) + (content?.unnamed ?? 0);
  if (broken > 0) throw new CliError(EXIT.refused, `${name}: clients refuse ${count(broken, "definition")} of it`);
}

function spinning<T>(context: CommandContext, text: string, work: () => Promise<T>): Promise<T> {
  return whileSpinning(context.quiet || context.json ? undefined : context.terminal.stderr, text, work);
}

async function removeUpstream(
  context: CommandContext,
  [tenant, name]: Named,
  { yes }: { yes?: boolean },
): Promise<void> {
  await confirm(context, `Remove the upstream ${name} of ${tenant}`, yes);
  const params = at(tenant, name);
  // Under the tenant's own there may be one of a base document or of the code, which serves on.
  const under = async () => {
    const there = await context.api.find("GET /tenants/{id}/upstreams/{upstream}", { params });
    const from = there?.setBy === "code" ? "the code of the Worker" : "a base document";
    return (
      there &&
      `${name} of ${tenant} is there by ${from}, at ${there.url}: enabled: false in the tenant's own switches it off`
    );
  };
  const done = await context.api
    .remove("DELETE /tenants/{id}/upstreams/{upstream}", { params })
    .catch(async (error: unknown) => {
      const said = error instanceof ServerRefused && error.status === 404 ? await under() : undefined;
      throw said === undefined ? error : new CliError(EXIT.conflict, said, { cause: error });
    });
  context.show(done ?? null, () => `${name} of ${tenant} is removed`);
  const left = await under();
  if (left !== undefined) context.note(left);
}
