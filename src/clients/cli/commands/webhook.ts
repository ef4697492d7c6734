// Owns `tenantry webhook`: who is told what happens to a tenant, and trying one.

import type { Command } from "commander";
import { act, type CommandContext } from "../command-context.ts";
import { CliError, EXIT } from "../exit.ts";
import { table } from "../terminal/table.ts";
import type { Terminal } from "../terminal/terminal.ts";

export function addWebhookCommands(program: Command, terminal: Terminal): void {
  const webhook = program.command("webhook").description("Look after who is told what happens to a tenant.");
  const list = webhook
    .command("list")
    .description("List a tenant's webhooks, and how much waits for them.")
    .argument("<tenant>")
    .addHelpText("after", "\nExamples:\n  tenantry webhook list acme");
  act(list, terminal, listWebhooks);
  const test = webhook
    .command("test")
    .description("Send a webhook a message that says nothing, signed as any other.")
    .argument("<tenant>")
    .argument("<webhook>")
    .addHelpText("after", "\nExamples:\n  tenantry webhook test acme ops");
  act(test, terminal, testWebhook);
}

async function listWebhooks(context: CommandContext, [tenant]: readonly [string]): Promise<void> {
  const shown = await context.api.request("GET /tenants/{id}/webhooks", { params: { id: tenant } });
  if (shown.items.length === 0)
    context.note("No webhooks: they are webhooks in the tenant's document, docs/webhooks.md.");
  context.show(shown, () => {
    const rows = shown.items.map(({ name, url, events, enabled }) => [
      name,
      url,
      events?.join(", ") ?? "all",
      enabled ? "yes" : "no",
    ]);
    const of = table(["webhook", "url", "events", "enabled"], rows, context.terminal.stdout);
    return `${of}\n${shown.waiting} waiting, ${shown.dropped} given up`;
  });
}

async function testWebhook(context: CommandContext, [tenant, name]: readonly [string, string]): Promise<void> {
  const params = { id: tenant, webhook: name };
  const tried = await context.api.request("POST /tenants/{id}/webhooks/{webhook}/test", { params });
  if (!tried.delivered && !context.json) throw new CliError(EXIT.refused, `${name} did not take it: ${tried.why}`);
  context.show(tried, () => `${name} took it: ${tried.status}, in ${tried.milliseconds} ms`);
  if (!tried.delivered) throw new CliError(EXIT.refused, "");
}
