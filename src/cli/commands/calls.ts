// `tenantry calls`: a tenant's recorded calls, and whether the record has been tampered with.

import { createHash } from "node:crypto";
import type { Command } from "commander";
import type { Infer, CallAuditLine } from "../../admin/contract.ts";
import { jsonLines } from "../admin/json-lines.ts";
import { runCommand, takeNewest, type CommandContext } from "../command-context.ts";
import { CliError, EXIT } from "../exit.ts";
import { printableJson } from "../terminal/printable.ts";
import { formatCount as counted, truncate, shortJson, formatTable, formatTime } from "../terminal/table.ts";
import type { Terminal } from "../terminal/terminal.ts";
import { parseCount } from "./option-values.ts";

type Line = Infer<typeof CallAuditLine>;
interface Entry {
  readonly at: string;
  readonly principal: string;
  readonly name: string | null;
  readonly method: string;
  readonly outcome: string;
  readonly requestId: string;
  /** The number of calls that this entry stands for; absent: one. */
  readonly times?: number;
  readonly arguments: { readonly sha256: string; readonly redacted?: unknown };
}

export function addCallsCommands(program: Command, terminal: Terminal): void {
  const calls = program.command("calls").description("Show, export and verify the calls that a tenant has recorded.");
  const show = calls
    .command("show")
    .description("Show recorded calls, newest last.")
    .argument("<tenant>")
    .option("--limit <count>", "the largest number", parseCount, 50)
    .addHelpText("after", "\nExamples:\n  tenantry calls show acme --limit 10");
  runCommand(show, terminal, showCalls);
  const exportCommand = calls
    .command("export")
    .description("Print every recorded call as a line of JSON, with its chained hash.")
    .argument("<tenant>")
    .option("--after <sequence>", "only calls after this sequence number", parseCount)
    .addHelpText("after", "\nExamples:\n  tenantry calls export acme > acme-calls.ndjson");
  runCommand(exportCommand, terminal, exportCalls);
  const verify = calls
    .command("verify")
    .description("Check whether a recorded call was changed or removed.")
    .argument("<tenant>")
    .option("--head <hash>", "a hash that an earlier verify printed; the check fails if the chain does not contain it")
    .addHelpText(
      "after",
      `
Examples:
  tenantry calls verify acme
  tenantry calls verify acme --head 8f434346648f6b96df89dda901c5176b10a6d83961dd3c1ac88b59b2dc327aa4

Store the printed hash in a place that the server's operators cannot change. Later, --head checks that the calls up to this
hash were not rewritten.`,
    );
  runCommand(verify, terminal, verifyCalls);
}

const fetchLines = async ({ api }: CommandContext, tenant: string, query: { after?: number; last?: number } = {}) =>
  jsonLines<Line>(await api.response("GET /tenants/{id}/calls", { params: { id: tenant }, query }));

const NO_CALLS = "No recorded calls: the field audit of the tenant's document turns recording on, docs/audit.md.";

async function showCalls(
  context: CommandContext,
  [tenant]: readonly [string],
  { limit }: { limit: number },
): Promise<void> {
  const newestFirst: Entry[] = [];
  for await (const line of await fetchLines(context, tenant, { last: limit + 1 })) {
    if (line.kind === "call") newestFirst.push(line.entry as Entry);
  }
  const entries = takeNewest(context, newestFirst.toReversed(), limit).toReversed();
  if (entries.length === 0) context.note(NO_CALLS);
  context.show(entries, () => {
    const rows = entries.map((one) => [
      formatTime(one.at),
      one.principal,
      one.name ?? one.method,
      one.times === undefined ? one.outcome : `${one.outcome} x${one.times}`,
      one.requestId,
      one.arguments.redacted === undefined
        ? one.arguments.sha256.slice(0, 16)
        : truncate(shortJson(one.arguments.redacted), 200),
    ]);
    return formatTable(["at", "who", "what", "outcome", "request", "arguments"], rows, context.terminal.stdout);
  });
}

async function exportCalls(
  context: CommandContext,
  [tenant]: readonly [string],
  query: { after?: number },
): Promise<void> {
  for await (const line of await fetchLines(context, tenant, query))
    context.terminal.stdout.lines([printableJson(line)]);
}

interface ChainPosition {
  readonly hash: string;
  readonly sequence: number;
}

async function verifyCalls(
  context: CommandContext,
  [tenant]: readonly [string],
  { head }: { head?: string },
): Promise<void> {
  let position: ChainPosition | undefined;
  let count = 0;
  let isEnded = false;
  let isFound = head === undefined;
  for await (const line of await fetchLines(context, tenant)) {
    isFound ||= line.hash === head;
    isEnded = line.kind === "head";
    count += line.kind === "call" ? 1 : 0;
    position = verifyLine(tenant, position, line);
  }
  if (!position || !isEnded) throw tamperedError(tenant, position?.sequence ?? 0);
  if (!isFound) {
    const why = "the calls were rewritten, the hash is older than the oldest stored call, or it is mistyped";
    throw new CliError(EXIT.refused, `${tenant}: no recorded call has the hash of --head; ${why}`);
  }
  const { hash } = position;
  if (count === 0) context.note(NO_CALLS);
  context.show({ tenant, calls: count, head: hash }, () => {
    return `${counted(count, "recorded call")} of ${tenant}: unchanged; the newest hash is ${hash}`;
  });
}

/** The position in the hash chain after this line. */
function verifyLine(tenant: string, position: ChainPosition | undefined, line: Line): ChainPosition {
  const { kind, sequence, hash } = line;
  if (kind === "anchor") return { sequence, hash };
  const isValid =
    kind === "head"
      ? position?.sequence === sequence && position.hash === hash
      : position && isLinkedTo(position, line);
  if (isValid !== true) throw tamperedError(tenant, sequence);
  return { sequence, hash };
}

function isLinkedTo(position: ChainPosition, { sequence, hash, entry }: Extract<Line, { kind: "call" }>): boolean {
  const entrySequence = (entry as { readonly sequence?: unknown } | null)?.sequence;
  const computedHash = createHash("sha256")
    .update(`${position.hash}\n${JSON.stringify(entry)}`)
    .digest("hex");
  return sequence === position.sequence + 1 && entrySequence === sequence && computedHash === hash;
}

function tamperedError(tenant: string, sequence: number): CliError {
  return new CliError(
    EXIT.refused,
    `${tenant}: the recorded calls do not match their hashes: call ${sequence} was changed, or calls before it were removed`,
  );
}
