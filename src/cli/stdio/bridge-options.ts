// The context of every part of the bridge.

import { McpFault, type HttpFacts } from "../../mcp-client/fault.ts";
import { rpcErrorOf, type ResponseMessage } from "../../mcp-client/message.ts";
import { ERRORS } from "../../protocol/errors.ts";
import type { McpEndpoint } from "../mcp-endpoint.ts";
import { mcpErrorMessage } from "../terminal/mcp-error.ts";
import type { OpenRequest } from "./open-requests.ts";

export interface BridgeOptions {
  readonly endpoint: McpEndpoint;
  readonly write: (text: string) => Promise<void>;
  /** Writes one line to stderr. */
  readonly log: (text: string) => void;
  /** Aborted when the bridge ends. */
  readonly signal: AbortSignal;
}

/** Logs errors that the client also receives but few clients show: access refused, or no such tenant. */
export function logRejection(
  { endpoint, log }: BridgeOptions,
  method: string,
  response: ResponseMessage,
  http: HttpFacts,
): void {
  const error = rpcErrorOf(response);
  if (error === undefined) return;
  // In era 2026 an unknown method is also a 404, and clients probe methods to learn what a server supports.
  const isAccessError = http.status === 401 || (http.status === 404 && error.code !== ERRORS.methodNotFound.code);
  if (method !== "initialize" && !isAccessError) return;
  log(`${method}: ${mcpErrorMessage(new McpFault({ kind: "refused", http, error: response, sent: "yes" }), endpoint)}`);
}

/** Every call gets its answer, even if its work fails. */
export async function ensureResponse(
  options: BridgeOptions,
  call: OpenRequest,
  work: () => Promise<void>,
): Promise<void> {
  let why = "no answer";
  try {
    await work();
  } catch (error) {
    why = mcpErrorMessage(error, options.endpoint);
  }
  if (!call.isOpen || options.signal.aborted) return;
  options.log(`${call.request.method}: ${why}`);
  await call.fail(why);
}
