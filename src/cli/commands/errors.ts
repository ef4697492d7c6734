// `tenantry errors`: errors by request id, the latest errors of a tenant, and the counters of an isolate.

import type { Command } from "commander";
import type { ErrorRow, Infer } from "../../admin/contract.ts";
import { collectPages } from "../admin/admin-client.ts";
import { runCommand, takeNewest, type CommandContext } from "../command-context.ts";
import { CliError, EXIT } from "../exit.ts";
import { oneLine } from "../terminal/printable.ts";
import { truncate, definitionList, formatTable, formatTime } from "../terminal/table.ts";
import type { Terminal } from "../terminal/terminal.ts";
import { parseCount } from "./option-values.ts";

type ErrorEntry = Infer<typeof ErrorRow>;

interface ErrorsOptions {
  readonly tenant?: string;
  readonly limit: number;
}

export function addErrorsCommands(program: Command, terminal: Terminal): void {
  const errors = program
    .command("errors")
    .description("Show an error by the id that a client shows. Without an id, list the last errors.")
    .argument("[request-id]", "as the client shows it")
    .option("--tenant <tenant>", "only errors of this tenant; required for a tenant-admin")
    .option("--limit <count>", "the largest number", parseCount, 20)
    .addHelpText(
      "after",
      `
Examples:
  tenantry errors 8f3a2c71-0b1d-4c57-9e0a-5d2b6f7e1a90
  tenantry errors --tenant acme --limit 5

If the Worker has telemetry(), it stores the last 200 errors of each tenant for two weeks: docs/telemetry.md.`,
    );
  runCommand(errors, terminal, showErrors);

  const metrics = program
    .command("metrics")
    .description("Show the counters of one isolate since its start, and its open streams.")
    .addHelpText("after", "\nExamples:\n  tenantry metrics\n  tenantry metrics --json");
  runCommand(metrics, terminal, showMetrics);
}

async function showErrors(
  context: CommandContext,
  [requestId]: readonly [string?],
  { tenant, limit }: ErrorsOptions,
): Promise<void> {
  const query = { requestId };
  const pages =
    tenant === undefined
      ? context.api.pages("GET /errors", { query }, limit + 1)
      : context.api.pages("GET /tenants/{id}/errors", { params: { id: tenant }, query }, limit + 1);
  const errors = takeNewest(context, await collectPages(pages), limit);
  if (requestId !== undefined && errors.length === 0) {
    const why = "the id is mistyped, the error is older than two weeks, or only the Worker's log has it, as requestId";
    throw new CliError(EXIT.notFound, `no error is stored with the id ${requestId}: ${why}`);
  }
  if (errors.length === 0) context.note("No errors in the last two weeks.");
  if (requestId === undefined && errors.some(({ message }) => message === "")) {
    context.note("Errors that show - are stored with their tenant: tenantry errors REQUEST, or --tenant, shows them.");
  }
  context.show(errors, () =>
    requestId === undefined ? errorTable(errors, context) : errors.map(errorText).join("\n\n"),
  );
}

function errorTable(errors: readonly ErrorEntry[], { terminal }: CommandContext): string {
  const rows = errors.map(({ at, tenant, method, name, message, requestId }) => [
    formatTime(at),
    tenant,
    `${method} ${name}`.trim(),
    truncate(message, MAX_MESSAGE),
    requestId,
  ]);
  return formatTable(["at", "tenant", "what", "error", "request"], rows, terminal.stdout);
}

const MAX_MESSAGE = 80;

function errorText({ at, tenant, method, name, message, stack, requestId }: ErrorEntry): string {
  const summary = definitionList([
    ["at", formatTime(at)],
    ["tenant", tenant],
    ["what", `${method} ${name}`.trim()],
    ["request", requestId],
    ["error", message],
  ]);
  const lines = stack.split("\n").map((line) => `  ${oneLine(line)}`);
  return stack === "" ? summary : [summary, ...lines].join("\n");
}

async function showMetrics(context: CommandContext): Promise<void> {
  const { counts, refusals, levels = {} } = await context.api.request("GET /metrics");
  context.show({ counts, refusals, levels }, () => {
    const toRows = (by: Readonly<Record<string, number>>) =>
      Object.entries(by).map(([name, count]) => [name, String(count)]);
    const refusalRows = toRows(refusals).map(([name = "", count = ""]) => [`refused: ${name}`, count]);
    const levelRows = toRows(levels).map(([name = "", level = ""]) => [`now: ${name}`, level]);
    return formatTable(
      ["counted", "since this isolate started"],
      [...toRows(counts), ...refusalRows, ...levelRows],
      context.terminal.stdout,
    );
  });
}
