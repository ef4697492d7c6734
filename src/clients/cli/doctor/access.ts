// Owns how an endpoint lets callers in, as a client without any credential finds out: everybody, with a key, or by logging in.

import { exchange } from "../../../mcp-client/exchange.ts";
import { McpFault, type Fault, type HttpFacts } from "../../../mcp-client/fault.ts";
import { closeAnswer, refusalIn } from "../../../mcp-client/http-answer.ts";
import { rpcErrorOf } from "../../../mcp-client/message.ts";
import { isObject } from "../../../protocol/jsonrpc.ts";
import { CliError, EXIT } from "../exit.ts";
import type { McpEndpoint } from "../mcp-endpoint.ts";
import { mcpProblem } from "../terminal/mcp-problem.ts";
import { oneLine } from "../terminal/printable.ts";

export type AccessKind = "open" | "key" | "login";

/** By RFC 9728: whoever says where its metadata are has an authorization server. */
export function metadataUrlIn(wwwAuthenticate: string | undefined): string | undefined {
  return /\bresource_metadata="?([^",\s]+)/i.exec(wwwAuthenticate ?? "")?.[1];
}

/** A request that asks nothing, in the form that every revision reads. */
export const PING = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" });

/** The head of an answer; and of the error that it is the message, and the `code` in `data`. */
export interface Pinged extends HttpFacts {
  readonly said?: string;
  readonly code?: unknown;
}

export async function pinged(endpoint: McpEndpoint, signal: AbortSignal): Promise<Pinged> {
  try {
    const answer = await exchange(endpoint, { method: "POST", headers: {}, body: PING }, { signal });
    closeAnswer(answer);
    const { fault } = refusalIn(answer) ?? {};
    return { ...answer.http, ...(fault && saidIn(fault)) };
  } catch (error) {
    if (error instanceof McpFault && "http" in error.fault) return { ...error.fault.http, ...saidIn(error.fault) };
    throw error;
  }
}

function saidIn(fault: Fault): Pick<Pinged, "said" | "code"> {
  const { message, data } = ("error" in fault && fault.error && rpcErrorOf(fault.error)) || {};
  return { ...(message && { said: oneLine(message) }), ...(isObject(data) && { code: data.code }) };
}

export function leadsElsewhere(status: number): boolean {
  return status >= 300 && status < 400;
}

/** `shut`: why it lets nobody in now, who would otherwise come in that way. */
export interface Accessible {
  readonly kind: AccessKind;
  readonly shut?: string;
}

export async function accessAt(endpoint: McpEndpoint, signal: AbortSignal): Promise<Accessible> {
  let http: Pinged;
  try {
    http = await pinged(endpoint, signal);
  } catch (error) {
    const problem = mcpProblem(error, endpoint);
    if (!(problem instanceof CliError)) throw problem;
    throw new CliError(problem.exit, `${problem.message}; --auth says how callers get in without asking`, {
      cause: error,
    });
  }
  if (http.status === 404) {
    throw new CliError(EXIT.notFound, `${endpoint.url}: ${http.said ?? "there is no endpoint"} (404)`);
  }
  if (leadsElsewhere(http.status)) {
    throw new CliError(
      EXIT.refused,
      `${endpoint.url} sends clients elsewhere (${http.status}): connect them to what it names`,
    );
  }
  // A website, whoever gets in there.
  if (http.contentType === "text/html") {
    const said = `${endpoint.url} answered ${http.status} (text/html), not MCP: is the URL whole?`;
    throw new CliError(EXIT.refused, `${said} --auth prints what a client needs all the same`);
  }
  if (http.status === 403) return { kind: "open", shut: http.said ?? "refused (403)" };
  if (http.status !== 401) return { kind: "open" };
  return { kind: metadataUrlIn(http.wwwAuthenticate) === undefined ? "key" : "login" };
}
