// `tenantry call`: calls any tool of a tenant from the shell, through the tenant's MCP endpoint.

import type { Command } from "commander";
import { paramsOf, resultOf, type NotificationMessage } from "../../mcp-client/message.ts";
import { ERRORS } from "../../protocol/errors.ts";
import { collectParamHeaders } from "../../protocol/headers.ts";
import type { JsonObject } from "../../protocol/jsonrpc.ts";
import { nearestName } from "../../protocol/did-you-mean.ts";
import { CliError, EXIT, usageError } from "../exit.ts";
import type { UnsentRequest } from "../../mcp-client/request-result.ts";
import { missingUpstreamsOf, type MissingUpstream } from "../missing-upstreams.ts";
import { openConnection } from "../mcp-connection.ts";
import { endpointUrl, createMcpEndpoint, type McpEndpoint } from "../mcp-endpoint.ts";
import { runCommand, type CommandContext } from "../command-context.ts";
import { answerAtTerminal } from "../terminal/elicit.ts";
import { McpResponseError, toCliError } from "../terminal/mcp-error.ts";
import { formatBytes, truncate, formatTable } from "../terminal/table.ts";
import { oneLine, printableJson } from "../terminal/printable.ts";
import { isInteractive, type Terminal } from "../terminal/terminal.ts";
import { CLIENT_INFO } from "../version.ts";
import { readKey, withKeyOptions, type KeyOptions } from "./key-option.ts";
import { parseArguments, signatureOf, unknownArguments, type ToolListEntry } from "./tool-arguments.ts";

interface CallOptions extends KeyOptions {
  readonly jsonArgs?: string;
  readonly raw?: true;
}

const UNKNOWN_TOOL = ERRORS.invalidParams.code;
const MISSING_CAPABILITY = ERRORS.missingCapability.code["2026"];
const TERMINAL_HINT = "the tool asks a question: run tenantry call in a terminal";
const MAX_LIST_PAGES = 100;
/** The member of a tool's `_meta` with the upstream's own name for the tool, which may be a list: docs/gateway.md. */
const ORIGINAL_NAME = "tenantry/name";

export function addCallCommand(program: Command, terminal: Terminal): void {
  const call = withKeyOptions(program.command("call"))
    .description("Call a tool and print its text; without a tool, list the tools.")
    .argument("<endpoint>", "a tenant, tenant/profile, or the URL of any MCP endpoint")
    .argument("[tool]")
    .argument("[arguments...]", "key=value by the tool's schema, or key:=JSON")
    .option("--json-args <json>", "all arguments as one JSON object")
    .option("--raw", "print texts unchanged, with control characters")
    .addHelpText(
      "after",
      `
Examples:
  tenantry call demo                                                 lists the tools
  tenantry call demo note_write title=Hello text="My first note." tags=work,idea
  tenantry call demo note_list limit=5 --json | jq .structuredContent
  tenantry call acme/public search --json-args '{"query":"holiday"}' --key-file key.txt

The exit code is ${EXIT.refused} if the tool reports an error. If the tool asks a question, you answer at the terminal. Control characters
are replaced by visible ones, in a pipe too; --raw keeps them, and --json prints them as escapes.`,
    );
  runCommand(call, terminal, runCall);
}

type Args = readonly [endpoint: string, tool: string | undefined, pairs: readonly string[]];

async function runCall(context: CommandContext, [endpointRef, tool, pairs]: Args, options: CallOptions): Promise<void> {
  if (tool === undefined && options.jsonArgs !== undefined) {
    throw usageError("--json-args: needs a tool");
  }
  const endpoint = createMcpEndpoint(
    endpointUrl(context.api.base, endpointRef),
    await readKey(context.terminal, options),
  );
  const server = openToolServer(context, endpoint);
  try {
    await callOrList(context, server, { endpointRef, tool, pairs, options });
  } finally {
    await server.close();
  }
}

interface CallInput {
  readonly endpointRef: string;
  readonly tool: string | undefined;
  readonly pairs: readonly string[];
  readonly options: CallOptions;
}

