// `tenantry limits`: a tenant's limits, who set them, their usage, and setting one.

import type { AdminRequest } from "../../admin/admin-client.ts";
import type { Command } from "commander";
import { runCommand, type CommandContext } from "../command-context.ts";
import { nearestName } from "../../protocol/did-you-mean.ts";
import { usageError } from "../exit.ts";
import { propagationNote } from "../terminal/changes.ts";
import { formatTable, formatTime } from "../terminal/table.ts";
import type { Terminal } from "../terminal/terminal.ts";

export function addLimitsCommand(program: Command, terminal: Terminal): void {
  const limits = program
    .command("limits")
    .description("Show a tenant's limits, their source and use, or set one.")
    .argument("<tenant>")
    .argument("[name=value]", "a limit and its new value; default removes the tenant's own value")
    .addHelpText(
      "after",
      `
Examples:
  tenantry limits acme
  tenantry limits acme toolCalls=5000
  tenantry limits acme toolCalls=default

Everyone who can write the tenant's document can lower its limits. The column "raised by" says who can raise a limit: only
operators, if the limit protects other tenants. docs/limits.md says what each limit counts.`,
    );
  runCommand(limits, terminal, async (context: CommandContext, [tenant, change]: readonly [string, string?]) => {
    if (change === undefined) await showLimits(context, tenant);
    else await setLimit(context, tenant, change);
  });
}

async function showLimits(context: CommandContext, tenant: string): Promise<void> {
  const limits = await context.api.request("GET /tenants/{id}/limits", { params: { id: tenant } });
  context.show(limits, () => {
    const rows = limits.items.map(({ name, value, unit, used, setBy, raisedBy, met }) => [
      name,
      value === null ? "none" : String(value),
      value === null ? "" : unit,
      used === null ? "" : String(used),
      setBy,
      raisedBy,
      met === null ? "" : formatTime(met),
    ]);
    const text = formatTable(
      ["limit", "value", "", "used", "set by", "raised by", "met"],
      rows,
      context.terminal.stdout,
    );
    return limits.exact ? `${text}\nDaily limits are exact.` : text;
  });
}

async function setLimit(context: CommandContext, tenant: string, change: string): Promise<void> {
  const [, name = "", value = ""] = /^(\w+)=(\d{1,15}|default)$/.exec(change) ?? [];
  if (name === "") throw usageError(`${change}: write NAME=NUMBER, or NAME=default`);
  // The server checks whether the limit exists.
  const params = { id: tenant, name } as AdminRequest<"DELETE /tenants/{id}/limits/{name}">["params"];
  const pending =
    value === "default"
      ? context.api.change("DELETE /tenants/{id}/limits/{name}", { params })
      : context.api.change("PUT /tenants/{id}/limits/{name}", { params, body: { value: Number(value) } });
  const done = await pending.catch(async (error: unknown) => {
    await assertLimitExists(context, tenant, name);
    throw error;
  });
  context.show(done, () => {
    const what = done.changed ? `${name} of ${tenant} is ${value}` : `${name} of ${tenant} was ${value} already`;
    return [what, ...propagationNote(done.effectiveAt, { waits: false })].join("\n");
  });
}

/** Throws for an unknown limit name, with a suggestion. */
async function assertLimitExists({ api }: CommandContext, tenant: string, name: string): Promise<void> {
  const limits = await api.request("GET /tenants/{id}/limits", { params: { id: tenant } }).catch(() => undefined);
  const names = limits?.items.map((item) => item.name) ?? [name];
  if (names.includes(name)) return;
  const suggestedName = nearestName(name, names);
  const suggestion = suggestedName === undefined ? `limits are: ${names.join(", ")}` : `did you mean ${suggestedName}?`;
  throw usageError(`unknown limit ${name}; ${suggestion}`);
}
