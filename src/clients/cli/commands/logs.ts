// Owns `tenantry errors`: errors, by the id that a client was told, or the last ones of a tenant; and what an isolate counted.

import type { Command } from "commander";
import type { FaultRow, Infer } from "../../../admin/contract.ts";
import { collectPages } from "../admin/admin-client.ts";
import { act, newestOf, type CommandContext } from "../command-context.ts";
import { CliError, EXIT } from "../exit.ts";
import { oneLine } from "../terminal/printable.ts";
import { cut, facts, table, time } from "../terminal/table.ts";
import type { Terminal } from "../terminal/terminal.ts";
import { parseCount } from "./option-values.ts";

type Fault = Infer<typeof FaultRow>;

interface LogsOptions {
  readonly tenant?: string;
  readonly limit: number;
}

export function addLogsCommands(program: Command, terminal: Terminal): void {
  const logs = program
    .command("errors")
    .description("Show the error behind an id that a client was told, or the last errors.")
    .argument("[request-id]", "as the client shows it")
    .option("--tenant <tenant>", "of this tenant alone; its own administrators have to say it")
    .option("--limit <count>", "how many", parseCount, 20)
    .addHelpText(
      "after",
      `
Examples:
  tenantry errors 8f3a2c71-0b1d-4c57-9e0a-5d2b6f7e1a90
  tenantry errors --tenant acme --limit 5

Errors are kept for two weeks, the last 200 of each tenant, where the Worker has telemetry(): docs/telemetry.md.`,
    );
  act(logs, terminal, showLogs);

  const counters = program
    .command("metrics")
    .description(
      "Show what one isolate of the Worker has counted since it began, and what is open in it now: leases, refusals, overloads, streams.",
    )
    .addHelpText("after", "\nExamples:\n  tenantry metrics\n  tenantry metrics --json");
  act(counters, terminal, showCounters);
}

async function showLogs(
  context: CommandContext,
  [requestId]: readonly [string?],
  { tenant, limit }: LogsOptions,
): Promise<void> {
  const query = { requestId };
  const pages =
    tenant === undefined
      ? context.api.pages("GET /errors", { query }, limit + 1)
      : context.api.pages("GET /tenants/{id}/errors", { params: { id: tenant }, query }, limit + 1);
  const faults = newestOf(context, await collectPages(pages), limit);
  if (requestId !== undefined && faults.length === 0) {
    const why = "the id is another, it is older than two weeks, or only the Worker's log has it, under requestId";
    throw new CliError(EXIT.notFound, `no error is kept under ${requestId}: ${why}`);
  }
  if (faults.length === 0) context.note("No errors are kept of the last two weeks.");
  if (requestId === undefined && faults.some(({ message }) => message === "")) {
    context.note("What has - for its error is kept with its tenant: tenantry errors REQUEST, or --tenant, shows it.");
  }
  context.show(faults, () => (requestId === undefined ? listed(faults, context) : faults.map(whole).join("\n\n")));
}

function listed(faults: readonly Fault[], { terminal }: CommandContext): string {
  const rows = faults.map(({ at, tenant, method, name, message, requestId }) => [
    time(at),
    tenant,
    `${method} ${name}`.trim(),
    cut(message, MOST_CHARACTERS),
    requestId,
  ]);
  return table(["at", "tenant", "what", "error", "request"], rows, terminal.stdout);
}

const MOST_CHARACTERS = 80;

function whole({ at, tenant, method, name, message, stack, requestId }: Fault): string {
  const about = facts([
    ["at", time(at)],
    ["tenant", tenant],
    ["what", `${method} ${name}`.trim()],
    ["request", requestId],
    ["error", message],
  ]);
  const lines = stack.split("\n").map((line) => `  ${oneLine(line)}`);
  return stack === "" ? about : [about, ...lines].join("\n");
}

async function showCounters(context: CommandContext): Promise<void> {
  const { counts, refusals, levels = {} } = await context.api.request("GET /metrics");
  context.show({ counts, refusals, levels }, () => {
    const shown = (by: Readonly<Record<string, number>>) =>
      Object.entries(by).map(([name, count]) => [name, String(count)]);
    const refused = shown(refusals).map(([name = "", count = ""]) => [`refused: ${name}`, count]);
    const now = shown(levels).map(([name = "", level = ""]) => [`now: ${name}`, level]);
    return table(
      ["counted", "since this isolate began"],
      [...shown(counts), ...refused, ...now],
      context.terminal.stdout,
    );
  });
}
