// Owns what a person is told when an MCP endpoint does not answer as it should: one line with its URL, and an exit
// code.

import { describeFault, McpFault, httpStatusOf, type Fault } from "../../../mcp-client/fault.ts";
import { rpcErrorOf, type ResponseMessage } from "../../../mcp-client/message.ts";
import { isObject } from "../../../protocol/jsonrpc.ts";
import { CliError, EXIT } from "../exit.ts";
import type { McpEndpoint } from "../mcp-endpoint.ts";
import { brokenOff, ServerRefused, unreachable } from "./problem.ts";
import { oneLine } from "./printable.ts";

/** The server answered with a JSON-RPC error: the method did not do what it was asked. */
export class McpRefused extends ServerRefused {
  readonly code: number;
  /** The server behind the endpoint that could not be asked; undefined: the endpoint itself refused, or that server. */
  readonly unasked: string | undefined;

  constructor(status: number, message: string, { code, unasked }: Pick<McpRefused, "code" | "unasked">) {
    super(status, message);
    this.code = code;
    this.unasked = unasked;
  }
}

type About = Pick<McpEndpoint, "url" | "keyFrom">;

/** A fault as the error that a command ends with. An error that is no `McpFault` is returned as it is. */
export function mcpProblem(error: unknown, endpoint: About): unknown {
  if (!(error instanceof McpFault)) return error;
  const { fault, cause } = error;
  if (fault.kind === "cancelled") return new CliError(EXIT.interrupted, "interrupted", { cause });
  if (cause !== undefined) {
    if (fault.kind === "lost" && fault.sent !== "no") return brokenOff(cause, endpoint.url);
    if (fault.kind === "lost" || fault.kind === "unreachable") return unreachable(cause, endpoint.url);
  }
  return problemOf(fault, sentenceOf(fault, endpoint.url) + hintOf(fault, endpoint));
}

function problemOf(fault: Fault, said: string): CliError {
  if (fault.kind === "refused") {
    const { code = 0, data } = rpcErrorOf(fault.error) ?? {};
    return new McpRefused(fault.http.status, said, { code, unasked: unaskedIn(data) });
  }
  if (fault.kind === "violation" && fault.rule === "tooManyRounds") return new CliError(EXIT.refused, said);
  // A stream that ends early says something about the connection, any other answer something about the server.
  const status = isStream(fault) ? undefined : httpStatusOf(fault);
  return status === undefined ? new CliError(EXIT.unreachable, said) : new ServerRefused(status, said);
}

/** The message of that error, for a log. */
export function mcpReason(error: unknown, endpoint: About): string {
  const problem = mcpProblem(error, endpoint);
  return problem instanceof Error ? problem.message : String(problem);
}

/** Why a stream that will be opened again was lost, without the URL: the log names it once. */
export function dropReason(fault: Fault): string {
  return fault.kind === "unanswered" ? "the stream ended" : describeFault(fault);
}

function sentenceOf(fault: Fault, url: string): string {
  if (fault.kind === "refused") return refusalOf(fault.error);
  if (fault.kind === "violation") return `${url} answered what is not MCP: ${fault.detail}`;
  if (fault.kind === "redirect") return `${url} sends us on to ${fault.location ?? "nowhere"}`;
  if (fault.kind === "unresumable") return `the stream broke and cannot be resumed: ${sentenceOf(fault.why, url)}`;
  if (isStream(fault)) return `${url}: the stream ended without an answer`;
  if (fault.kind === "unanswered") return `${url} answered nothing`;
  if (!("http" in fault)) return `${url}: ${describeFault(fault)}`;
  return `${url} answered ${fault.http.status} (${fault.http.contentType || "no content type"}), not MCP`;
}

/** An endpoint that asks other servers says in `data` which one it was, and perhaps why. */
function refusalOf(error: ResponseMessage): string {
  const { message, data } = rpcErrorOf(error) ?? {};
  const { server, why, timeoutMs } = isObject(data) ? data : {};
  const limit = typeof timeoutMs === "number" ? `timeoutMs is ${timeoutMs}` : undefined;
  const of = typeof server === "string" && !message?.includes(server) ? [server, why ?? limit] : [];
  const where = of.filter((text) => typeof text === "string").join(": ");
  return oneLine((message || "refused without a word") + (where && ` (${where})`));
}

/** docs/gateway-calls.md: what the gateway found wrong is a `fault`; with a server's own error goes `originalError`. */
function unaskedIn(data: unknown): string | undefined {
  const { server, fault, originalError } = isObject(data) ? data : {};
  const isUnasked = typeof server === "string" && typeof fault === "string" && originalError === undefined;
  return isUnasked ? server : undefined;
}

function isStream(fault: Fault): boolean {
  return fault.kind === "unanswered" && fault.http.contentType === "text/event-stream";
}

/** By RFC 9728: a server that says where its metadata are takes tokens of an authorization server, perhaps beside keys. */
const SAYS_WHERE_TO_LOG_IN = /\bresource_metadata=/i;
const LOG_IN =
  "people log in here with an MCP client that opens a browser; this command takes an access token, or a key where the tenant takes keys";

function hintOf(fault: Fault, { keyFrom }: About): string {
  if (!("http" in fault) || fault.http.status !== 401) return "";
  if (SAYS_WHERE_TO_LOG_IN.test(fault.http.wwwAuthenticate ?? "")) {
    return keyFrom !== undefined
      ? ` (${LOG_IN})`
      : ` (no key or token: ${LOG_IN}: set TENANTRY_KEY or give --key-file)`;
  }
  return keyFrom === undefined
    ? " (no key: set TENANTRY_KEY or give --key-file)"
    : ` (the key of ${keyFrom} was refused)`;
}
