// Owns 2026-07-28 over Streamable HTTP: each request is an exchange of its own, without a session, and closing it
// cancels it. Refuses to continue a stream that broke, which this revision does not allow, and to send a request twice.
// https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http

import type { RemoteEndpoint, RequestOptions } from "./remote-endpoint.ts";
import { exchange } from "./exchange.ts";
import { checkTaken, closeAnswer } from "./http-answer.ts";
import type { Outgoing } from "./outgoing.ts";
import { replyOf, type McpReply } from "./mcp-reply.ts";

export async function send2026(
  endpoint: RemoteEndpoint,
  { headers, text, id }: Outgoing,
  options: RequestOptions = {},
): Promise<McpReply> {
  return replyOf(await exchange(endpoint, { method: "POST", headers, body: text }, options), id);
}

/** A notification. */
export async function tell2026(
  endpoint: RemoteEndpoint,
  { headers, text }: Pick<Outgoing, "headers" | "text">,
  options: RequestOptions = {},
): Promise<void> {
  const told = {
    method: "POST",
    headers,
    body: text,
    wantsNothing: true,
  } as const;
  const answer = await exchange(endpoint, told, options);
  closeAnswer(answer);
  checkTaken(answer);
}
