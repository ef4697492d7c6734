// `tenantry webhook`: lists a tenant's webhooks and sends a test.

import type { Command } from "commander";
import { runCommand, type CommandContext } from "../command-context.ts";
import { CliError, EXIT } from "../exit.ts";
import { formatTable } from "../terminal/table.ts";
import type { Terminal } from "../terminal/terminal.ts";

export function addWebhookCommands(program: Command, terminal: Terminal): void {
  const webhook = program.command("webhook").description("List and test a tenant's webhooks.");
  const list = webhook
    .command("list")
    .description("List a tenant's webhooks, and their waiting messages.")
    .argument("<tenant>")
    .addHelpText("after", "\nExamples:\n  tenantry webhook list acme");
  runCommand(list, terminal, listWebhooks);
  const test = webhook
    .command("test")
    .description("Send a signed test message to a webhook.")
    .argument("<tenant>")
    .argument("<webhook>")
    .addHelpText("after", "\nExamples:\n  tenantry webhook test acme ops");
  runCommand(test, terminal, testWebhook);
}

async function listWebhooks(context: CommandContext, [tenant]: readonly [string]): Promise<void> {
  const webhooks = await context.api.request("GET /tenants/{id}/webhooks", { params: { id: tenant } });
  if (webhooks.items.length === 0)
    context.note("No webhooks: add them in the field webhooks of the tenant's document, docs/webhooks.md.");
  context.show(webhooks, () => {
    const rows = webhooks.items.map(({ name, url, events, enabled }) => [
      name,
      url,
      events?.join(", ") ?? "all",
      enabled ? "yes" : "no",
    ]);
    const text = formatTable(["webhook", "url", "events", "enabled"], rows, context.terminal.stdout);
    return `${text}\n${webhooks.waiting} waiting, ${webhooks.dropped} given up`;
  });
}

async function testWebhook(context: CommandContext, [tenant, name]: readonly [string, string]): Promise<void> {
  const params = { id: tenant, webhook: name };
  const result = await context.api.request("POST /tenants/{id}/webhooks/{webhook}/test", { params });
  if (!result.delivered && !context.json) throw new CliError(EXIT.refused, `${name} did not accept it: ${result.why}`);
  context.show(result, () => `${name} accepted it: ${result.status}, in ${result.milliseconds} ms`);
  if (!result.delivered) throw new CliError(EXIT.refused, "");
}
