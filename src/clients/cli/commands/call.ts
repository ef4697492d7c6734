// Owns `tenantry call`: any tool of a tenant, from the shell, through the tenant's own MCP endpoint.

import type { Command } from "commander";
import { paramsOf, resultOf, type NotificationMessage } from "../../../mcp-client/message.ts";
import { ERRORS } from "../../../protocol/errors.ts";
import { collectParamHeaders } from "../../../protocol/headers.ts";
import type { JsonObject } from "../../../protocol/jsonrpc.ts";
import { nearest } from "../../../protocol/nearest.ts";
import { CliError, EXIT, usageError } from "../exit.ts";
import type { LinkAsk } from "../../../gateway/upstream-link.ts";
import { lacksOfList, type ListLack } from "../list-lacks.ts";
import { openConnection } from "../mcp-connection.ts";
import { endpointUrl, mcpEndpoint, type McpEndpoint } from "../mcp-endpoint.ts";
import { act, type CommandContext } from "../command-context.ts";
import { answerAtTerminal } from "../terminal/elicit.ts";
import { McpRefused, mcpProblem } from "../terminal/mcp-problem.ts";
import { bytes, cut, table } from "../terminal/table.ts";
import { oneLine, printableJson } from "../terminal/printable.ts";
import { isInteractive, type Terminal } from "../terminal/terminal.ts";
import { CLIENT_INFO } from "../version.ts";
import { keyFor, withKeyOptions, type KeyOptions } from "./key-option.ts";
import { parseArguments, signatureOf, strayArguments, type ToolAbout } from "./tool-arguments.ts";

interface CallOptions extends KeyOptions {
  readonly jsonArgs?: string;
  readonly raw?: true;
}

const UNKNOWN_TOOL = ERRORS.invalidParams.code;
const MAX_LIST_PAGES = 100;
/** The member of a tool's `_meta` with the name that its upstream gives it, the first of a list: docs/gateway.md. */
const OWN_NAME = "tenantry/name";

export function addCallCommand(program: Command, terminal: Terminal): void {
  const call = withKeyOptions(program.command("call"))
    .description("Call a tool and print its text; without a tool, list the tools.")
    .argument("<endpoint>", "a tenant, tenant/profile, or the URL of any MCP endpoint")
    .argument("[tool]")
    .argument("[arguments...]", "key=value by the tool's schema, or key:=JSON")
    .option("--json-args <json>", "all arguments as one JSON object")
    .option("--raw", "write texts exactly as the tool says them, control characters too")
    .addHelpText(
      "after",
      `
Examples:
  tenantry call demo                                                 which tools are there
  tenantry call demo note_write title=Hello text="My first note." tags=work,idea
  tenantry call demo note_list limit=5 --json | jq .structuredContent
  tenantry call acme/public search --json-args '{"query":"holiday"}' --key-file key.txt

Ends with ${EXIT.refused} when the tool reports an error. A tool that asks something is answered at the terminal. Characters that would
steer a terminal are replaced by ones that can be seen, in a pipe too; --raw and --json keep them, --json as escapes.`,
    );
  act(call, terminal, runCall);
}

type Args = readonly [endpoint: string, tool: string | undefined, pairs: readonly string[]];

async function runCall(context: CommandContext, [where, tool, pairs]: Args, options: CallOptions): Promise<void> {
  if (tool === undefined && options.jsonArgs !== undefined) {
    throw usageError("--json-args: there is no tool for these arguments");
  }
  const endpoint = mcpEndpoint(endpointUrl(context.api.base, where), await keyFor(context.terminal, options));
  const server = serverAt(context, endpoint);
  try {
    await callAt(context, server, { where, tool, pairs, options });
  } finally {
    await server.close();
  }
}

interface Called {
  readonly where: string;
  readonly tool: string | undefined;
  readonly pairs: readonly string[];
  readonly options: CallOptions;
}

