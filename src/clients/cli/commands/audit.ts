// Owns `tenantry audit` and `tenantry explain`: what happened to a tenant, and why a caller sees what it sees.

import type { Command } from "commander";
import { Argument } from "commander";
import { collectPages } from "../admin/admin-client.ts";
import { usageError } from "../exit.ts";
import { parseCount, parseKeyId } from "./option-values.ts";
import { act, newestOf, type CommandContext } from "../command-context.ts";
import { changeText, differences, kindOf, MARKS, type ShownChange } from "../terminal/changes.ts";
import { cut, facts, shortJson, table, time } from "../terminal/table.ts";
import { oneLine } from "../terminal/printable.ts";
import { whatHelps } from "../terminal/what-helps.ts";
import type { Terminal } from "../terminal/terminal.ts";

export function addAuditCommands(program: Command, terminal: Terminal): void {
  const audit = program
    .command("audit")
    .description("Show who changed what, newest first: in a tenant, or, without one, of the whole server.")
    .argument("[tenant]")
    .option("--limit <count>", "how many entries", parseCount, 50)
    .addHelpText(
      "after",
      "\nExamples:\n  tenantry audit\n  tenantry audit acme --limit 10\n  tenantry audit acme --json | jq '.[] | select(.actor == \"ci\")'",
    );
  act(audit, terminal, showAudit);

  const explain = program
    .command("explain")
    .description("Say why a tool, prompt or resource is visible or not, to a profile, a key and a user.")
    .argument("<tenant>")
    .addArgument(new Argument("<kind>").choices(["tool", "prompt", "resource"]))
    // Optional, so that who leaves the kind out is told the kinds, and not that the name is missing.
    .argument("[name]", "the tool's or prompt's name, or the resource's URI")
    .usage("[options] <tenant> <kind> <name>")
    .option("--profile <profile>", "through this profile")
    .option("--key <id>", "for this key, as key list shows it", parseKeyId)
    .option("--user <user>", "for this user of the app: an id, or JSON as its authenticate says it")
    .addHelpText(
      "after",
      "\nExamples:\n  tenantry explain acme tool note_delete --profile public\n  tenantry explain acme resource file:///plans.md --key Yk3v0Qp8sD",
    );
  act(explain, terminal, showExplained);
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
  const entries = newestOf(context, await collectPages(pages), limit);
  context.show(entries, () => {
    const rows = entries.map(({ at, actor, action, target, before, after }) => [
      time(at),
      actor,
      action,
      target,
      changeOf(before, after),
    ]);
    return table(["at", "who", "action", "target", "change"], rows, context.terminal.stdout);
  });
}

function markedText(change: ShownChange): string {
  const [mark] = MARKS[kindOf(change)];
  return `${mark} ${changeText(change)}`;
}

const MAX_CHANGE = 400;

const isNothing = (value: unknown) => value === null || value === undefined;

/** Shows only what differs between two documents, which may be long and nearly the same. */
function changeOf(before: unknown, after: unknown): string {
  const [was, is] = [withTimes(before), withTimes(after)];
  if (isNothing(was)) return isNothing(is) ? "" : shortJson(is);
  if (isNothing(is)) return `was ${shortJson(was)}`;
  return cut(differences(was, is).map(markedText).join(", "), MAX_CHANGE);
}

/** Members that the server stores as milliseconds since the epoch. */
const TIMES: ReadonlySet<string> = new Set(["expires", "retires", "until"]);

/** They are read as times, wherever they are. */
function withTimes(value: unknown): unknown {
  if (value === null || value === undefined) return value;
  const text = JSON.stringify(value, (name, member: unknown) =>
    TIMES.has(name) && typeof member === "number" ? time(new Date(member).toISOString()) : member,
  );
  return JSON.parse(text) as unknown;
}

const NAMED_BY: Readonly<Record<string, string>> = {
  tool: "tool's name",
  prompt: "prompt's name",
  resource: "resource's URI",
};

async function showExplained(
  context: CommandContext,
  [tenant, kind, name]: readonly [string, string, string?],
  options: { profile?: string; key?: string; user?: string },
): Promise<void> {
  if (name === undefined) throw usageError(`explain ${tenant} ${kind}: write the ${NAMED_BY[kind] ?? "name"}, too`);
  const { profile, key } = options;
  // An id alone is that of a user of this tenant.
  const isId = options.user !== undefined && !options.user.startsWith("{");
  const user = isId ? JSON.stringify({ tenant, id: options.user }) : options.user;
  const explained = await context.api.request("GET /tenants/{id}/explain", {
    params: { id: tenant },
    query: { kind: `${kind}s` as "tools", name, profile, key, user },
  });
  context.show(explained, () => {
    const { visible, callable, listedAs, reasons, decidedBy = [], unknown = [], causes = [] } = explained;
    const answers: [string, boolean | string | null][] = [["visible", visible]];
    if (key === undefined && causes.some(({ code }) => code === "key-required")) {
      context.note(
        `Said of somebody without a key; --key ID says it of one, as tenantry key list ${tenant} shows them.`,
      );
    }
    if (kind !== "resource") answers.push(["callable", callable], ["listed as", listedAs]);
    answers.push(["because", decidedBy.join("; ")]);
    const lines = reasons.flatMap((reason) => {
      const mark = decidedBy.includes(reason) ? ">" : "-";
      const found = causes.filter((cause) => cause.reason === reason);
      const helps = whatHelps(found, { tenant, upstream: found[0]?.source ?? "" });
      return [`${mark} ${oneLine(reason)}`, ...(helps === undefined ? [] : [`  what helps: ${oneLine(helps)}`])];
    });
    // What is not known may be a reason, too, and is said once.
    const rest = unknown.filter((one) => !reasons.includes(one)).map((one) => `? ${oneLine(one)}`);
    const legend = decidedBy.length > 0 ? ["", "> decides"] : [];
    return [facts(answers), "", ...lines, ...rest, ...legend].join("\n");
  });
}
