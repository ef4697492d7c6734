// `tenantry listen`: prints a tenant's notifications as they arrive, through `subscriptions/listen` of its MCP
// endpoint.

import type { Command } from "commander";
import { pause } from "../../mcp-client/clock.ts";
import { LIST_CHANGED, listen2026, missingFrom, RESOURCE_UPDATED } from "../../mcp-client/listen-2026.ts";
import type { ListenEvent, ListenFilter2026 } from "../../mcp-client/listen-2026.ts";
import { paramsOf, type NotificationMessage } from "../../mcp-client/message.ts";
import { buildRequest2026 } from "../../mcp-client/prepared-request.ts";
import { ERRORS } from "../../protocol/errors.ts";
import { CliError, EXIT } from "../exit.ts";
import { endpointUrl, createMcpEndpoint, nextMessageId, type McpEndpoint } from "../mcp-endpoint.ts";
import { runCommand, collectOption, type CommandContext } from "../command-context.ts";
import { dropReason, McpResponseError, toCliError } from "../terminal/mcp-error.ts";
import { oneLine, printableJson } from "../terminal/printable.ts";
import type { Terminal } from "../terminal/terminal.ts";
import { CLIENT_INFO } from "../version.ts";
import { readKey, withKeyOptions, type KeyOptions } from "./key-option.ts";

interface ListenOptions extends KeyOptions {
  readonly tools?: true;
  readonly prompts?: true;
  readonly resources?: true;
  readonly resource?: readonly string[];
}

const RELISTEN_DELAY_MS = 1000;
const METHOD_NOT_FOUND = ERRORS.methodNotFound.code;
const CHANGE_TEXTS: Readonly<Record<string, string>> = {
  [LIST_CHANGED.toolsListChanged]: "tools changed",
  [LIST_CHANGED.promptsListChanged]: "prompts changed",
  [LIST_CHANGED.resourcesListChanged]: "resources changed",
};

export function addListenCommand(program: Command, terminal: Terminal): void {
  const listen = withKeyOptions(program.command("listen"))
    .description("Print a tenant's notifications until Ctrl+C.")
    .argument("<endpoint>", "a tenant, tenant/profile, or the URL of any MCP endpoint")
    .option("--tools", "print a notification when the list of tools changes")
    .option("--prompts", "print a notification when the list of prompts changes")
    .option("--resources", "print a notification when the list of resources changes")
    .option(
      "--resource <uri>",
      "print a notification when the text of this resource changes; repeatable",
      collectOption,
    )
    .addHelpText(
      "after",
      `
Examples:
  tenantry listen demo                                        all three lists
  tenantry listen acme/public --tools --key-file key.txt
  tenantry listen acme --resource file:///handbook/holidays.md
  tenantry listen acme --json | jq --unbuffered .method       one JSON message a line

If the connection is lost, the command connects again and says so on stderr. Changes in between are not printed.`,
    );
  runCommand(listen, terminal, runListen);
}

async function runListen(
  context: CommandContext,
  [endpointRef]: readonly [string],
  options: ListenOptions,
): Promise<void> {
  const { terminal } = context;
  const endpoint = createMcpEndpoint(endpointUrl(context.api.base, endpointRef), await readKey(terminal, options));
  const filter = filterOf(options);
  for (let hasWorked = false; ; hasWorked = true) {
    const isGraceful = await listenOnce(context, endpoint, { filter, hasWorked });
    if (isGraceful) context.log("the server ended the stream; listening again");
    if (!isGraceful || !(await pause(endpoint.clock, RELISTEN_DELAY_MS, terminal.signal))) {
      throw new CliError(EXIT.interrupted, "interrupted");
    }
  }
}

interface ListenState {
  readonly filter: ListenFilter2026;
  /** The server ended an earlier subscription. */
  readonly hasWorked: boolean;
}

/** true: the server ended the stream cleanly; false: the user interrupted. */
async function listenOnce(context: CommandContext, endpoint: McpEndpoint, state: ListenState): Promise<boolean> {
  const params = { notifications: state.filter };
  const listenRequest = { id: nextMessageId(), method: "subscriptions/listen", params };
  const request = buildRequest2026(listenRequest, { clientInfo: CLIENT_INFO, capabilities: {} });
  const options = { signal: context.terminal.signal, limits: endpoint.limits, hasWorked: state.hasWorked };
  try {
    for await (const event of listen2026(endpoint, request, options)) {
      if (event.kind === "ended") return true;
      printUpdate(context, endpoint, state, event);
    }
    return false;
  } catch (error) {
    throw withUnsupportedHint(toCliError(error, endpoint));
  }
}

function printUpdate(
  context: CommandContext,
  { url }: McpEndpoint,
  { filter, hasWorked }: ListenState,
  event: Exclude<ListenEvent, { kind: "ended" }>,
): void {
  switch (event.kind) {
    case "notification":
      return printNotification(context, event.message);
    case "dropped":
      return context.log(`${dropReason(event.fault)}; listening again in ${event.waitMs / 1000} s`);
    case "listening": {
      const missing = missingFrom(event.filter, filter);
      if (missing.length > 0) context.log(`this server does not announce: ${missing.join(", ")}`);
      if (event.isReconnect || hasWorked) context.log("listening again; changes since the interruption are unknown");
      else context.note(`Watching ${url}; Ctrl+C ends it.`);
    }
  }
}

function withUnsupportedHint(problem: unknown): unknown {
  if (!(problem instanceof McpResponseError) || problem.code !== METHOD_NOT_FOUND) return problem;
  return new CliError(EXIT.refused, `${problem.message} (this server sends no notifications)`, { cause: problem });
}

/** Without options: all three lists, but no single resource. */
function filterOf({ tools, prompts, resources, resource }: ListenOptions): ListenFilter2026 {
  const all = !tools && !prompts && !resources && !resource;
  return {
    ...((all || tools) && { toolsListChanged: true }),
    ...((all || prompts) && { promptsListChanged: true }),
    ...((all || resources) && { resourcesListChanged: true }),
    ...(resource && { resourceSubscriptions: resource }),
  };
}

function printNotification({ json, terminal }: CommandContext, message: NotificationMessage): void {
  if (json) return void terminal.stdout.write(`${printableJson(message.value())}\n`);
  terminal.stdout.write(`${localTime(new Date())}  ${oneLine(changeText(message))}\n`);
}

function changeText(message: NotificationMessage): string {
  if (message.method !== RESOURCE_UPDATED) return CHANGE_TEXTS[message.method] ?? message.method;
  const { uri } = paramsOf(message);
  return `${typeof uri === "string" ? uri : ""} changed`;
}

/** `14:03:59`, in the local time zone. */
function localTime(now: Date): string {
  return [now.getHours(), now.getMinutes(), now.getSeconds()].map((part) => String(part).padStart(2, "0")).join(":");
}