async function callAt(context: CommandContext, server: Server, { where, tool, pairs, options }: Called): Promise<void> {
  const list = await listTools(server);
  const { tools } = list;
  if (tool === undefined) return showTools(context, list, where);
  const about = tools.find((one) => one.name === tool || ownNameOf(one) === tool);
  const args = parseArguments(pairs, options.jsonArgs, about?.inputSchema);
  for (const stray of about ? strayArguments(args, about) : []) context.warn(stray);
  let result: JsonObject;
  try {
    result = await callTool(server, { name: tool, about, args });
  } catch (error) {
    if (!(error instanceof McpRefused)) throw error;
    throw explained(error, where, () => (about ? undefined : hintAt(tool, list, where)));
  }
  if (options.raw === true && !context.json) context.terminal.stdout.bytes(Buffer.from(`${resultText(result)}\n`));
  else context.show(result, () => resultText(result));
  if (result.isError === true) throw new CliError(EXIT.refused, "");
}

/** `ID__OWN`, under which a tool of an upstream is called whatever its listed name. */
function ownNameOf({ name, _meta }: ToolAbout): string | undefined {
  const names = _meta?.[OWN_NAME];
  const own: unknown = Array.isArray(names) ? names[0] : names;
  return typeof own === "string" ? `${name.slice(0, name.indexOf("__"))}__${own}` : undefined;
}

interface Server {
  /** One request, with all that is asked and said on its way. */
  request(asked: LinkAsk): Promise<JsonObject>;
  close(): Promise<void>;
}

function serverAt(context: CommandContext, endpoint: McpEndpoint): Server {
  const { terminal } = context;
  const { signal } = terminal;
  const isAnswering = isInteractive(terminal);
  const capabilities = isAnswering ? { elicitation: { form: {}, url: {} } } : {};
  const connection = openConnection({ endpoint, about: { clientInfo: CLIENT_INFO, capabilities } }, signal);
  return {
    request: async (asked) => {
      try {
        const answered = await connection.ask(
          { ...asked, progress: true },
          {
            signal,
            ...(isAnswering && { answer: async (question) => answerAtTerminal(question, terminal) }),
            notified: (message) => showProgress(context, message),
          },
        );
        return completeResult(resultOf(answered) ?? {});
      } catch (error) {
        throw mcpProblem(error, endpoint);
      }
    },
    close: async () => connection.close(),
  };
}

/** A question that nobody answered is no result. */
function completeResult(result: JsonObject): JsonObject {
  const { resultType = "complete" } = result;
  if (resultType === "complete") return result;
  const asks = "the server asks something, and only a person at a terminal can answer";
  const why = resultType === "input_required" ? asks : "the server answered with no complete result";
  throw new CliError(EXIT.refused, why);
}

function showProgress(context: CommandContext, message: NotificationMessage): void {
  if (message.method !== "notifications/progress") return;
  const { progress, total, message: words } = paramsOf(message) as Partial<Record<string, string | number>>;
  context.note([total === undefined ? progress : `${progress}/${total}`, words].filter(Boolean).join(" "));
}

interface ToolList {
  readonly tools: readonly ToolAbout[];
  readonly missing: readonly ListLack[];
}

async function listTools(server: Server): Promise<ToolList> {
  const tools: ToolAbout[] = [];
  let missing: readonly ListLack[] = [];
  let cursor: unknown;
  for (let page = 0; page < MAX_LIST_PAGES; page += 1) {
    const params = cursor === undefined ? {} : { cursor };
    const result = await server.request({ method: "tools/list", params });
    tools.push(...((result.tools ?? []) as ToolAbout[]));
    missing = lacksOfList(result);
    cursor = result.nextCursor;
    if (cursor === undefined) break;
  }
  return { tools, missing };
}

interface ToolCall {
  readonly name: string;
  readonly about: ToolAbout | undefined;
  readonly args: JsonObject;
}

async function callTool(server: Server, { name, about, args }: ToolCall): Promise<JsonObject> {
  const mirrored = collectParamHeaders(about?.inputSchema ?? {});
  const params = { name, arguments: args };
  return server.request({
    method: "tools/call",
    params,
    ...(Array.isArray(mirrored) && { mirrored }),
  });
}

