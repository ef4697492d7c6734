// `tenantry prompt`: the prompts in a tenant's document, one at a time.

import type { Command } from "commander";
import type { DocumentPrompt, Infer } from "../../admin/contract.ts";
import { collectPages } from "../admin/admin-client.ts";
import { propagationNote } from "../terminal/changes.ts";
import { readDocument, toYaml } from "../admin/document-file.ts";
import { runCommand, type CommandContext } from "../command-context.ts";
import { formatTable } from "../terminal/table.ts";
import type { Terminal } from "../terminal/terminal.ts";

type PromptAnswer = Infer<typeof DocumentPrompt> & { readonly name?: string };

export function addPromptCommands(program: Command, terminal: Terminal): void {
  const prompt = program.command("prompt").description("List, show, write and delete a tenant's own prompts.");

  const list = prompt
    .command("list")
    .description("List a tenant's prompts, except the prompts in code.")
    .argument("<tenant>")
    .addHelpText("after", "\nExamples:\n  tenantry prompt list acme");
  runCommand(list, terminal, listPrompts);

  const get = prompt
    .command("get")
    .description("Print a prompt as YAML, in the format that `prompt put` reads.")
    .argument("<tenant>")
    .argument("<name>")
    .addHelpText("after", "\nExamples:\n  tenantry prompt get acme review > review.yaml");
  runCommand(get, terminal, getPrompt);

  const put = prompt
    .command("put")
    .description("Write a prompt from a file. Replaces an existing one.")
    .argument("<tenant>")
    .argument("<name>")
    .requiredOption("-f, --file <path>", "a YAML or JSON file, or - for stdin")
    .addHelpText(
      "after",
      `
Examples:
  tenantry prompt put acme review -f review.yaml

review.yaml:
  description: Reviews a text
  arguments:
    - name: tone
      required: true
  messages:
    - role: user
      content: { type: text, text: "Review this in a {{tone}} tone." }
    - role: user
      content: { type: resource, uri: "file:///style-guide.md" }`,
    );
  runCommand(put, terminal, putPrompt);

  const remove = prompt
    .command("delete")
    .description("Delete a prompt.")
    .argument("<tenant>")
    .argument("<name>")
    .addHelpText("after", "\nExamples:\n  tenantry prompt delete acme review");
  runCommand(remove, terminal, deletePrompt);
}

async function listPrompts(context: CommandContext, [tenant]: readonly [string]): Promise<void> {
  const prompts = await collectPages(context.api.pages("GET /tenants/{id}/prompts", { params: { id: tenant } }));
  if (prompts.length === 0) context.note(`No prompts: tenantry prompt put ${tenant} NAME -f FILE writes one.`);
  context.show(prompts, () => {
    const rows = prompts.map(({ name, arguments: list = [], title, description }) => {
      const parameters = list.map((one) => (one.required === true ? one.name : `[${one.name}]`)).join(" ");
      return [name, parameters, description ?? title];
    });
    return rows.length === 0 ? "" : formatTable(["prompt", "arguments", "description"], rows, context.terminal.stdout);
  });
}

async function getPrompt(context: CommandContext, [tenant, name]: readonly [string, string]): Promise<void> {
  const { name: _name, ...prompt }: PromptAnswer = await context.api.request("GET /tenants/{id}/prompts/{name}", {
    params: { id: tenant, name },
  });
  const text = await toYaml(prompt);
  context.show(prompt, () => text);
}

async function putPrompt(
  context: CommandContext,
  [tenant, name]: readonly [string, string],
  { file }: { file: string },
): Promise<void> {
  const { value, withPositions } = await readDocument(file, context.terminal);
  // The server validates the content of the file.
  const args = { params: { id: tenant, name }, body: value as Infer<typeof DocumentPrompt> };
  const done = await withPositions(() => context.api.request("PUT /tenants/{id}/prompts/{name}", args));
  context.show(done, () => {
    return [
      `${name}: ${done.changed ? "written" : "unchanged"}`,
      ...propagationNote(done.effectiveAt, { waits: false }),
    ].join("\n");
  });
}

async function deletePrompt(context: CommandContext, [tenant, name]: readonly [string, string]): Promise<void> {
  const done = await context.api.remove("DELETE /tenants/{id}/prompts/{name}", { params: { id: tenant, name } });
  context.show(done ?? { deleted: name }, () => `${name}: deleted`);
}
