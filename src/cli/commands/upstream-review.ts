// `tenantry upstream pending`, `approve` and `reject`: new and changed definitions of an upstream. Every character is
// shown, so that a hidden one cannot be approved unseen.

import type { Command } from "commander";
import type { ReviewResult, Infer, PendingDefinitionShape } from "../../admin/contract.ts";
import { collectPages } from "../admin/admin-client.ts";
import { CliError, EXIT, usageError } from "../exit.ts";
import { runCommand, confirm, type CommandContext } from "../command-context.ts";
import { propagationNote, kindOf, markedLine } from "../terminal/changes.ts";
import type { OutputLine } from "../terminal/output.ts";
import { oneLine } from "../terminal/printable.ts";
import { formatCount } from "../terminal/table.ts";
import type { Terminal } from "../terminal/terminal.ts";

type PendingDefinition = Infer<typeof PendingDefinitionShape>;
type DecisionAnswer = Infer<typeof ReviewResult>;
type Decision = "approve" | "reject";

interface DecideOptions {
  readonly all?: boolean;
  readonly yes?: boolean;
  readonly wait?: boolean;
}

/** The most definitions that one request decides on. */
const BATCH = 1000;

export function addUpstreamReviewCommands(program: Command, terminal: Terminal): void {
  const existing = program.commands.find((command) => command.name() === "upstream");
  const upstream =
    existing ?? program.command("upstream").description("Look after the MCP servers that a tenant offers.");

  const pending = upstream
    .command("pending")
    .description("Show definitions that wait for approval (trust: review), with their differences.")
    .argument("<tenant>")
    .argument("<upstream>")
    .addHelpText(
      "after",
      `
Examples:
  tenantry upstream pending acme tracker

An approved definition stays listed as it was approved; other definitions are not listed. Invisible characters
are shown as \\u{...}.`,
    );
  runCommand(pending, terminal, showPending);

  addDecision(upstream, terminal, "approve", "Approve definitions as `upstream pending` showed them.");
  addDecision(upstream, terminal, "reject", "Reject definitions, so that they are not listed.");
}

function addDecision(upstream: Command, terminal: Terminal, decision: Decision, description: string): void {
  const command = upstream
    .command(decision)
    .description(description)
    .argument("<tenant>")
    .argument("<upstream>")
    .argument("[digests...]", "as upstream pending shows them")
    .option("--all", "decide on all definitions that wait now")
    .option("-y, --yes", "do not ask")
    .option("--wait", "wait until it is in effect everywhere")
    .addHelpText(
      "after",
      `
Examples:
  tenantry upstream ${decision} acme tracker jq0mDwMVhRu1Q2WAnK2s3A
  tenantry upstream ${decision} acme tracker --all

--all does not approve flagged definitions. A definition that changed after you saw it has another digest, so the command ignores it.`,
    );
  runCommand(command, terminal, async (context, args: DecideArgs, options: DecideOptions) =>
    decide(context, args, { ...options, decision }),
  );
}

type UpstreamArgs = readonly [tenant: string, upstream: string];
type DecideArgs = readonly [tenant: string, upstream: string, digests: readonly string[]];

async function fetchPending({ api }: CommandContext, [tenant, upstream]: UpstreamArgs): Promise<PendingDefinition[]> {
  return collectPages(
    api.pages("GET /tenants/{id}/upstreams/{upstream}/pending", { params: { id: tenant, upstream } }),
  );
}

async function showPending(context: CommandContext, upstreamArgs: UpstreamArgs): Promise<void> {
  const pending = await fetchPending(context, upstreamArgs);
  if (pending.length === 0) context.note(`Nothing of ${upstreamArgs[1]} waits for approval.`);
  context.show(pending, () => pending.flatMap(pendingLines));
}

const FLAG_TEXTS = {
  "hidden-characters": "has invisible characters",
  instruction: "reads like an instruction to the model",
} as const;

