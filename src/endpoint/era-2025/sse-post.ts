// Accepts the POSTs of an HTTP+SSE client. The responses go to the stream that the client holds open.
// https://modelcontextprotocol.io/specification/2024-11-05/basic/transports#http-with-sse

import { classify, type InboundHeaders } from "../../protocol/classify.ts";
import type { Era } from "../../protocol/revisions.ts";
import { failure, type Failure } from "../../protocol/errors.ts";
import { withRetries } from "../../streams/with-retries.ts";
import { withTimeout } from "../../tenants/cache/with-timeout.ts";
import { handleClientMessage } from "./answer-2025.ts";
import { findSession } from "../../sessions/find-session.ts";
import type { SessionCaller } from "../../sessions/session-caller.ts";
import type { ParsedBody } from "../body.ts";
import { respondAccepted, respondFailure } from "../respond.ts";

/** This transport has no MCP headers; a client's MCP headers are ignored. */
export const NO_HEADERS: InboundHeaders = { version: null, session: null, method: null, name: null };
/** Waits between attempts: the holder of the stream may be reconnecting after a failure. */
const DELIVERY_RETRY_MS = [50, 250, 700, 1500] as const;
/** Per attempt. The holder accepts a post at once; a repeated post is accepted only once. */
const DELIVERY_TIMEOUT_MS = 2500;

export const SESSION_UNAVAILABLE: Failure = {
  ...failure("unavailable", "Service unavailable: this session cannot be reached right now"),
  retryAfter: 5,
};

/** The session id in the URL; null if there is none, so that this is not a POST of this transport. */
export function sseSessionIdOf({ url }: Request, era: Era): string | null {
  return era === "2025" && url.includes("sessionId=") ? new URL(url).searchParams.get("sessionId") : null;
}

export async function answerSsePost(caller: SessionCaller, id: string, { text, value }: ParsedBody): Promise<Response> {
  const classified = classify(value, NO_HEADERS);
  if (classified.kind === "rejected") return respondFailure(classified.era, classified.id, classified.failure);
  if (classified.kind === "ignored") return respondAccepted();
  const message = classified.kind === "message2025" ? classified.message : undefined;
  const messageId = message?.kind === "request" ? message.id : undefined;
  try {
    const session = await findSession(caller, id);
    if (session && message && message.kind !== "request") return await handleClientMessage(caller, message, session);
    const post = crypto.randomUUID();
    if (session && (await deliverWithRetry(() => caller.sessionStubs.sessionObject(session).deliver(post, text)))) {
      return respondAccepted();
    }
    return respondFailure("2025", messageId, failure("sessionNotFound"));
  } catch (error) {
    caller.onError(error);
    // With a success status, the client would wait for a response on the stream.
    return respondFailure("2025", messageId, SESSION_UNAVAILABLE);
  }
}

async function deliverWithRetry(deliver: () => Promise<boolean>): Promise<boolean> {
  const attempt = () => withRetries(() => withTimeout(deliver(), DELIVERY_TIMEOUT_MS, "the session"));
  for (const wait of DELIVERY_RETRY_MS) {
    if (await attempt()) return true;
    await scheduler.wait(wait);
  }
  return attempt();
}
