// Owns `tenantry upstream pending`, `approve` and `reject`: what an upstream lists anew or otherwise than it was approved.
// Shows every character of it: what an upstream hides from a person must not be approved unseen.

import type { Command } from "commander";
import type { Decided, Infer, WaitingShape } from "../../../admin/contract.ts";
import { collectPages } from "../admin/admin-client.ts";
import { usageError } from "../exit.ts";
import { act, confirm, type CommandContext } from "../command-context.ts";
import { inForce, kindOf, marked } from "../terminal/changes.ts";
import type { ShownLine } from "../terminal/output.ts";
import { oneLine } from "../terminal/printable.ts";
import { count } from "../terminal/table.ts";
import type { Terminal } from "../terminal/terminal.ts";

type Waiting = Infer<typeof WaitingShape>;
type Outcome = Infer<typeof Decided>;
type Verdict = "approve" | "reject";

interface DecideOptions {
  readonly all?: boolean;
  readonly yes?: boolean;
  readonly wait?: boolean;
}

/** The most that one request decides on. */
const BATCH = 1000;

export function addUpstreamReviewCommands(program: Command, terminal: Terminal): void {
  const known = program.commands.find((command) => command.name() === "upstream");
  const upstream = known ?? program.command("upstream").description("Look after the MCP servers that a tenant offers.");

  const pending = upstream
    .command("pending")
    .description("Show what waits for approval of an upstream with trust: review, and in what it differs.")
    .argument("<tenant>")
    .argument("<upstream>")
    .addHelpText(
      "after",
      `
Examples:
  tenantry upstream pending acme tracker

What is approved stays listed as it was approved; what was never approved is not listed. Characters that cannot be seen
are shown as \\u{...}.`,
    );
  act(pending, terminal, showPending);

  addDecision(upstream, terminal, "approve", "Approve definitions: they are listed as they were shown.");
  addDecision(upstream, terminal, "reject", "Reject definitions: they wait no more, and are not listed.");
}

function addDecision(upstream: Command, terminal: Terminal, verdict: Verdict, description: string): void {
  const command = upstream
    .command(verdict)
    .description(description)
    .argument("<tenant>")
    .argument("<upstream>")
    .argument("[digests...]", "as upstream pending shows them")
    .option("--all", "all that wait now")
    .option("-y, --yes", "do not ask")
    .option("--wait", "return when every part of the world has it")
    .addHelpText(
      "after",
      `
Examples:
  tenantry upstream ${verdict} acme tracker jq0mDwMVhRu1Q2WAnK2s3A
  tenantry upstream ${verdict} acme tracker --all

--all approves nothing that is flagged. A definition that has changed since it was shown has another digest, and is not decided on.`,
    );
  act(command, terminal, async (context, args: DecideArgs, options: DecideOptions) =>
    decide(context, args, { ...options, verdict }),
  );
}

type At = readonly [tenant: string, upstream: string];
type DecideArgs = readonly [tenant: string, upstream: string, digests: readonly string[]];

async function pendingOf({ api }: CommandContext, [tenant, upstream]: At): Promise<Waiting[]> {
  return collectPages(
    api.pages("GET /tenants/{id}/upstreams/{upstream}/pending", { params: { id: tenant, upstream } }),
  );
}

async function showPending(context: CommandContext, at: At): Promise<void> {
  const waiting = await pendingOf(context, at);
  if (waiting.length === 0) context.note(`Nothing of ${at[1]} waits for approval.`);
  context.show(waiting, () => waiting.flatMap(waitingLines));
}

const FLAGGED = {
  "hidden-characters": "has characters that cannot be seen",
  instruction: "reads like an instruction to the model",
} as const;

function waitingLines({ kind, name, state, digest, renamedFrom, changes, flags }: Waiting): ShownLine[] {
  const was = renamedFrom === undefined ? "" : `, the same as ${visible(renamedFrom)}, which is not listed any more`;
  return [
    `${digest}  ${state}  ${thing({ kind, name })}${was}`,
    ...flags.map((flag): ShownLine => ({ color: "red", text: `  ! ${FLAGGED[flag]}` })),
    ...changes.map((change) => {
      const values = [change.before, change.after].filter((value) => value !== undefined);
      const shown = values.map((value) => visible(JSON.stringify(value))).join(" → ");
      return marked(kindOf({ path: change.field, ...change }), `${visible(change.field)}: ${shown}`);
    }),
  ];
}

/** There is one of `instructions`, and that is its name. */
function thing({ kind, name }: Pick<Waiting, "kind" | "name">): string {
  return kind === name ? kind : `${kind} ${visible(name)}`;
}

/** Control and format characters, tags among them, private ones, and spaces that look like another. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Zl}\p{Zp}\p{Variation_Selector}\u115f\u1160\u3164\uffa0]/gu;

function visible(text: string): string {
  return oneLine(text.replaceAll(UNSEEN, (char) => `\\u{${char.codePointAt(0)?.toString(16) ?? ""}}`));
}

async function decide(
  context: CommandContext,
  [tenant, upstream, given]: DecideArgs,
  { verdict, all, yes, wait }: DecideOptions & { readonly verdict: Verdict },
): Promise<void> {
  if (given.length > 0 === (all === true)) throw usageError("give digests, as upstream pending shows them, or --all");
  const digests = all === true ? await allOf(context, [tenant, upstream], verdict, yes) : given;
  let outcome: Outcome | undefined;
  let decided = 0;
  for (let from = 0; from < digests.length; from += BATCH) {
    const body = { digests: digests.slice(from, from + BATCH) };
    const asked = { params: { id: tenant, upstream }, query: { wait }, body };
    outcome = await context.api.request(`POST /tenants/{id}/upstreams/{upstream}/${verdict}`, asked);
    decided += outcome.decided;
  }
  const left = outcome?.waiting ?? 0;
  context.show({ decided, waiting: left, effectiveAt: outcome?.effectiveAt ?? null }, () =>
    [
      `${upstream} of ${tenant}: ${count(decided, "definition")} ${verdict === "approve" ? "approved" : "rejected"}`,
      ...(left > 0 ? [`${left} still wait`] : []),
      ...inForce(outcome?.effectiveAt),
    ].join("\n"),
  );
}

/** What waits at this moment, and nothing that comes after it. */
async function allOf(
  context: CommandContext,
  at: At,
  verdict: Verdict,
  yes: boolean | undefined,
): Promise<readonly string[]> {
  const all = (await pendingOf(context, at)).filter(({ state }) => state !== "rejected");
  // What deserves a second look is approved by its own digest only.
  const waiting = verdict === "reject" ? all : all.filter(({ flags }) => flags.length === 0);
  const flagged = all.length - waiting.length;
  if (flagged > 0) context.note(`${count(flagged, "definition")} left out: approve what is flagged by its digest.`);
  if (waiting.length > 0 && yes !== true) {
    for (const { kind, name, state } of waiting) context.note(`${state}  ${thing({ kind, name })}`);
    await confirm(context, `${verdict} ${count(waiting.length, "definition")} of ${at[1]}`, yes);
  }
  return waiting.map(({ digest }) => digest);
}