async function callOrList(
  context: CommandContext,
  server: ToolServer,
  { endpointRef, tool, pairs, options }: CallInput,
): Promise<void> {
  const list = await fetchTools(server);
  const { tools } = list;
  if (tool === undefined) return showTools(context, list, endpointRef);
  const definition = tools.find((one) => one.name === tool || originalNameOf(one) === tool);
  const args = parseArguments(pairs, options.jsonArgs, definition?.inputSchema);
  for (const warning of definition ? unknownArguments(args, definition) : []) context.warn(warning);
  let result: JsonObject;
  try {
    result = await sendToolCall(server, { name: tool, definition, args });
  } catch (error) {
    if (!(error instanceof McpResponseError)) throw error;
    throw withHint(error, endpointRef, () => (definition ? undefined : unknownToolHint(tool, list, endpointRef)));
  }
  if (options.raw === true && !context.json) context.terminal.stdout.bytes(Buffer.from(`${resultText(result)}\n`));
  else context.show(result, () => resultText(result));
  if (result.isError === true) throw new CliError(EXIT.refused, "");
}

/** `ID__OWN`: a tool of an upstream is callable under this name, whatever its listed name. */
function originalNameOf({ name, _meta }: ToolListEntry): string | undefined {
  const names = _meta?.[ORIGINAL_NAME];
  const own: unknown = Array.isArray(names) ? names[0] : names;
  return typeof own === "string" ? `${name.slice(0, name.indexOf("__"))}__${own}` : undefined;
}

interface ToolServer {
  /** Sends one request, and handles the questions and notifications before its result. */
  request(request: UnsentRequest): Promise<JsonObject>;
  close(): Promise<void>;
}

function openToolServer(context: CommandContext, endpoint: McpEndpoint): ToolServer {
  const { terminal } = context;
  const { signal } = terminal;
  const canAnswer = isInteractive(terminal);
  const capabilities = canAnswer ? { elicitation: { form: {}, url: {} } } : {};
  const connection = openConnection({ endpoint, client: { clientInfo: CLIENT_INFO, capabilities } }, signal);
  return {
    request: async (toolRequest) => {
      try {
        const response = await connection.request(
          { ...toolRequest, wantsProgress: true },
          {
            signal,
            ...(canAnswer && { onQuestion: async (question) => answerAtTerminal(question, terminal) }),
            onNotification: (message) => showProgress(context, message),
          },
        );
        return completeResult(resultOf(response) ?? {});
      } catch (error) {
        throw toCliError(error, endpoint);
      }
    },
    close: async () => connection.close(),
  };
}

/** Throws for a result that is still waiting for an answer. */
function completeResult(result: JsonObject): JsonObject {
  const { resultType = "complete" } = result;
  if (resultType === "complete") return result;
  const inputRequiredMessage = "the server asks a question that only a person at a terminal can answer";
  const why = resultType === "input_required" ? inputRequiredMessage : "the server sent no complete result";
  throw new CliError(EXIT.refused, why);
}

function showProgress(context: CommandContext, message: NotificationMessage): void {
  if (message.method !== "notifications/progress") return;
  const { progress, total, message: words } = paramsOf(message) as Partial<Record<string, string | number>>;
  context.note([total === undefined ? progress : `${progress}/${total}`, words].filter(Boolean).join(" "));
}

interface ToolList {
  readonly tools: readonly ToolListEntry[];
  readonly missing: readonly MissingUpstream[];
}

async function fetchTools(server: ToolServer): Promise<ToolList> {
  const tools: ToolListEntry[] = [];
  let missing: readonly MissingUpstream[] = [];
  let cursor: unknown;
  for (let page = 0; page < MAX_LIST_PAGES; page += 1) {
    const params = cursor === undefined ? {} : { cursor };
    const result = await server.request({ method: "tools/list", params });
    tools.push(...((result.tools ?? []) as ToolListEntry[]));
    missing = missingUpstreamsOf(result);
    cursor = result.nextCursor;
    if (cursor === undefined) break;
  }
  return { tools, missing };
}

interface ToolCall {
  readonly name: string;
  readonly definition: ToolListEntry | undefined;
  readonly args: JsonObject;
}

async function sendToolCall(server: ToolServer, { name, definition, args }: ToolCall): Promise<JsonObject> {
  const paramHeaders = collectParamHeaders(definition?.inputSchema ?? {});
  const params = { name, arguments: args };
  return server.request({
    method: "tools/call",
    params,
    ...(Array.isArray(paramHeaders) && { paramHeaders }),
  });
}

function showTools(context: CommandContext, { tools, missing }: ToolList, endpointRef: string): void {
  for (const upstream of missing)
    context.log(`not all of ${upstream.source} is listed: ${missingUpstreamText(upstream, endpointRef)}`);
  if (tools.length === 0) context.note("No tools are visible here.");
  context.show(tools, () => {
    if (tools.length === 0) return "";
    const rows = tools.map((tool) => [
      tool.name,
      signatureOf(tool),
      truncate(tool.description ?? tool.title ?? "", 200),
    ]);
    return formatTable(["tool", "arguments", "description"], rows, context.terminal.stdout);
  });
}

