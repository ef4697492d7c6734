// Owns what every part of the bridge works with: the endpoint, the way to the client, the log, the end of it all.

import { McpFault, type HttpFacts } from "../../mcp-client/fault.ts";
import { rpcErrorOf, type ResponseMessage } from "../../mcp-client/message.ts";
import { ERRORS } from "../../protocol/errors.ts";
import type { McpEndpoint } from "../mcp-endpoint.ts";
import { mcpErrorMessage } from "../terminal/mcp-error.ts";
import type { OpenRequest } from "./open-requests.ts";

export interface BridgeOptions {
  readonly endpoint: McpEndpoint;
  /** The text of a message, to the local client. */
  readonly write: (text: string) => Promise<void>;
  /** One line on stderr. */
  readonly log: (text: string) => void;
  /** Aborted when the bridge ends. */
  readonly signal: AbortSignal;
}

/** What the client is told too, and few clients show: a server that lets nobody in, or has no such tenant. */
export function logRejection(
  { endpoint, log }: BridgeOptions,
  method: string,
  response: ResponseMessage,
  http: HttpFacts,
): void {
  const error = rpcErrorOf(response);
  if (error === undefined) return;
  // In era 2026 an unknown method is a 404 as well, which clients ask for to learn what a server can do.
  const isAccessError = http.status === 401 || (http.status === 404 && error.code !== ERRORS.methodNotFound.code);
  if (method !== "initialize" && !isAccessError) return;
  log(`${method}: ${mcpErrorMessage(new McpFault({ kind: "refused", http, error: response, sent: "yes" }), endpoint)}`);
}

/** Every call gets its answer, whatever happens to the work behind it. */
export async function ensureResponse(
  options: BridgeOptions,
  call: OpenRequest,
  work: () => Promise<void>,
): Promise<void> {
  let why = "no answer came";
  try {
    await work();
  } catch (error) {
    why = mcpErrorMessage(error, options.endpoint);
  }
  if (!call.isOpen || options.signal.aborted) return;
  options.log(`${call.request.method}: ${why}`);
  await call.fail(why);
}
