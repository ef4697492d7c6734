// Texts of `tenantry upstream list` and `show`, and the other commands' lines about an upstream.

import {
  STATE_WORDS,
  type Infer,
  type UpstreamShape,
  type UpstreamSummary,
  type UpstreamTestResult,
} from "../../admin/contract.ts";
import { collectPages } from "../admin/admin-client.ts";
import type { CommandContext } from "../command-context.ts";
import { rewriteInvocation } from "../terminal/invocation.ts";
import type { Screen } from "../terminal/output.ts";
import { oneLine } from "../terminal/printable.ts";
import { formatCount, definitionList, formatTable, formatTime, displayWidth } from "../terminal/table.ts";
import type { Terminal } from "../terminal/terminal.ts";
import { upstreamHints } from "../terminal/upstream-hints.ts";

type UpstreamAnswer = Infer<typeof UpstreamShape>;
type UpstreamListItem = Infer<typeof UpstreamSummary>;
type UpstreamTestAnswer = Infer<typeof UpstreamTestResult>;
type Content = NonNullable<UpstreamAnswer["content"]>;

const ERA_TEXTS: Readonly<Record<Content["way"], string>> = {
  "2025": "2025",
  "2026": "2026",
  "http-sse": "2025, over HTTP+SSE",
};

export async function listUpstreams(context: CommandContext, [tenant]: readonly [string]): Promise<void> {
  const upstreams = await collectPages(context.api.pages("GET /tenants/{id}/upstreams", { params: { id: tenant } }));
  if (upstreams.length === 0) context.note(`No upstreams: tenantry upstream add ${tenant} ID URL adds one.`);
  context.show(upstreams, () => {
    return upstreams.length === 0 ? "" : listText(upstreams, context.terminal.stdout);
  });
}

/** Users look for the reason, so it is not truncated, and goes below its upstream on a narrow terminal. */
function listText(upstreams: readonly UpstreamListItem[], { isTTY, columns }: Screen): string {
  const titles = ["upstream", "state", "era", "tools", "prompts", "resources", "left out"];
  const rows = upstreams.map(({ id, state, content }) => [
    id,
    STATE_WORDS[state] ?? state,
    content && (ERA_TEXTS[content.way] ?? content.way),
    content?.counts.tools,
    content?.counts.prompts,
    content && content.counts.resources + content.counts.resourceTemplates,
    content?.quarantined,
  ]);
  const more = upstreams.map(({ lastRead, url, why }) => [formatTime(lastRead), url, why]);
  const wide = { isTTY: false, columns: undefined };
  const whole = formatTable(
    [...titles, "last tried", "url", "why"],
    rows.map((row, at) => [...row, ...(more[at] ?? [])]),
    wide,
  );
  if (!isTTY || whole.split("\n").every((line) => displayWidth(line) <= (columns || 80))) return whole;
  const [title = "", ...lines] = formatTable(titles, rows, wide).split("\n");
  const below = lines.map((line, at) => [line, ...(upstreams[at]?.why ? [`  ${oneLine(upstreams[at].why)}`] : [])]);
  return [title, ...below.flat()].join("\n");
}

export async function showUpstream(
  context: CommandContext,
  [tenant, name]: readonly [tenant: string, name: string],
): Promise<void> {
  const upstream = await context.api.request("GET /tenants/{id}/upstreams/{upstream}", {
    params: { id: tenant, upstream: name },
  });
  context.show(upstream, () => upstreamText(tenant, upstream, context.terminal));
}

export function upstreamText(tenant: string, upstream: UpstreamAnswer, { stdout, env }: Terminal): string {
  const { id, url, state, why, causes, since, lastRead, nextRead, reading, headers, setBy, trust, content } = upstream;
  const summary = definitionList([
    ["upstream", id],
    ["url", url],
    ["headers", headers.join(", ")],
    ["set by", setBy],
    ["trust", trust === "auto" ? null : trust],
    ["state", STATE_WORDS[state] ?? state],
    ["why", why],
    ["what to do", rewriteInvocation(upstreamHints(causes, { tenant, upstream: id }) ?? "", env)],
    ["since", formatTime(since)],
    ...contentEntries(content),
    ["names", content && hasNames(content) ? rewriteInvocation(namesText(id, tenant), env) : null],
    ["last tried", formatTime(lastRead)],
    ["next read", reading ? "being read" : nextReadText(nextRead)],
  ]);
  return [summary, ...omittedTables(content, stdout)].join("\n\n");
}

const namesText = (id: string, tenant: string) => `${id}__NAME, each of them: tenantry call ${tenant}`;
const hasNames = ({ counts }: Content) => counts.tools + counts.prompts > 0;

/** An upstream that is due is read on the next request to the tenant, so the due time may be long past. */
function nextReadText(nextRead: string | null): string | null {
  const isDue = nextRead !== null && Date.parse(nextRead) <= Date.now();
  return isDue ? "at the next request to the tenant" : formatTime(nextRead);
}

const REFUSED_HINT = "the server's operator must correct it; until then, hide it in a profile: tools.deny";

export function upstreamTestText(
  [tenant, name]: readonly [string, string],
  answer: UpstreamTestAnswer,
  { stdout, env }: Terminal,
): string {
  const { works, fault, causes, milliseconds, server, content, refused = [] } = answer;
  const summary = definitionList([
    ["upstream", name],
    ["works", works],
    ["why", fault],
    ["what to do", rewriteInvocation(upstreamHints(causes, { tenant, upstream: name }) ?? "", env)],
    ["server", [server?.name, server?.version].filter((text) => text !== undefined).join(" ")],
    ...contentEntries(content),
    ["took", `${milliseconds} ms`],
  ]);
  const rows = refused.map((one) => [one.name, one.why, REFUSED_HINT]);
  const refusedTables =
    rows.length === 0 ? [] : [formatTable(["refused by clients", "why", "what to do"], rows, stdout)];
  return [summary, ...refusedTables, ...omittedTables(content, stdout)].join("\n\n");
}

function contentEntries(content: Content | null): (readonly [string, string | null])[] {
  if (!content) return [];
  const { way, revision, counts, capped, skipped } = content;
  const lists = [
    formatCount(counts.tools, "tool"),
    formatCount(counts.prompts, "prompt"),
    formatCount(counts.resources, "resource"),
    formatCount(counts.resourceTemplates, "resource template"),
  ];
  return [
    ["era", `${ERA_TEXTS[way] ?? way} (${revision})`],
    ["lists", lists.join(", ")],
    ["not read", capped],
    ["skipped", skipped > 0 ? `${formatCount(skipped, "event")} without an MCP message` : null],
  ];
}

/** Labels for kinds that are not a plain word. */
const KINDS: Readonly<Record<string, string>> = { resourceTemplates: "resource templates" };

function omittedTables(content: Content | null, screen: Screen): string[] {
  const { quarantined = [], unnamed = 0, flagged = [] } = content ?? {};
  const rows = quarantined.map(({ kind, name, why }) => [name, KINDS[kind] ?? kind, why]);
  const more = unnamed === 0 ? [] : [`and ${unnamed} more`];
  const flaggedRows = flagged.map(({ kind, name, flags }) => [name, KINDS[kind] ?? kind, flags.join(", ")]);
  return [
    ...(rows.length === 0 ? [] : [[formatTable(["left out", "of", "why"], rows, screen), ...more].join("\n")]),
    ...(flaggedRows.length === 0 ? [] : [formatTable(["flagged", "of", "for"], flaggedRows, screen)]),
  ];
}
