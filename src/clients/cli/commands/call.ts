// Owns `tenantry call`: any tool of a tenant, from the shell, through the tenant's own MCP endpoint.

import type { Command } from "commander";
import { answerQuestions } from "../terminal/elicit.ts";
import { endpointUrl } from "../mcp-endpoint.ts";
import { CliError, EXIT } from "../exit.ts";
import { askMcp, McpRefused, type McpEndpoint } from "../mcp-client.ts";
import type { Json } from "../mcp-http.ts";
import { mirroredHeaders, mirroredParams } from "../mirrored-headers.ts";
import { act, type Session } from "../session.ts";
import { bytes, cut, table } from "../terminal/table.ts";
import { isInteractive, oneLine, printable, type Terminal } from "../terminal/terminal.ts";
import { parseArguments, signatureOf, type ToolAbout } from "./tool-arguments.ts";
import { parseToken } from "../config.ts";

interface CallOptions {
  readonly jsonArgs?: string;
  readonly key?: string;
}

const UNKNOWN_TOOL = -32602;
const MAX_ROUNDS = 10;
const MAX_LIST_PAGES = 100;

export function addCallCommand(program: Command, terminal: Terminal): void {
  const call = program
    .command("call")
    .description("Call a tool and print its text; without a tool, list the tools.")
    .argument("<endpoint>", "a tenant, tenant/profile, or the URL of any MCP endpoint")
    .argument("[tool]")
    .argument("[arguments...]", "key=value by the tool's schema, or key:=JSON")
    .option("--json-args <json>", "all arguments as one JSON object")
    .option("--key <token>", "an API key of the tenant; else TENANTRY_KEY")
    .addHelpText(
      "after",
      `
Examples:
  tenantry call demo                                                 which tools are there
  tenantry call demo note_write title=Hello text="My first note." tags=work,idea
  tenantry call demo note_list limit=5 --json | jq .structuredContent
  tenantry call acme/public search --json-args '{"query":"holiday"}' --key tnt_...

Ends with ${EXIT.refused} when the tool reports an error. A tool that asks something is answered at the terminal.`,
    );
  act(call, terminal, runCall);
}

type Args = readonly [endpoint: string, tool: string | undefined, pairs: readonly string[]];

async function runCall(session: Session, [where, tool, pairs]: Args, options: CallOptions): Promise<void> {
  const endpoint = endpointOf(session, where, options.key ?? (session.terminal.env.TENANTRY_KEY || undefined));
  const tools = await listTools(endpoint);
  if (tool === undefined) return showTools(session, tools);
  const about = tools.find(({ name }) => name === tool);
  const args = parseArguments(pairs, options.jsonArgs, about?.inputSchema);
  let result: Json;
  try {
    result = await converse(session, endpoint, { name: tool, about, args });
  } catch (error) {
    // A name that is listed no more may still be callable, so only the server can say that there is none.
    if (about || !(error instanceof McpRefused) || error.code !== UNKNOWN_TOOL) throw error;
    const near = nearest(tool, tools);
    const hint = near === undefined ? `tenantry call ${where} lists them` : `did you mean ${near}?`;
    throw new CliError(EXIT.notFound, `${error.message} (${hint})`, { cause: error });
  }
  session.show(result, () => resultText(result, session.terminal));
  if (result.isError === true) throw new CliError(EXIT.refused, "");
}

function endpointOf(session: Session, where: string, key: string | undefined): McpEndpoint {
  return {
    url: endpointUrl(session.api.base, where),
    token: key === undefined ? undefined : parseToken(key),
    capabilities: isInteractive(session.terminal) ? { elicitation: { form: {}, url: {} } } : {},
    signal: session.terminal.signal,
    onNotification: ({ method, params }) => {
      if (method !== "notifications/progress") return;
      const { progress, total, message } = params as { progress: number; total?: number; message?: string };
      session.note([total === undefined ? progress : `${progress}/${total}`, message].filter(Boolean).join(" "));
    },
  };
}

async function listTools(endpoint: McpEndpoint): Promise<ToolAbout[]> {
  try {
    return await listAllTools(endpoint);
  } catch (error) {
    if (!(error instanceof McpRefused) || error.status !== 401) throw error;
    const hint = endpoint.token === undefined ? "no key: set TENANTRY_KEY or give --key" : "the key was refused";
    throw new McpRefused(401, error.code, `${error.message} (${hint})`);
  }
}

async function listAllTools(endpoint: McpEndpoint): Promise<ToolAbout[]> {
  const tools: ToolAbout[] = [];
  let cursor: unknown;
  for (let page = 0; page < MAX_LIST_PAGES; page += 1) {
    const params = cursor === undefined ? {} : { cursor };
    const result = await askMcp(endpoint, { method: "tools/list", params });
    tools.push(...((result.tools ?? []) as ToolAbout[]));
    cursor = result.nextCursor;
    if (cursor === undefined) break;
  }
  return tools;
}

function showTools(session: Session, tools: readonly ToolAbout[]): void {
  if (tools.length === 0) session.note("No tools are visible here.");
  session.show(tools, () => {
    if (tools.length === 0) return "";
    const rows = tools.map((tool) => [tool.name, signatureOf(tool), cut(tool.description ?? tool.title ?? "", 200)]);
    return table(["tool", "arguments", "description"], rows, session.terminal.stdout);
  });
}

interface Asked {
  readonly name: string;
  readonly about: ToolAbout | undefined;
  readonly args: Json;
}

/** Until the tool has asked all its questions. */
async function converse(session: Session, endpoint: McpEndpoint, { name, about, args }: Asked): Promise<Json> {
  let rounds: Json = {};
  const mirrored = mirroredParams(about?.inputSchema);
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    const result = await askMcp(endpoint, {
      method: "tools/call",
      params: { name, arguments: args, ...rounds },
      mirrored: "broken" in mirrored ? {} : mirroredHeaders(mirrored, args),
    });
    if (result.resultType !== "input_required") return result;
    const requests = (result.inputRequests ?? {}) as Record<string, Json>;
    const { requestState } = result;
    rounds = {
      inputResponses: await answerQuestions(requests, session.terminal),
      ...(requestState !== undefined && { requestState }),
    };
  }
  throw new CliError(EXIT.refused, `${name} asked more than ${MAX_ROUNDS} times`);
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

function resultText(result: Json, terminal: Terminal): string {
  const blocks = (result.content ?? []) as Block[];
  const { structuredContent } = result;
  if (blocks.length === 0 && structuredContent !== undefined) return JSON.stringify(structuredContent, null, 2);
  // A pipe gets the text as it is; a terminal gets nothing that would steer it.
  const clean = terminal.stdout.isTTY === true ? printable : (text: string) => text;
  return blocks.map((block) => clean(blockText(block))).join("\n");
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

function nearest(name: string, tools: readonly ToolAbout[]): string | undefined {
  const bareOf = (text: string) => text.toLowerCase().replaceAll(/[^a-z0-9]/g, "");
  const lettersOf = (text: string) => text.split("").toSorted().join("");
  const wanted = bareOf(name);
  const alike = (other: string) => {
    const bare = bareOf(other);
    return bare.includes(wanted) || wanted.includes(bare) || lettersOf(bare) === lettersOf(wanted);
  };
  return tools.map((tool) => tool.name).find(alike);
}
