// `tenantry audit` and `tenantry explain`: the changes to a tenant, and why a caller sees what it sees.

import type { Command } from "commander";
import { Argument } from "commander";
import { collectPages } from "../admin/admin-client.ts";
import { usageError } from "../exit.ts";
import { keyIdIn, parseCount, parseKeyId } from "./option-values.ts";
import { runCommand, takeNewest, type CommandContext } from "../command-context.ts";
import { changeText, differences, kindOf, MARKS, type DocumentChange } from "../terminal/changes.ts";
import { truncate, definitionList, shortJson, formatTable, formatTime } from "../terminal/table.ts";
import { rewriteInvocation } from "../terminal/invocation.ts";
import { oneLine } from "../terminal/printable.ts";
import { upstreamHints } from "../terminal/upstream-hints.ts";
import type { Terminal } from "../terminal/terminal.ts";

export function addAuditCommands(program: Command, terminal: Terminal): void {
  const audit = program
    .command("audit")
    .description("Show the audit log of a tenant or of the platform, with the newest entry first.")
    .argument("[tenant]")
    .option("--limit <count>", "the number of entries", parseCount, 50)
    .addHelpText(
      "after",
      "\nExamples:\n  tenantry audit\n  tenantry audit acme --limit 10\n  tenantry audit acme --json | jq '.[] | select(.actor == \"ci\")'",
    );
  runCommand(audit, terminal, showAudit);

  const explain = program
    .command("explain")
    .description("Explain why a caller can or cannot see a tool, prompt or resource.")
    .argument("<tenant>")
    .addArgument(new Argument("<kind>").choices(["tool", "prompt", "resource"]))
    // Optional, so that an omitted kind leads to an error about the kind, not about a missing name.
    .argument("[name]", "the tool's or prompt's name, or the resource's URI")
    .usage("[options] <tenant> <kind> <name>")
    .option("--profile <profile>", "explain it for this profile")
    .option("--key <id>", "explain it for the key with this id; tenantry key list shows the ids", parseKeyId)
    .option("--user <user>", "explain it for this user of your app: an id, or the JSON that authenticate returns")
    .addHelpText(
      "after",
      "\nExamples:\n  tenantry explain acme tool note_delete --profile public\n  tenantry explain acme resource file:///plans.md --key Yk3v0Qp8sD",
    );
  runCommand(explain, terminal, showExplanation);
}

async function showAudit(
  context: CommandContext,
  [tenant]: readonly [string?],
  { limit }: { limit: number },
): Promise<void> {
  const pages =
    tenant === undefined
      ? context.api.pages("GET /audit", {}, limit + 1)
      : context.api.pages("GET /tenants/{id}/audit", { params: { id: tenant } }, limit + 1);
  const entries = takeNewest(context, await collectPages(pages), limit);
  context.show(entries, () => {
    const rows = entries.map(({ at, actor, action, target, before, after }) => [
      formatTime(at),
      actor,
      action,
      target,
      changeSummary(before, after),
    ]);
    return formatTable(["at", "who", "action", "target", "change"], rows, context.terminal.stdout);
  });
}

function changeWithMark(change: DocumentChange): string {
  const [mark] = MARKS[kindOf(change)];
  return `${mark} ${changeText(change)}`;
}

const MAX_CHANGE = 400;

const isNullish = (value: unknown) => value === null || value === undefined;

/** Shows only the differences of two documents, which may be long and nearly equal. */
function changeSummary(before: unknown, after: unknown): string {
  const [previous, current] = [withTimes(before), withTimes(after)];
  if (isNullish(previous)) return isNullish(current) ? "" : shortJson(current);
  if (isNullish(current)) return `was ${shortJson(previous)}`;
  return truncate(differences(previous, current).map(changeWithMark).join(", "), MAX_CHANGE);
}

/** Members that the server stores as milliseconds since the epoch. */
const TIMES: ReadonlySet<string> = new Set(["expires", "retires", "until"]);

/** Formats these members as times, at any depth. */
function withTimes(value: unknown): unknown {
  if (value === null || value === undefined) return value;
  const text = JSON.stringify(value, (name, member: unknown) =>
    TIMES.has(name) && typeof member === "number" ? formatTime(new Date(member).toISOString()) : member,
  );
  return JSON.parse(text) as unknown;
}

const NAME_LABELS: Readonly<Record<string, string>> = {
  tool: "tool's name",
  prompt: "prompt's name",
  resource: "resource's URI",
};

async function showExplanation(
  context: CommandContext,
  [tenant, kind, name]: readonly [string, string, string?],
  options: { profile?: string; key?: string; user?: string },
): Promise<void> {
  if (name === undefined) throw usageError(`explain ${tenant} ${kind}: the ${NAME_LABELS[kind] ?? "name"} is missing`);
  const { profile, key } = options;
  // A bare id is a user of this tenant.
  const isId = options.user !== undefined && !options.user.startsWith("{");
  const user = isId ? JSON.stringify({ tenant, id: options.user }) : options.user;
  const explanation = await context.api.request("GET /tenants/{id}/explain", {
    params: { id: tenant },
    query: { kind: `${kind}s` as "tools", name, profile, key, user },
  });
  context.show(explanation, () => {
    const { visible, callable, listedAs, reasons, decidedBy = [], unknown = [], causes = [] } = explanation;
    const answers: [string, boolean | string | null][] = [["visible", visible]];
    if (key === undefined && causes.some(({ code }) => code === "key-required")) {
      const givenId = keyIdIn(context.terminal.env.TENANTRY_KEY ?? "");
      const advice =
        givenId === undefined
          ? `For a key, add --key ID: tenantry key list ${tenant} shows the ids.`
          : `For the key in TENANTRY_KEY, add --key ${givenId}.`;
      context.note(`This is the answer for a caller without a key. ${advice}`);
    }
    if (kind !== "resource") answers.push(["callable", callable], ["listed as", listedAs]);
    answers.push(["because", decidedBy.join("; ")]);
    const lines = reasons.flatMap((reason) => {
      const mark = decidedBy.includes(reason) ? ">" : "-";
      const matching = causes.filter((cause) => cause.reason === reason);
      const hints = upstreamHints(matching, { tenant, upstream: matching[0]?.source ?? "" });
      return [
        `${mark} ${oneLine(reason)}`,
        ...(hints === undefined ? [] : [`  what to do: ${oneLine(rewriteInvocation(hints, context.terminal.env))}`]),
      ];
    });
    // An unknown may also be one of the reasons; print it once.
    const unknownLines = unknown.filter((one) => !reasons.includes(one)).map((one) => `? ${oneLine(one)}`);
    const legend = decidedBy.length > 0 ? ["", "> decides"] : [];
    return [definitionList(answers), "", ...lines, ...unknownLines, ...legend].join("\n");
  });
}
