// Owns `tenantry watch`: what a tenant announces, as it happens, through `subscriptions/listen` of its MCP endpoint.

import type { Command } from "commander";
import { setTimeout as sleep } from "node:timers/promises";
import { parseToken } from "../config.ts";
import { endpointUrl } from "../mcp-endpoint.ts";
import { CliError, EXIT } from "../exit.ts";
import { keepListening, missingFrom, type Filter } from "../listen.ts";
import { McpRefused, noAnswer, openMcp, resultOf, type McpEndpoint } from "../mcp-client.ts";
import { isObject, type Json } from "../mcp-http.ts";
import { act, repeated, type Session } from "../session.ts";
import { oneLine, type Terminal } from "../terminal/terminal.ts";

interface WatchOptions {
  readonly key?: string;
  readonly tools?: true;
  readonly prompts?: true;
  readonly resources?: true;
  readonly resource?: readonly string[];
}

const AFTER_GOODBYE_MS = 1000;
const METHOD_NOT_FOUND = -32601;
const WORDS: Readonly<Record<string, string>> = {
  "notifications/tools/list_changed": "tools changed",
  "notifications/prompts/list_changed": "prompts changed",
  "notifications/resources/list_changed": "resources changed",
};

export function addWatchCommand(program: Command, terminal: Terminal): void {
  const watch = program
    .command("watch")
    .description("Print what a tenant announces, as it happens, until Ctrl+C.")
    .argument("<endpoint>", "a tenant, tenant/profile, or the URL of any MCP endpoint")
    .option("--tools", "when the list of tools changes")
    .option("--prompts", "when the list of prompts changes")
    .option("--resources", "when the list of resources changes")
    .option("--resource <uri>", "when the text of this resource changes; may be repeated", repeated)
    .option("--key <token>", "an API key of the tenant; else TENANTRY_KEY")
    .addHelpText(
      "after",
      `
Examples:
  tenantry watch demo                                        all three lists
  tenantry watch acme/public --tools --key tnt_...
  tenantry watch acme --resource file:///handbook/holidays.md
  tenantry watch acme --json | jq --unbuffered .method       one JSON message a line

When the connection drops, it is made again, and stderr says so: what changed meanwhile is not printed.`,
    );
  act(watch, terminal, runWatch);
}

async function runWatch(session: Session, [where]: readonly [string], options: WatchOptions): Promise<void> {
  const { signal } = session.terminal;
  const endpoint = endpointOf(session, where, options.key);
  const wanted = filterOf(options);
  for (let before = false; ; before = true) {
    const graceful = await listenOnce(session, endpoint, wanted, before);
    if (graceful) session.log("the server ended the stream; listening again");
    if (!graceful || !(await waited(signal))) throw new CliError(EXIT.interrupted, "interrupted");
  }
}

/** False: interrupted. */
async function listenOnce(session: Session, endpoint: McpEndpoint, wanted: Filter, before: boolean): Promise<boolean> {
  const ended = await keepListening({
    signal: endpoint.signal,
    wasOpen: before,
    open: async () => openMcp(endpoint, { method: "subscriptions/listen", params: { notifications: wanted } }),
    acknowledged: async (_received, filter, first) => {
      const missing = missingFrom(filter, wanted);
      if (missing.length > 0) session.log(`not announced here: ${missing.join(", ")}`);
      if (first === undefined && !before) session.note(`Watching ${endpoint.url}; Ctrl+C ends it.`);
      else session.log("listening again; what changed meanwhile is not known");
    },
    notified: async ({ message }) => print(session, message),
    dropped: (why, waitMs) => session.log(`${why}; listening again in ${waitMs / 1000} s`),
  });
  if (ended === undefined) return false;
  if (ended.response === undefined) throw noAnswer(endpoint, ended.answer);
  try {
    resultOf(ended.response.message, ended.answer);
  } catch (error) {
    throw explained(error, endpoint);
  }
  return true;
}

function explained(error: unknown, { token }: McpEndpoint): unknown {
  if (!(error instanceof McpRefused)) return error;
  const hint = token === undefined ? "no key: set TENANTRY_KEY or give --key" : "the key was refused";
  if (error.status === 401) return new McpRefused(401, error.code, `${error.message} (${hint})`);
  if (error.code !== METHOD_NOT_FOUND) return error;
  return new CliError(EXIT.refused, `${error.message} (this server announces nothing)`, { cause: error });
}

async function waited(signal: AbortSignal): Promise<boolean> {
  await sleep(AFTER_GOODBYE_MS, undefined, { signal }).catch(() => undefined);
  return !signal.aborted;
}

function endpointOf({ api, terminal }: Session, where: string, given: string | undefined): McpEndpoint {
  const key = given ?? (terminal.env.TENANTRY_KEY || undefined);
  return {
    url: endpointUrl(api.base, where),
    token: key === undefined ? undefined : parseToken(key),
    capabilities: {},
    signal: terminal.signal,
    onNotification: () => {},
  };
}

/** Everything but single resources, where nothing is asked for. */
function filterOf({ tools, prompts, resources, resource }: WatchOptions): Filter {
  const all = !tools && !prompts && !resources && !resource;
  return {
    ...((all || tools) && { toolsListChanged: true }),
    ...((all || prompts) && { promptsListChanged: true }),
    ...((all || resources) && { resourcesListChanged: true }),
    ...(resource && { resourceSubscriptions: resource }),
  };
}

function print({ json, terminal }: Session, message: Json): void {
  if (json) return void terminal.stdout.write(`${JSON.stringify(message)}\n`);
  terminal.stdout.write(`${clock(new Date())}  ${oneLine(wordsOf(message))}\n`);
}

function wordsOf({ method, params }: Json): string {
  const uri = isObject(params) && typeof params.uri === "string" ? params.uri : "";
  return method === "notifications/resources/updated" ? `${uri} changed` : (WORDS[String(method)] ?? String(method));
}

/** `14:03:59`, where the person sits. */
function clock(now: Date): string {
  return [now.getHours(), now.getMinutes(), now.getSeconds()].map((part) => String(part).padStart(2, "0")).join(":");
}
