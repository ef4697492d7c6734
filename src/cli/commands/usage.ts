// `tenantry usage`: a tenant's current usage, and the calls of one tenant or all tenants.

import { InvalidArgumentError, type Command } from "commander";
import type { Infer, UsageLineShape } from "../../admin/contract.ts";
import { collectPages } from "../admin/admin-client.ts";
import { jsonLines } from "../admin/json-lines.ts";
import { runCommand, type CommandContext } from "../command-context.ts";
import { usageError } from "../exit.ts";
import { printableJson } from "../terminal/printable.ts";
import { formatBytes, definitionList, formatTable } from "../terminal/table.ts";
import type { Terminal } from "../terminal/terminal.ts";
import { parsePast } from "./option-values.ts";

type Line = Infer<typeof UsageLineShape>;
interface UsageOptions {
  readonly tenant?: string;
  readonly from?: string;
  readonly to?: string;
  readonly by: "hour" | "day";
  readonly closed?: true;
}

export function addUsageCommand(program: Command, terminal: Terminal): void {
  const usage = program
    .command("usage")
    .description("Show calls of tools, prompts and methods by tenant, or the storage of one tenant.")
    .argument("[tenant]", "show its resources, keys and suspensions, not its calls")
    .option("--tenant <tenant>", "calls of this tenant; default: all tenants")
    .option("--from <time>", "the start: 7d for seven days ago, or a date such as 2027-01-31", parsePast)
    .option("--to <time>", "the end", parsePast)
    .option("--by <hour|day>", "the period that each line of --json covers", parseBy, "hour")
    .option("--closed", "print only periods that are over")
    .addHelpText(
      "after",
      `
Examples:
  tenantry usage acme
  tenantry usage --tenant acme --from 7d
  tenantry usage --from 2027-01-01 --to 2027-02-01 --by day --closed --json > january.ndjson

With --json, each line has an id. A closed period never changes, so a line with the same id is the same line.`,
    );
  runCommand(usage, terminal, showUsage);
}

function parseBy(text: string): UsageOptions["by"] {
  if (text !== "hour" && text !== "day") throw new InvalidArgumentError("hour or day.");
  return text;
}

async function showUsage(context: CommandContext, [tenant]: readonly [string?], options: UsageOptions): Promise<void> {
  if (tenant === undefined) await showCalls(context, options);
  else await showCurrentUsage(context, tenant, options);
}

/** Current values, for which a time range makes no sense. */
async function showCurrentUsage(context: CommandContext, tenant: string, options: UsageOptions): Promise<void> {
  const { tenant: tenantOption, from, to, by, closed } = options;
  if (by !== "hour" || [tenantOption, from, to, closed].some((option) => option !== undefined)) {
    throw usageError(`these options need --tenant ${tenant}: tenantry usage --tenant ${tenant} --from 7d`);
  }
  const usage = await context.api.request("GET /tenants/{id}/usage", { params: { id: tenant } });
  context.show(usage, () =>
    definitionList([
      ["resources", usage.resources],
      ["stored", formatBytes(usage.resourceBytes)],
      ["keys", usage.keys],
      ["suspensions", usage.suspensions],
    ]),
  );
  context.note(`tenantry limits ${tenant} shows its limits, and tenantry usage --tenant ${tenant} its calls.`);
}

async function showCalls(context: CommandContext, options: UsageOptions): Promise<void> {
  const { tenant, from, to, by, closed } = options;
  if (from !== undefined && to !== undefined && from >= to) throw usageError(`--from ${from} is not before --to ${to}`);
  const query = { by, from, to, open: closed === undefined };
  const tenants = tenant === undefined ? await listTenantIds(context) : [tenant];
  const sums = new Map<string, Line>();
  for (const id of tenants) {
    const answer = await context.api.response("GET /tenants/{id}/usage/calls", { params: { id }, query });
    for await (const line of jsonLines<Line>(answer)) {
      if (context.json) context.terminal.stdout.lines([printableJson(line)]);
      else addTo(sums, line);
    }
  }
  if (context.json) return;
  if (sums.size === 0) context.note("No calls in this time; calls of the last ten seconds may not be counted yet.");
  const rows = [...sums.values()]
    .toSorted((one, other) => other.calls - one.calls)
    .map((one) => [one.tenant, one.kind, one.name, one.calls, one.errors, one.refused, one.bytesIn, one.bytesOut]);
  const titles = ["tenant", "kind", "name", "calls", "errors", "refused", "bytes in", "bytes out"];
  context.terminal.stdout.lines([formatTable(titles, rows, context.terminal.stdout)]);
}

async function listTenantIds({ api }: CommandContext): Promise<readonly string[]> {
  const all = await collectPages(api.pages("GET /tenants", {}));
  return all.map(({ id }) => id);
}

function addTo(sums: Map<string, Line>, line: Line): void {
  const key = JSON.stringify([line.tenant, line.kind, line.name]);
  const sum = sums.get(key);
  sums.set(
    key,
    sum
      ? {
          ...sum,
          calls: sum.calls + line.calls,
          errors: sum.errors + line.errors,
          refused: sum.refused + line.refused,
          bytesIn: sum.bytesIn + line.bytesIn,
          bytesOut: sum.bytesOut + line.bytesOut,
        }
      : line,
  );
}
