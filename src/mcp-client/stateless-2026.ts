// Owns 2026-07-28 over Streamable HTTP: each request is an exchange of its own, without a session, and closing it
// cancels it. Refuses to continue a stream that broke, which this revision does not allow, and to send a request twice.
// https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http

import type { RemoteEndpoint, RequestOptions } from "./remote-endpoint.ts";
import { exchange } from "./exchange.ts";
import { assertAccepted, closeAnswer } from "./http-answer.ts";
import type { PreparedRequest } from "./outgoing.ts";
import { toMcpReply, type McpReply } from "./mcp-reply.ts";

export async function send2026(
  endpoint: RemoteEndpoint,
  { headers, text, id }: PreparedRequest,
  options: RequestOptions = {},
): Promise<McpReply> {
  return toMcpReply(await exchange(endpoint, { method: "POST", headers, body: text }, options), id);
}

/** A notification. */
export async function sendNotification2026(
  endpoint: RemoteEndpoint,
  { headers, text }: Pick<PreparedRequest, "headers" | "text">,
  options: RequestOptions = {},
): Promise<void> {
  const request = {
    method: "POST",
    headers,
    body: text,
    isOneWay: true,
  } as const;
  const answer = await exchange(endpoint, request, options);
  closeAnswer(answer);
  assertAccepted(answer);
}
