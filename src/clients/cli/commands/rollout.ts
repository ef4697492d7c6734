// `tenantry rollout`: what is on its way to many tenants, and following it until it is in force there.

import { setTimeout } from "node:timers/promises";
import type { Command } from "commander";
import type { Infer, Rollout } from "../../../admin/contract.ts";
import { collectPages } from "../admin/admin-client.ts";
import { changeLines } from "../terminal/changes.ts";
import { act, type CommandContext } from "../command-context.ts";
import { CliError, EXIT } from "../exit.ts";
import { oneLine } from "../terminal/printable.ts";
import { count, table, time } from "../terminal/table.ts";
import type { Terminal } from "../terminal/terminal.ts";
import { parseCount } from "./option-values.ts";

type Shown = Infer<typeof Rollout>;

export function addRolloutCommands(program: Command, terminal: Terminal): void {
  const rollout = program
    .command("rollout")
    .description("Show what is on its way to many tenants: blocks of tools, and base documents.");

  const list = rollout
    .command("list")
    .description("List the latest rollouts, newest first.")
    .option("--limit <count>", "how many", parseCount, 20)
    .addHelpText("after", "\nExamples:\n  tenantry rollout list");
  act(list, terminal, listRollouts);

  const show = rollout
    .command("show")
    .description("Show how far a rollout is.")
    .argument("<version>", "as rollout list shows it")
    .addHelpText("after", "\nExamples:\n  tenantry rollout show 1795900000000");
  act(show, terminal, async (context, [version]: readonly [string]) => {
    const found = await context.api.request("GET /rollouts/{version}", { params: { version } });
    context.show(found, () => rolloutLines(found));
  });

  const stop = rollout
    .command("stop")
    .description("Stop the rollout of a base. Tenants that have the new base keep it.")
    .argument("<version>", "as rollout list shows it")
    .addHelpText("after", "\nExamples:\n  tenantry rollout stop 1795900000000");
  act(stop, terminal, async (context, [version]: readonly [string]) => {
    const found = await context.api.request("POST /rollouts/{version}/stop", { params: { version } });
    context.show(found, () => rolloutLines(found));
  });
}

async function listRollouts(context: CommandContext, _args: readonly [], { limit }: { limit: number }): Promise<void> {
  const rollouts = await collectPages(context.api.pages("GET /rollouts", {}, limit));
  if (rollouts.length === 0) context.note("No rollouts yet: tenantry block add or tenantry base rollout begins one.");
  context.show(rollouts, () => {
    const rows = rollouts.map(({ version, about, state, begun, tenants, missing, refused }) => {
      return [version, about, state, time(begun), tenants, missing.length, refused.length];
    });
    const titles = ["version", "about", "state", "begun", "tenants", "missing", "refused"];
    return rows.length === 0 ? "" : table(titles, rows, context.terminal.stdout);
  });
}

export function rolloutLines(found: Shown): ReturnType<typeof changeLines> {
  const { version, about, state, tenants, missing, refused, changes = [] } = found;
  return [
    `Rollout ${version}, ${about}: ${state}, ${count(tenants, "tenant")} visited`,
    ...changes.flatMap((one) => (one.changes.length === 0 ? [] : [one.tenant, ...changeLines(one.changes)])),
    ...refused.map((one) => oneLine(`refused: ${one.tenant}: ${one.error}`)),
    ...missing.map((id) => oneLine(`not reached: ${id}`)),
  ];
}

const LOOK_AGAIN_MS = 500;
const NOTE_EVERY_MS = 10_000;

/** The server goes on by itself: who stops looking stops nothing. Throws where it is not in force in every tenant. */
export async function followRollout(context: CommandContext, version: number): Promise<Shown> {
  let noted = Date.now();
  for (;;) {
    const found = await context.api.request("GET /rollouts/{version}", { params: { version: String(version) } });
    if (found.state === "done") return found;
    if (found.state !== "running") throw notDone(found);
    if (Date.now() >= noted + NOTE_EVERY_MS) {
      noted = Date.now();
      context.note(`${count(found.tenants, "tenant")} visited`);
    }
    await setTimeout(LOOK_AGAIN_MS);
  }
}

function notDone({ state, missing, refused }: Shown): CliError {
  if (state === "stopped") return new CliError(EXIT.refused, "the rollout was stopped, perhaps by a newer one");
  const unreached = `${count(missing.length, "tenant")} not reached: ${missing.join(", ")}. The server goes on trying`;
  const said = [
    ...(missing.length === 0 ? [] : [unreached]),
    ...refused.map(({ tenant, error }) => `refused by ${tenant}: ${error}`),
  ];
  return new CliError(EXIT.refused, `not in force in every tenant: ${said.join("; ")}`);
}