function showTools(context: CommandContext, { tools, missing }: ToolList, where: string): void {
  for (const lack of missing) context.log(`not all of ${lack.source} is listed: ${lackText(lack, where)}`);
  if (tools.length === 0) context.note("No tools are visible here.");
  context.show(tools, () => {
    if (tools.length === 0) return "";
    const rows = tools.map((tool) => [tool.name, signatureOf(tool), cut(tool.description ?? tool.title ?? "", 200)]);
    return table(["tool", "arguments", "description"], rows, context.terminal.stdout);
  });
}

interface Block {
  readonly type: string;
  readonly text?: string;
  readonly data?: string;
  readonly mimeType?: string;
  readonly uri?: string;
  readonly name?: string;
  readonly resource?: { readonly uri: string; readonly text?: string; readonly blob?: string };
}

function resultText(result: JsonObject): string {
  const blocks = (result.content ?? []) as Block[];
  const { structuredContent } = result;
  if (blocks.length === 0 && structuredContent !== undefined) return printableJson(structuredContent, 2);
  return blocks.map(blockText).join("\n");
}

function blockText({ type, text = "", data, mimeType = type, uri = "", name = "", resource }: Block): string {
  if (type === "text") return text;
  if (type === "resource_link") return oneLine(`${uri}  ${name}`);
  if (resource === undefined) return bytesText(mimeType, data);
  return resource.text ?? bytesText(resource.uri, resource.blob);
}

function bytesText(what: string, base64 = ""): string {
  return oneLine(`[${what}, ${bytes(Buffer.byteLength(base64, "base64"))}]`);
}

/** With what one can do next, where that is known. `hint`: why the tool may be unknown. */
function explained(error: McpRefused, where: string, hint: () => string | undefined): CliError {
  const { message, code, unasked } = error;
  // Whoever operates the tenant can ask that server at once, and is told what helps.
  const tenant = tenantOf(where);
  if (unasked !== undefined && tenant !== undefined) {
    const next = `tenantry upstream test ${tenant} ${unasked} says what is wrong`;
    return new CliError(error.exit, oneLine(`${message}; ${next}`), { cause: error });
  }
  // A renamed tool stays callable for a while under its old name, unlisted: only the server knows what is unknown.
  const why = code === UNKNOWN_TOOL ? hint() : undefined;
  return why === undefined ? error : new CliError(EXIT.notFound, `${message} (${why})`, { cause: error });
}

/** undefined: a whole URL, of which nobody here knows whose tenant it is. */
function tenantOf(where: string): string | undefined {
  return /^([\w-]+)(?:\/[\w-]+)?$/.exec(where)?.[1];
}

/** With the command that reads the upstream at once, and says what is wrong with it. */
function lackText({ source, why }: ListLack, where: string): string {
  const tenant = tenantOf(where);
  return oneLine(tenant === undefined ? why : `${why}; tenantry upstream refresh ${tenant} ${source} reads it`);
}

/** Why a tool may not be there: its server is not, or it has another name. */
function hintAt(tool: string, { tools, missing }: ToolList, where: string): string {
  const away = missing.find(({ source }) => tool.startsWith(`${source}__`));
  if (away) return `${oneLine(away.source)}: ${lackText(away, where)}`;
  // Another server's tool of nearly this name is not the one that was meant.
  const [source = ""] = /^.+?__/.exec(tool) ?? [];
  const neighbours = source === "" ? [] : tools.filter(({ name }) => name.startsWith(source));
  const others = source === "" ? tools : tools.filter(({ name }) => name.includes("__"));
  const known = (neighbours.length > 0 ? neighbours : others).map(({ name }) => name);
  const near = alike(tool, known) ?? nearest(tool, known);
  return near === undefined ? `tenantry call ${where} lists them` : `did you mean ${near}?`;
}

/** The same letters in another order, or with more around them. */
function alike(name: string, known: readonly string[]): string | undefined {
  const bareOf = (text: string) => text.toLowerCase().replaceAll(/[^a-z0-9]/g, "");
  const lettersOf = (text: string) => text.split("").toSorted().join("");
  const wanted = bareOf(name);
  return known.find((other) => {
    const bare = bareOf(other);
    return bare.includes(wanted) || wanted.includes(bare) || lettersOf(bare) === lettersOf(wanted);
  });
}
