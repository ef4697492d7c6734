// Owns `tenantry listen`: what a tenant announces, as it happens, through `subscriptions/listen` of its MCP endpoint.

import type { Command } from "commander";
import { pause } from "../../../mcp-client/clock.ts";
import { LIST_CHANGED, listen2026, missingFrom, RESOURCE_UPDATED } from "../../../mcp-client/listen-2026.ts";
import type { ListenEvent, SubscriptionFilter } from "../../../mcp-client/listen-2026.ts";
import { paramsOf, type NotificationMessage } from "../../../mcp-client/message.ts";
import { request2026 } from "../../../mcp-client/outgoing.ts";
import { ERRORS } from "../../../protocol/errors.ts";
import { CliError, EXIT } from "../exit.ts";
import { endpointUrl, mcpEndpoint, nextRequestId, type McpEndpoint } from "../mcp-endpoint.ts";
import { act, repeated, type CommandContext } from "../command-context.ts";
import { dropReason, McpRefused, mcpProblem } from "../terminal/mcp-problem.ts";
import { oneLine, printableJson } from "../terminal/printable.ts";
import type { Terminal } from "../terminal/terminal.ts";
import { CLIENT_INFO } from "../version.ts";
import { keyFor, withKeyOptions, type KeyOptions } from "./key-option.ts";

interface WatchOptions extends KeyOptions {
  readonly tools?: true;
  readonly prompts?: true;
  readonly resources?: true;
  readonly resource?: readonly string[];
}

const AFTER_GOODBYE_MS = 1000;
const METHOD_NOT_FOUND = ERRORS.methodNotFound.code;
const WORDS: Readonly<Record<string, string>> = {
  [LIST_CHANGED.toolsListChanged]: "tools changed",
  [LIST_CHANGED.promptsListChanged]: "prompts changed",
  [LIST_CHANGED.resourcesListChanged]: "resources changed",
};

export function addWatchCommand(program: Command, terminal: Terminal): void {
  const watch = withKeyOptions(program.command("listen"))
    .description("Print what a tenant announces, as it happens, until Ctrl+C.")
    .argument("<endpoint>", "a tenant, tenant/profile, or the URL of any MCP endpoint")
    .option("--tools", "when the list of tools changes")
    .option("--prompts", "when the list of prompts changes")
    .option("--resources", "when the list of resources changes")
    .option("--resource <uri>", "when the text of this resource changes; may be repeated", repeated)
    .addHelpText(
      "after",
      `
Examples:
  tenantry listen demo                                        all three lists
  tenantry listen acme/public --tools --key-file key.txt
  tenantry listen acme --resource file:///handbook/holidays.md
  tenantry listen acme --json | jq --unbuffered .method       one JSON message a line

When the connection drops, it is made again, and stderr says so: what changed meanwhile is not printed.`,
    );
  act(watch, terminal, runWatch);
}

async function runWatch(context: CommandContext, [where]: readonly [string], options: WatchOptions): Promise<void> {
  const { terminal } = context;
  const endpoint = mcpEndpoint(endpointUrl(context.api.base, where), await keyFor(terminal, options));
  const wanted = filterOf(options);
  for (let hasWorked = false; ; hasWorked = true) {
    const isGraceful = await listenOnce(context, endpoint, { wanted, hasWorked });
    if (isGraceful) context.log("the server ended the stream; listening again");
    if (!isGraceful || !(await pause(endpoint.clock, AFTER_GOODBYE_MS, terminal.signal))) {
      throw new CliError(EXIT.interrupted, "interrupted");
    }
  }
}

interface Watching {
  readonly wanted: SubscriptionFilter;
  /** The server has ended an earlier subscription. */
  readonly hasWorked: boolean;
}

/** True where the server ended the stream in good order, false where we were interrupted. */
async function listenOnce(context: CommandContext, endpoint: McpEndpoint, watching: Watching): Promise<boolean> {
  const params = { notifications: watching.wanted };
  const asked = { id: nextRequestId(), method: "subscriptions/listen", params };
  const request = request2026(asked, { clientInfo: CLIENT_INFO, capabilities: {} });
  const options = { signal: context.terminal.signal, limits: endpoint.limits, hasWorked: watching.hasWorked };
  try {
    for await (const event of listen2026(endpoint, request, options)) {
      if (event.kind === "ended") return true;
      tell(context, endpoint, watching, event);
    }
    return false;
  } catch (error) {
    throw explained(mcpProblem(error, endpoint));
  }
}

type Told = Exclude<ListenEvent, { kind: "ended" }>;

function tell(context: CommandContext, { url }: McpEndpoint, { wanted, hasWorked }: Watching, event: Told): void {
  switch (event.kind) {
    case "notification":
      return print(context, event.message);
    case "dropped":
      return context.log(`${dropReason(event.fault)}; listening again in ${event.waitMs / 1000} s`);
    case "listening": {
      const missing = missingFrom(event.filter, wanted);
      if (missing.length > 0) context.log(`not announced here: ${missing.join(", ")}`);
      if (event.isAgain || hasWorked) context.log("listening again; what changed meanwhile is not known");
      else context.note(`Watching ${url}; Ctrl+C ends it.`);
    }
  }
}

function explained(problem: unknown): unknown {
  if (!(problem instanceof McpRefused) || problem.code !== METHOD_NOT_FOUND) return problem;
  return new CliError(EXIT.refused, `${problem.message} (this server announces nothing)`, { cause: problem });
}

/** Without options: all three lists, but no single resource. */
function filterOf({ tools, prompts, resources, resource }: WatchOptions): SubscriptionFilter {
  const all = !tools && !prompts && !resources && !resource;
  return {
    ...((all || tools) && { toolsListChanged: true }),
    ...((all || prompts) && { promptsListChanged: true }),
    ...((all || resources) && { resourcesListChanged: true }),
    ...(resource && { resourceSubscriptions: resource }),
  };
}

function print({ json, terminal }: CommandContext, message: NotificationMessage): void {
  if (json) return void terminal.stdout.write(`${printableJson(message.value())}\n`);
  terminal.stdout.write(`${clock(new Date())}  ${oneLine(wordsOf(message))}\n`);
}

function wordsOf(message: NotificationMessage): string {
  if (message.method !== RESOURCE_UPDATED) return WORDS[message.method] ?? message.method;
  const { uri } = paramsOf(message);
  return `${typeof uri === "string" ? uri : ""} changed`;
}

/** `14:03:59`, in the person's time zone. */
function clock(now: Date): string {
  return [now.getHours(), now.getMinutes(), now.getSeconds()].map((part) => String(part).padStart(2, "0")).join(":");
}
