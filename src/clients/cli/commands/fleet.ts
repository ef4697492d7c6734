// Owns `tenantry fleet`: changing a base document for all tenants that extend it, in waves, and following such a run.

import { setTimeout } from "node:timers/promises";
import type { Command } from "commander";
import type { FleetRun, Infer } from "../../../admin/contract.ts";
import { changeLines } from "../terminal/changes.ts";
import { readDocument } from "../admin/document-file.ts";
import { parseCount } from "./option-values.ts";
import { CliError, EXIT } from "../exit.ts";
import { act, type CommandContext } from "../command-context.ts";
import { createProgressLine } from "../terminal/progress.ts";
import { collectPages } from "../admin/admin-client.ts";
import { count, table, time } from "../terminal/table.ts";
import { oneLine } from "../terminal/printable.ts";
import type { Terminal } from "../terminal/terminal.ts";

type Run = Infer<typeof FleetRun>;

interface ApplyOptions {
  readonly file: string;
  readonly wave?: number;
  readonly continueOnError?: boolean;
  readonly dryRun?: boolean;
}

export function addFleetCommands(program: Command, terminal: Terminal): void {
  const fleet = program.command("fleet").description("Change a base document for all tenants that extend it.");

  const apply = fleet
    .command("apply")
    .description("Roll a base document out to all tenants that extend it, wave by wave.")
    .argument("<base>", "the name that tenants give under extends")
    .requiredOption("-f, --file <path>", "the new base, a YAML or JSON file, or - for stdin")
    .option("--wave <count>", "how many tenants at a time", parseCount)
    .option("--continue-on-error", "a tenant that fails stops only itself")
    .option("--dry-run", "show what would change in which tenant")
    .addHelpText(
      "after",
      `
Examples:
  tenantry fleet apply standard -f standard.yaml --dry-run
  tenantry fleet apply standard -f standard.yaml --wave 20

A tenant's own members win over its bases. When a tenant fails, the run stops after its wave: mend the tenant or the
document, then tenantry fleet resume RUN goes on with what is left. The server goes on by itself: this only shows how
far it is, and tenantry fleet status RUN does later.`,
    );
  act(apply, terminal, applyBase);

  const list = fleet
    .command("list")
    .description("List the latest runs, newest first.")
    .option("--limit <count>", "how many", parseCount, 20)
    .addHelpText("after", "\nExamples:\n  tenantry fleet list");
  act(list, terminal, listRuns);

  const status = fleet
    .command("status")
    .description("Show how far a run is.")
    .argument("<run>")
    .addHelpText("after", "\nExamples:\n  tenantry fleet status run-7");
  act(status, terminal, async (context, [run]: readonly [string]) => {
    showRun(context, await context.api.json<Run>({ path: ["fleet", "runs", run] }));
  });

  const stop = fleet
    .command("stop")
    .description("Stop a run after the tenants that are being changed.")
    .argument("<run>")
    .addHelpText("after", "\nExamples:\n  tenantry fleet stop run-7");
  act(stop, terminal, async (context, [run]: readonly [string]) => {
    showRun(context, await context.api.json<Run>({ method: "POST", path: ["fleet", "runs", run, "stop"] }));
  });

  const resume = fleet
    .command("resume")
    .description("Go on with a run that stopped.")
    .argument("<run>")
    .addHelpText("after", "\nExamples:\n  tenantry fleet resume run-7");
  act(resume, terminal, async (context, [run]: readonly [string]) => {
    const begun = await context.api.json<Run>({ method: "POST", path: ["fleet", "runs", run, "resume"] });
    endRun(context, await follow(context, begun));
  });
}

async function applyBase(context: CommandContext, [base]: readonly [string], options: ApplyOptions): Promise<void> {
  const { file, wave, dryRun, continueOnError } = options;
  const { value: document, sent } = await readDocument(file, context.terminal);
  const json = { base, document, wave, dryRun, continueOnError };
  const begun = await sent(() => context.api.json<Run>({ method: "POST", path: ["fleet", "apply"], json }));
  endRun(context, await follow(context, begun));
}

async function listRuns(context: CommandContext, _args: readonly [], { limit }: { limit: number }): Promise<void> {
  const runs = await collectPages(context.api.pages<Run>({ path: ["fleet", "runs"] }, limit));
  if (runs.length === 0) context.note("No runs yet: tenantry fleet apply BASE -f FILE begins one.");
  context.show(runs, () => {
    const rows = runs.map(({ id, base, state, dryRun, created, done, total, failed }) => {
      const what = dryRun ? `${state}, a dry run` : state;
      return [id, base, what, time(created), `${done} of ${total}`, failed.length];
    });
    const titles = ["run", "base", "state", "begun", "tenants", "failed"];
    return rows.length === 0 ? "" : table(titles, rows, context.terminal.stdout);
  });
}

const LOOK_AGAIN_MS = 1000;

/** The server goes on by itself: this only looks how far it is. Whoever stops looking stops nothing. */
async function follow(context: CommandContext, begun: Run): Promise<Run> {
  let run = begun;
  const { stderr } = context.terminal;
  const isDrawn = stderr.isTTY && !context.json && !context.quiet;
  const work = { verb: `run ${run.id}`, files: run.total, what: "tenants", bytes: 0 };
  const line = createProgressLine(isDrawn ? stderr : undefined, work);
  try {
    for (let shown = 0; run.state === "running";) {
      if (!isDrawn && run.done > shown) context.note(`Run ${run.id}: ${run.done} of ${run.total}`);
      for (; shown < run.done; shown += 1) line.addFile();
      await setTimeout(LOOK_AGAIN_MS);
      run = await context.api.json<Run>({ path: ["fleet", "runs", run.id] });
    }
  } finally {
    line.end();
  }
  return run;
}

function endRun(context: CommandContext, run: Run): void {
  showRun(context, run);
  if (run.state === "stopped") {
    const next = `tenantry fleet resume ${run.id} goes on`;
    throw new CliError(EXIT.refused, `stopped at ${run.done} of ${run.total}: ${failuresOf(run)} (${next})`);
  }
}

function failuresOf({ failed }: Run): string {
  return failed.map(({ tenant, error }) => `${tenant}: ${error}`).join("; ");
}

function showRun(context: CommandContext, run: Run): void {
  context.show(run, () => {
    const { id, base, state, dryRun, total, done } = run;
    const head = dryRun
      ? `${base}: tried on ${count(total, "tenant")}, not applied`
      : `Run ${id} of ${base}: ${state}, ${done} of ${count(total, "tenant")}`;
    const changes = (run.changes ?? []).flatMap((one) => [one.tenant, ...changeLines(one.changes)]);
    return [head, ...changes, ...run.failed.map((one) => oneLine(`failed: ${one.tenant}: ${one.error}`))];
  });
}
