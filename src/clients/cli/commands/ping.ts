// Owns `tenantry ping`: whether an MCP endpoint answers, in which revisions, and how long a round trip takes.

import type { Command } from "commander";
import { act, type CommandContext } from "../command-context.ts";
import { roundTrips2025, roundTrips2026 } from "../doctor/round-trips.ts";
import { CliError, EXIT } from "../exit.ts";
import { endpointUrl, mcpEndpoint } from "../mcp-endpoint.ts";
import { mcpProblem } from "../terminal/mcp-problem.ts";
import { table } from "../terminal/table.ts";
import type { Terminal } from "../terminal/terminal.ts";
import { keyFor, withKeyOptions, type KeyOptions } from "./key-option.ts";
import { parseCount } from "./option-values.ts";

interface PingOptions extends KeyOptions {
  readonly count: number;
}

export function addPingCommand(program: Command, terminal: Terminal): void {
  const ping = withKeyOptions(program.command("ping"))
    .description("Say whether an endpoint answers, in which revisions, and how long a round trip takes.")
    .argument("<endpoint>", "a tenant, tenant/profile, or the URL of any MCP endpoint")
    .option("-n, --count <count>", "how many round trips in each era", parseCount, 5)
    .addHelpText(
      "after",
      `
Examples:
  tenantry ping demo
  tenantry ping https://mcp.example.com/mcp/acme --key-file key.txt --count 20
  tenantry ping acme --json | jq '.[].ms'

The first round trip may open the connection; in era 2025 there is a session around them. Where nothing answers, tenantry doctor
says why.`,
    );
  act(ping, terminal, runPing);
}

async function runPing(context: CommandContext, [where]: readonly [string], options: PingOptions): Promise<void> {
  const { signal } = context.terminal;
  const endpoint = mcpEndpoint(endpointUrl(context.api.base, where), await keyFor(context.terminal, options));
  try {
    const newest = await roundTrips2026(endpoint, options.count, signal);
    const trips = [...newest, ...(await roundTrips2025(endpoint, options.count, signal))];
    if (trips.length === 0)
      throw new CliError(EXIT.refused, `${endpoint.url}: speaks no Streamable HTTP; tenantry doctor says what it does`);
    context.show(trips, () => {
      const rows = trips.map(({ revision, method, ms }) => [revision, method, ms.length, ...summary(ms)]);
      return table(
        ["revision", "method", "sent", "fastest ms", "median ms", "slowest ms"],
        rows,
        context.terminal.stdout,
      );
    });
  } catch (error) {
    throw mcpProblem(error, endpoint);
  }
}

function summary(ms: readonly number[]): number[] {
  const sorted = ms.toSorted((one, other) => one - other);
  return [sorted[0] ?? 0, sorted[sorted.length >> 1] ?? 0, sorted.at(-1) ?? 0];
}
