// Owns asking one MCP endpoint in 2026-07-28: one request, its notifications, its result or its refusal.
// Refuses sessions, other revisions, and to know what a tool is for.

import { CliError, EXIT } from "./exit.ts";
import { META, repeatedHeaders, sendMcp, type Json, type McpAnswer, type McpPlace } from "./mcp-http.ts";
import { ServerRefused } from "./terminal/problem.ts";
import { oneLine } from "./terminal/terminal.ts";
import { VERSION } from "./version.ts";

export interface McpRequest {
  readonly method: string;
  readonly params: Json;
  /** `Mcp-Param-*`, by header name. */
  readonly mirrored?: Readonly<Record<string, string>>;
}

export interface McpEndpoint extends McpPlace {
  readonly capabilities: Json;
  readonly signal: AbortSignal;
  onNotification(message: Json): void;
}

/** An error of the protocol: not what a tool answers, but why it was not called. */
export class McpRefused extends ServerRefused {
  readonly code: number;

  constructor(status: number, code: number, message: string) {
    super(status, message);
    this.code = code;
  }
}

const REVISION = "2026-07-28";
let lastId = 0;

export async function askMcp(endpoint: McpEndpoint, request: McpRequest): Promise<Json> {
  const answer = await openMcp(endpoint, request);
  for await (const { message } of answer.messages) {
    if (message.method === undefined) return resultOf(message, answer);
    if (message.id === undefined) endpoint.onNotification(message);
  }
  throw noAnswer(endpoint, answer);
}

/** The answer before it is read, for whoever wants its messages one by one. */
export async function openMcp(endpoint: McpEndpoint, { method, params, mirrored }: McpRequest): Promise<McpAnswer> {
  const id = (lastId += 1);
  const _meta = {
    [`${META}protocolVersion`]: REVISION,
    [`${META}clientInfo`]: { name: "tenantry-cli", version: VERSION },
    [`${META}clientCapabilities`]: endpoint.capabilities,
    progressToken: id,
  };
  return sendMcp(endpoint, {
    method: "POST",
    headers: { ...repeatedHeaders(REVISION, method, params), ...mirrored },
    body: JSON.stringify({ jsonrpc: "2.0", id, method, params: { ...params, _meta } }),
    signal: endpoint.signal,
  });
}

export function resultOf(message: Json, { status }: McpAnswer): Json {
  const error = message.error as { code?: number; message?: string } | undefined;
  if (error === undefined) return message.result as Json;
  throw new McpRefused(status, error.code ?? 0, oneLine(error.message ?? "refused without a word"));
}

export function noAnswer({ url }: McpPlace, { kind, status, why }: McpAnswer): CliError {
  if (kind === "foreign" || kind === "empty") return new ServerRefused(status, why);
  return new CliError(EXIT.unreachable, `${url}: the stream ended without an answer`);
}
