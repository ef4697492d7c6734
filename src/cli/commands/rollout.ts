// `tenantry rollout`: changes on their way to many tenants, and waiting until they are in effect.

import { setTimeout } from "node:timers/promises";
import type { Command } from "commander";
import type { Infer, Rollout } from "../../admin/contract.ts";
import { collectPages } from "../admin/admin-client.ts";
import { changeLines } from "../terminal/changes.ts";
import { runCommand, type CommandContext } from "../command-context.ts";
import { CliError, EXIT } from "../exit.ts";
import { oneLine } from "../terminal/printable.ts";
import { formatCount, formatTable, formatTime } from "../terminal/table.ts";
import type { Terminal } from "../terminal/terminal.ts";
import { parseCount } from "./option-values.ts";

type RolloutAnswer = Infer<typeof Rollout>;

export function addRolloutCommands(program: Command, terminal: Terminal): void {
  const rollout = program.command("rollout").description("Show and stop rollouts of blocks and base documents.");

  const list = rollout
    .command("list")
    .description("List the latest rollouts, newest first.")
    .option("--limit <count>", "the largest number", parseCount, 20)
    .addHelpText("after", "\nExamples:\n  tenantry rollout list");
  runCommand(list, terminal, listRollouts);

  const show = rollout
    .command("show")
    .description("Show the progress of a rollout.")
    .argument("<version>", "as rollout list shows it")
    .addHelpText("after", "\nExamples:\n  tenantry rollout show 1795900000000");
  runCommand(show, terminal, async (context, [version]: readonly [string]) => {
    const answer = await context.api.request("GET /rollouts/{version}", { params: { version } });
    context.show(answer, () => rolloutLines(answer));
  });

  const stop = rollout
    .command("stop")
    .description("Stop the rollout of a base. Tenants with the new base keep it.")
    .argument("<version>", "as rollout list shows it")
    .addHelpText("after", "\nExamples:\n  tenantry rollout stop 1795900000000");
  runCommand(stop, terminal, async (context, [version]: readonly [string]) => {
    const answer = await context.api.request("POST /rollouts/{version}/stop", { params: { version } });
    context.show(answer, () => rolloutLines(answer));
  });
}

async function listRollouts(context: CommandContext, _args: readonly [], { limit }: { limit: number }): Promise<void> {
  const rollouts = await collectPages(context.api.pages("GET /rollouts", {}, limit));
  if (rollouts.length === 0) context.note("No rollouts yet: tenantry block add or tenantry base rollout starts one.");
  context.show(rollouts, () => {
    const rows = rollouts.map(({ version, about, state, begun, tenants, missing, refused }) => {
      return [version, about, state, formatTime(begun), tenants, missing.length, refused.length];
    });
    const titles = ["version", "about", "state", "begun", "tenants", "missing", "refused"];
    return rows.length === 0 ? "" : formatTable(titles, rows, context.terminal.stdout);
  });
}

export function rolloutLines(rollout: RolloutAnswer): ReturnType<typeof changeLines> {
  const { version, about, state, tenants, missing, refused, changes = [] } = rollout;
  return [
    `Rollout ${version}, ${about}: ${state}, ${formatCount(tenants, "tenant")} visited`,
    ...changes.flatMap((one) => (one.changes.length === 0 ? [] : [one.tenant, ...changeLines(one.changes)])),
    ...refused.map((one) => oneLine(`refused: ${one.tenant}: ${one.error}`)),
    ...missing.map((id) => oneLine(`not reached: ${id}`)),
  ];
}

const POLL_MS = 500;
const NOTE_INTERVAL_MS = 10_000;

/**
 * Waits for a rollout. Interrupting the command does not stop the rollout. Throws if the rollout ends without being
 * in effect in every tenant.
 */
export async function followRollout(context: CommandContext, version: number): Promise<RolloutAnswer> {
  let notedAt = Date.now();
  for (;;) {
    const rollout = await context.api.request("GET /rollouts/{version}", { params: { version: String(version) } });
    if (rollout.state === "done") return rollout;
    if (rollout.state !== "running") throw incompleteError(rollout);
    if (Date.now() >= notedAt + NOTE_INTERVAL_MS) {
      notedAt = Date.now();
      context.note(`${formatCount(rollout.tenants, "tenant")} visited`);
    }
    await setTimeout(POLL_MS);
  }
}

function incompleteError({ state, missing, refused }: RolloutAnswer): CliError {
  if (state === "stopped") return new CliError(EXIT.refused, "the rollout was stopped, perhaps by a newer one");
  const unreached = `${formatCount(missing.length, "tenant")} not reached: ${missing.join(", ")}. The server keeps trying`;
  const reasons = [
    ...(missing.length === 0 ? [] : [unreached]),
    ...refused.map(({ tenant, error }) => `refused by ${tenant}: ${error}`),
  ];
  return new CliError(EXIT.refused, `not in effect in every tenant: ${reasons.join("; ")}`);
}
