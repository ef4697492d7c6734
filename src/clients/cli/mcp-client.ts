// Owns speaking MCP 2026-07-28 to one endpoint: one request, its notifications, its answer as JSON or as a stream.
// Refuses sessions, other revisions, and to know what a tool is for.
// https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http

import { CliError, EXIT } from "./exit.ts";
import { ServerRefused, unreachable } from "./problem.ts";
import { oneLine } from "./terminal.ts";
import { VERSION } from "./version.ts";

export type Json = Record<string, unknown>;

export interface McpRequest {
  readonly method: string;
  readonly params: Json;
  /** `Mcp-Name`. */
  readonly name?: string;
  /** `Mcp-Param-*`, by header name. */
  readonly mirrored?: Readonly<Record<string, string>>;
}

export interface McpEndpoint {
  readonly url: string;
  readonly token: string | undefined;
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
const META = "io.modelcontextprotocol/";
let lastId = 0;

export async function askMcp(endpoint: McpEndpoint, { method, params, name, mirrored }: McpRequest): Promise<Json> {
  const id = (lastId += 1);
  const _meta = {
    [`${META}protocolVersion`]: REVISION,
    [`${META}clientInfo`]: { name: "tenantry-cli", version: VERSION },
    [`${META}clientCapabilities`]: endpoint.capabilities,
    progressToken: id,
  };
  const headers = new Headers({
    accept: "application/json, text/event-stream",
    "content-type": "application/json",
    "mcp-protocol-version": REVISION,
    "mcp-method": method,
    ...(name !== undefined && { "mcp-name": headerValue(name) }),
    ...mirrored,
    ...(endpoint.token !== undefined && { authorization: `Bearer ${endpoint.token}` }),
  });
  const body = JSON.stringify({ jsonrpc: "2.0", id, method, params: { ...params, _meta } });
  try {
    const init = { method: "POST", headers, body, redirect: "manual", signal: endpoint.signal } as const;
    return await readAnswer(await fetch(endpoint.url, init), endpoint);
  } catch (error) {
    if (error instanceof CliError) throw error;
    if (endpoint.signal.aborted) throw new CliError(EXIT.interrupted, "interrupted", { cause: error });
    throw unreachable(error, endpoint.url);
  }
}

/** A header holds ASCII; anything else travels as Base64. */
export function headerValue(value: string): string {
  const plain = /^[\x21-\x7e]+(?: +[\x21-\x7e]+)*$/.test(value) && !/^=\?base64\?.*\?=$/.test(value);
  return plain ? value : `=?base64?${Buffer.from(value).toString("base64")}?=`;
}

async function readAnswer(response: Response, endpoint: McpEndpoint): Promise<Json> {
  const type = response.headers.get("content-type")?.split(";", 1)[0]?.trim().toLowerCase();
  if (type === "text/event-stream") return readStream(response, endpoint);
  const text = await response.text();
  const message = type === "application/json" ? parseObject(text) : undefined;
  if (message && ("result" in message || "error" in message)) return resultOf(message, response);
  throw new ServerRefused(
    response.status,
    `${endpoint.url} answered ${response.status} (${type ?? "no content type"}), not MCP`,
  );
}

async function readStream(response: Response, endpoint: McpEndpoint): Promise<Json> {
  for await (const message of readEvents(response)) {
    if (message.method === undefined) return resultOf(message, response);
    if (message.id === undefined) endpoint.onNotification(message);
  }
  throw new CliError(EXIT.unreachable, `${endpoint.url}: the stream ended without an answer`);
}

function parseObject(text: string): Json | undefined {
  try {
    const value = JSON.parse(text) as Json | null;
    return typeof value === "object" ? (value ?? undefined) : undefined;
  } catch {
    return undefined;
  }
}

function resultOf(message: Json, { status }: Response): Json {
  const error = message.error as { code?: number; message?: string } | undefined;
  if (error === undefined) return message.result as Json;
  throw new McpRefused(status, error.code ?? 0, oneLine(error.message ?? "refused without a word"));
}

async function* readEvents(response: Response): AsyncGenerator<Json> {
  const decoder = new TextDecoder();
  let data = "";
  let rest = "";
  for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split(/\r\n|\n|\r(?!$)/);
    rest = lines.pop() ?? "";
    for (const line of lines) {
      if (line.startsWith("data:")) data += line.slice(5).replace(/^ /, "");
      if (line !== "" || data === "") continue;
      yield parseObject(data) ?? {};
      data = "";
    }
  }
}
