// How an endpoint admits callers, as a client without a credential finds out: open, with a key, or with a login.

import { exchange } from "../../mcp-client/exchange.ts";
import { McpFault, type Fault, type HttpFacts } from "../../mcp-client/fault.ts";
import { closeAnswer, rpcErrorFault } from "../../mcp-client/http-answer.ts";
import { rpcErrorOf } from "../../mcp-client/message.ts";
import { isObject } from "../../protocol/jsonrpc.ts";
import { CliError, EXIT } from "../exit.ts";
import type { McpEndpoint } from "../mcp-endpoint.ts";
import { toCliError } from "../terminal/mcp-error.ts";
import { oneLine } from "../terminal/printable.ts";

export type AccessKind = "open" | "key" | "login";

/** RFC 9728: a challenge with `resource_metadata` means that the endpoint uses an authorization server. */
export function metadataUrlIn(wwwAuthenticate: string | undefined): string | undefined {
  return /\bresource_metadata="?([^",\s]+)/i.exec(wwwAuthenticate ?? "")?.[1];
}

/** A request without side effects, in a form that every revision accepts. */
export const PING = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" });

/** The status and headers of the answer; for an error its message, and the `code` in `data`. */
export interface PingResult extends HttpFacts {
  readonly message?: string;
  readonly code?: unknown;
}

export async function sendPing(endpoint: McpEndpoint, signal: AbortSignal): Promise<PingResult> {
  try {
    const answer = await exchange(endpoint, { method: "POST", headers: {}, body: PING }, { signal });
    closeAnswer(answer);
    const { fault } = rpcErrorFault(answer) ?? {};
    return { ...answer.http, ...(fault && errorOf(fault)) };
  } catch (error) {
    if (error instanceof McpFault && "http" in error.fault) return { ...error.fault.http, ...errorOf(error.fault) };
    throw error;
  }
}

function errorOf(fault: Fault): Pick<PingResult, "message" | "code"> {
  const { message, data } = ("error" in fault && fault.error && rpcErrorOf(fault.error)) || {};
  return { ...(message && { message: oneLine(message) }), ...(isObject(data) && { code: data.code }) };
}

export function isRedirectStatus(status: number): boolean {
  return status >= 300 && status < 400;
}

/** `rejectedBecause`: why the endpoint refuses every caller at the moment, although it admits them in this way. */
export interface EndpointAccess {
  readonly kind: AccessKind;
  readonly rejectedBecause?: string;
}

export async function detectAccess(endpoint: McpEndpoint, signal: AbortSignal): Promise<EndpointAccess> {
  let http: PingResult;
  try {
    http = await sendPing(endpoint, signal);
  } catch (error) {
    const cliError = toCliError(error, endpoint);
    if (!(cliError instanceof CliError)) throw cliError;
    throw new CliError(
      cliError.exit,
      `${cliError.message}; --auth prints the configuration without asking the server`,
      {
        cause: error,
      },
    );
  }
  if (http.status === 404) {
    throw new CliError(EXIT.notFound, `${endpoint.url}: ${http.message ?? "there is no endpoint"} (404)`);
  }
  if (isRedirectStatus(http.status)) {
    throw new CliError(
      EXIT.refused,
      `${endpoint.url} redirects (${http.status}): connect clients to the URL that it names`,
    );
  }
  // A website, whatever its access.
  if (http.contentType === "text/html") {
    const message = `${endpoint.url} answered ${http.status} (text/html), not MCP: check that the URL is complete.`;
    throw new CliError(EXIT.refused, `${message} --auth prints the configuration anyway`);
  }
  if (http.status === 403) return { kind: "open", rejectedBecause: http.message ?? "refused (403)" };
  if (http.status !== 401) return { kind: "open" };
  return { kind: metadataUrlIn(http.wwwAuthenticate) === undefined ? "key" : "login" };
}
