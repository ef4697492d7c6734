import type { Command } from "commander";
import { collectPages } from "../admin/admin-client.ts";
import { runCommand, type CommandContext } from "../command-context.ts";
import { CliError, EXIT } from "../exit.ts";
import { followRollout } from "./rollout.ts";
import { formatTable, formatTime } from "../terminal/table.ts";
import type { Terminal } from "../terminal/terminal.ts";

export function addBlockCommands(program: Command, terminal: Terminal): void {
  const block = program.command("block").description("Block a tool in every tenant, and lift and list blocks.");

  const list = block
    .command("list")
    .description("List the tools that are blocked in every tenant.")
    .addHelpText("after", "\nExamples:\n  tenantry block list");
  runCommand(list, terminal, listBlocks);

  const add = block
    .command("add")
    .description("Block a tool in every tenant. Returns when the block is in effect.")
    .argument("<tool>", "its name, or ID__tool for one of every upstream with that id")
    .requiredOption("-n, --note <text>", "a text for callers")
    .addHelpText(
      "after",
      `
Examples:
  tenantry block add note_delete --note "Security fix under way"
  tenantry block add tracker__delete --note "Upstream was broken into"`,
    );
  runCommand(add, terminal, addBlock);

  const lift = block
    .command("lift")
    .description("Remove a block, so that all tenants can use the tool again.")
    .argument("<tool>")
    .addHelpText("after", "\nExamples:\n  tenantry block lift note_delete");
  runCommand(lift, terminal, liftBlock);
}

async function listBlocks(context: CommandContext): Promise<void> {
  const blocks = await collectPages(context.api.pages("GET /tools/blocked", {}));
  if (blocks.length === 0) context.note("No tool is blocked in every tenant.");
  context.show(blocks, () => {
    const rows = blocks.map(({ name, since, note }) => [name, formatTime(since), note]);
    return rows.length === 0 ? "" : formatTable(["tool", "since", "note"], rows, context.terminal.stdout);
  });
}

async function addBlock(context: CommandContext, [tool]: readonly [string], { note }: { note: string }): Promise<void> {
  const done = await context.api.request("POST /tools/{name}/block", { params: { name: tool }, body: { note } });
  for (const { rule } of done.warnings ?? []) context.note(`Warning: ${rule}`);
  await followRollout(context, done.rollout);
  context.show(done, () => `${done.name}: blocked in every tenant`);
}

async function liftBlock(context: CommandContext, [tool]: readonly [string]): Promise<void> {
  const done = await context.api.request("DELETE /tools/{name}/block", { params: { name: tool } });
  if (!done.changed) throw new CliError(EXIT.notFound, `${tool}: was not blocked`);
  await followRollout(context, done.rollout);
  context.show(done, () => `${done.name}: no longer blocked`);
}
