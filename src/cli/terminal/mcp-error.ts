// Errors of MCP endpoints for people: one line with the URL, and an exit code.

import { describeFault, McpFault, httpStatusOf, type Fault } from "../../mcp-client/fault.ts";
import { rpcErrorOf, type ResponseMessage } from "../../mcp-client/message.ts";
import { isObject } from "../../protocol/jsonrpc.ts";
import { CliError, EXIT } from "../exit.ts";
import type { McpEndpoint } from "../mcp-endpoint.ts";
import { connectionLostError, ResponseError, unreachableError } from "./server-error.ts";
import { oneLine } from "./printable.ts";

/** The server answered with a JSON-RPC error, so the method failed. */
export class McpResponseError extends ResponseError {
  readonly code: number;
  /**
   * The upstream that the endpoint could not reach; undefined: the error is from the endpoint or the upstream
   * itself.
   */
  readonly unreachableServer: string | undefined;

  constructor(
    status: number,
    message: string,
    { code, unreachableServer }: Pick<McpResponseError, "code" | "unreachableServer">,
  ) {
    super(status, message);
    this.code = code;
    this.unreachableServer = unreachableServer;
  }
}

type EndpointSource = Pick<McpEndpoint, "url" | "keySource">;

/** Converts a fault to the error that ends the command. Returns an error that is not an `McpFault` unchanged. */
export function toCliError(error: unknown, endpoint: EndpointSource): unknown {
  if (!(error instanceof McpFault)) return error;
  const { fault, cause } = error;
  if (fault.kind === "cancelled") return new CliError(EXIT.interrupted, "interrupted", { cause });
  if (cause !== undefined) {
    if (fault.kind === "lost" && fault.sent !== "no") return connectionLostError(cause, endpoint.url);
    if (fault.kind === "lost" || fault.kind === "unreachable") return unreachableError(cause, endpoint.url);
  }
  return createCliError(fault, faultMessage(fault, endpoint.url) + credentialHint(fault, endpoint));
}

function createCliError(fault: Fault, message: string): CliError {
  if (fault.kind === "refused") {
    const { code = 0, data } = rpcErrorOf(fault.error) ?? {};
    return new McpResponseError(fault.http.status, message, { code, unreachableServer: unreachableServerIn(data) });
  }
  if (fault.kind === "violation" && fault.rule === "tooManyRounds") return new CliError(EXIT.refused, message);
  // A stream that ends early indicates a connection problem; any other answer, a problem of the server.
  const status = isStream(fault) ? undefined : httpStatusOf(fault);
  return status === undefined ? new CliError(EXIT.unreachable, message) : new ResponseError(status, message);
}

export function mcpErrorMessage(error: unknown, endpoint: EndpointSource): string {
  const cliError = toCliError(error, endpoint);
  return cliError instanceof Error ? cliError.message : String(cliError);
}

/** Why a stream was lost that will reconnect. Omits the URL, which the log names once. */
export function dropReason(fault: Fault): string {
  return fault.kind === "unanswered" ? "the stream ended" : describeFault(fault);
}

function faultMessage(fault: Fault, url: string): string {
  if (fault.kind === "refused") return rpcErrorText(fault.error);
  if (fault.kind === "violation") {
    const { protocol, host } = new URL(fault.location ?? url);
    const target = fault.location === undefined ? "" : `, not ${protocol}//${host}`;
    return `${url} sent an answer that is not MCP: ${fault.detail}${target}`;
  }
  if (fault.kind === "redirect") return `${url} redirects to ${fault.location ?? "nowhere"}`;
  if (fault.kind === "unresumable")
    return `the stream broke and cannot be resumed: ${faultMessage(fault.lastFault, url)}`;
  if (isStream(fault)) return `${url}: the stream ended without an answer`;
  if (fault.kind === "unanswered") return `${url} sent no answer`;
  if (!("http" in fault)) return `${url}: ${describeFault(fault)}`;
  return `${url} answered ${fault.http.status} (${fault.http.contentType || "no content type"}), not MCP`;
}

/** A gateway names the failing upstream in `data`, and perhaps the reason. */
function rpcErrorText(error: ResponseMessage): string {
  const { message, data } = rpcErrorOf(error) ?? {};
  const { server, why, timeoutMs } = isObject(data) ? data : {};
  const limit = typeof timeoutMs === "number" ? `timeoutMs is ${timeoutMs}` : undefined;
  const parts = typeof server === "string" && !message?.includes(server) ? [server, why ?? limit] : [];
  const suffix = parts.filter((text) => typeof text === "string").join(": ");
  return oneLine((message || "refused without a message") + (suffix && ` (${suffix})`));
}

/**
 * docs/gateway-calls.md: the gateway's own findings have `fault`; an upstream's own error comes with
 * `originalError`.
 */
function unreachableServerIn(data: unknown): string | undefined {
  const { server, fault, originalError } = isObject(data) ? data : {};
  const isGatewayFault = typeof server === "string" && typeof fault === "string" && originalError === undefined;
  return isGatewayFault ? server : undefined;
}

function isStream(fault: Fault): boolean {
  return fault.kind === "unanswered" && fault.http.contentType === "text/event-stream";
}

/**
 * RFC 9728: a challenge with `resource_metadata` means that the endpoint accepts an authorization server's tokens,
 * perhaps beside keys.
 */
const RESOURCE_METADATA = /\bresource_metadata=/i;
const LOGIN_HINT =
  "people log in here with an MCP client that opens a browser; this command needs an access token, or a key if the tenant takes keys";

function credentialHint(fault: Fault, { keySource }: EndpointSource): string {
  if (!("http" in fault) || fault.http.status !== 401) return "";
  if (RESOURCE_METADATA.test(fault.http.wwwAuthenticate ?? "")) {
    return keySource !== undefined
      ? ` (${LOGIN_HINT})`
      : ` (no key or token: ${LOGIN_HINT}: set TENANTRY_KEY or give --key-file)`;
  }
  return keySource === undefined
    ? " (no key: set TENANTRY_KEY or give --key-file; tenantry key create TENANT makes a key)"
    : ` (the key of ${keySource} was refused; give no key if the endpoint is open)`;
}