function pendingLines({ kind, name, state, digest, renamedFrom, changes, flags }: PendingDefinition): OutputLine[] {
  const was =
    renamedFrom === undefined ? "" : `, the same as ${escapeInvisible(renamedFrom)}, which is not listed any more`;
  return [
    `${digest}  ${state}  ${definitionLabel({ kind, name })}${was}`,
    ...flags.map((flag): OutputLine => ({ color: "red", text: `  ! ${FLAG_TEXTS[flag]}` })),
    ...changes.map((change) => {
      const values = [change.before, change.after].filter((value) => value !== undefined);
      const shown = values.map((value) => escapeInvisible(JSON.stringify(value))).join(" → ");
      return markedLine(kindOf({ path: change.field, ...change }), `${escapeInvisible(change.field)}: ${shown}`);
    }),
  ];
}

/** The kind `instructions` has one definition of the same name, which is printed once. */
function definitionLabel({ kind, name }: Pick<PendingDefinition, "kind" | "name">): string {
  return kind === name ? kind : `${kind} ${escapeInvisible(name)}`;
}

/** Control and format characters, including tags, private-use characters, and characters that render as spaces. */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Zl}\p{Zp}\p{Variation_Selector}\u115f\u1160\u3164\uffa0]/gu;

function escapeInvisible(text: string): string {
  return oneLine(text.replaceAll(INVISIBLE, (char) => `\\u{${char.codePointAt(0)?.toString(16) ?? ""}}`));
}

async function decide(
  context: CommandContext,
  [tenant, upstream, digestArgs]: DecideArgs,
  { decision, all, yes, wait }: DecideOptions & { readonly decision: Decision },
): Promise<void> {
  if (digestArgs.length > 0 === (all === true))
    throw usageError("give digests, as upstream pending shows them, or --all");
  const { digests, flagged } =
    all === true
      ? await findAllPending(context, [tenant, upstream], decision, yes)
      : { digests: digestArgs, flagged: 0 };
  let outcome: DecisionAnswer | undefined;
  let decided = 0;
  for (let from = 0; from < digests.length; from += BATCH) {
    const body = { digests: digests.slice(from, from + BATCH) };
    const args = { params: { id: tenant, upstream }, query: { wait }, body };
    outcome = await context.api.request(`POST /tenants/{id}/upstreams/{upstream}/${decision}`, args);
    decided += outcome.decided;
  }
  const stillPending = outcome?.waiting ?? 0;
  context.show({ decided, waiting: stillPending, effectiveAt: outcome?.effectiveAt ?? null }, () =>
    [
      `${upstream} of ${tenant}: ${formatCount(decided, "definition")} ${decision === "approve" ? "approved" : "rejected"}`,
      ...(stillPending > 0 ? [`${stillPending} still wait`] : []),
      ...propagationNote(outcome?.effectiveAt),
    ].join("\n"),
  );
  if (flagged > 0) {
    const left = `${formatCount(flagged, "flagged definition")} of ${upstream} left out`;
    throw new CliError(EXIT.refused, `${left}: approve flagged definitions by their digests`);
  }
}

/** The definitions that wait at this moment, and none that arrive later. */
async function findAllPending(
  context: CommandContext,
  upstreamArgs: UpstreamArgs,
  decision: Decision,
  yes: boolean | undefined,
): Promise<{ readonly digests: readonly string[]; readonly flagged: number }> {
  const all = (await fetchPending(context, upstreamArgs)).filter(({ state }) => state !== "rejected");
  // Flagged definitions can only be approved one by one, by digest.
  const selected = decision === "reject" ? all : all.filter(({ flags }) => flags.length === 0);
  if (selected.length > 0 && yes !== true) {
    for (const { kind, name, state } of selected) context.note(`${state}  ${definitionLabel({ kind, name })}`);
    await confirm(context, `${decision} ${formatCount(selected.length, "definition")} of ${upstreamArgs[1]}`, yes);
  }
  return { digests: selected.map(({ digest }) => digest), flagged: all.length - selected.length };
}