interface ContentBlock {
  readonly type: string;
  readonly text?: string;
  readonly data?: string;
  readonly mimeType?: string;
  readonly uri?: string;
  readonly name?: string;
  readonly resource?: { readonly uri: string; readonly text?: string; readonly blob?: string };
}

function resultText(result: JsonObject): string {
  const blocks = (result.content ?? []) as ContentBlock[];
  const { structuredContent } = result;
  if (blocks.length === 0 && structuredContent !== undefined) return printableJson(structuredContent, 2);
  return blocks.map(blockText).join("\n");
}

function blockText({ type, text = "", data, mimeType = type, uri = "", name = "", resource }: ContentBlock): string {
  if (type === "text") return text;
  if (type === "resource_link") return oneLine(`${uri}  ${name}`);
  if (resource === undefined) return bytesText(mimeType, data);
  return resource.text ?? bytesText(resource.uri, resource.blob);
}

function bytesText(what: string, base64 = ""): string {
  return oneLine(`[${what}, ${formatBytes(Buffer.byteLength(base64, "base64"))}]`);
}

/** Adds a hint about the next step, if known. `hint`: why the tool may be unknown. */
function withHint(error: McpResponseError, endpointRef: string, hint: () => string | undefined): CliError {
  const { message, code, unreachableServer } = error;
  // The operator of the tenant can test that upstream directly.
  const tenant = tenantOf(endpointRef);
  if (unreachableServer !== undefined && tenant !== undefined) {
    const next = `tenantry upstream test ${tenant} ${unreachableServer} says what is wrong`;
    return new CliError(error.exit, oneLine(`${message}; ${next}`), { cause: error });
  }
  if (code === MISSING_CAPABILITY && message.includes("elicitation"))
    return new CliError(error.exit, `${message}; ${TERMINAL_HINT}`, { cause: error });
  // A renamed tool stays callable for a while under its old name, unlisted. Only the server knows whether a tool is
  // unknown.
  const why = code === UNKNOWN_TOOL ? hint() : undefined;
  return why === undefined ? error : new CliError(EXIT.notFound, `${message} (${why})`, { cause: error });
}

/** undefined: the endpoint is a full URL, so its tenant is not known here. */
function tenantOf(endpointRef: string): string | undefined {
  return /^([\w-]+)(?:\/[\w-]+)?$/.exec(endpointRef)?.[1];
}

/** Adds the command that reads the upstream now and shows its errors. */
function missingUpstreamText({ source, why }: MissingUpstream, endpointRef: string): string {
  const tenant = tenantOf(endpointRef);
  return oneLine(tenant === undefined ? why : `${why}; tenantry upstream refresh ${tenant} ${source} reads it`);
}

/** Why a tool may be missing: its upstream is missing, or the tool has another name. */
function unknownToolHint(tool: string, { tools, missing }: ToolList, endpointRef: string): string {
  const missingUpstream = missing.find(({ source }) => tool.startsWith(`${source}__`));
  if (missingUpstream)
    return `${oneLine(missingUpstream.source)}: ${missingUpstreamText(missingUpstream, endpointRef)}`;
  // A similar name of another upstream is not what the user meant.
  const [source = ""] = /^.+?__/.exec(tool) ?? [];
  const neighbours = source === "" ? [] : tools.filter(({ name }) => name.startsWith(source));
  const others = source === "" ? tools : tools.filter(({ name }) => name.includes("__"));
  const candidates = (neighbours.length > 0 ? neighbours : others).map(({ name }) => name);
  const suggestion = findSimilarName(tool, candidates) ?? nearestName(tool, candidates);
  return suggestion === undefined ? `tenantry call ${endpointRef} lists them` : `did you mean ${suggestion}?`;
}

/** Finds the same letters in another order, or with more around them. */
function findSimilarName(name: string, candidates: readonly string[]): string | undefined {
  const bareOf = (text: string) => text.toLowerCase().replaceAll(/[^a-z0-9]/g, "");
  const lettersOf = (text: string) => text.split("").toSorted().join("");
  const wanted = bareOf(name);
  return candidates.find((other) => {
    const bare = bareOf(other);
    return bare.includes(wanted) || wanted.includes(bare) || lettersOf(bare) === lettersOf(wanted);
  });
}
