// Owns what a client of the HTTP+SSE transport posts: taken here, answered on the stream that it holds open.
// https://modelcontextprotocol.io/specification/2024-11-05/basic/transports#http-with-sse

import { classify, type InboundHeaders } from "../../protocol/classify.ts";
import type { Era } from "../../protocol/era.ts";
import { failure, type Failure } from "../../protocol/errors.ts";
import { persistently } from "../../streams/persistently.ts";
import { hear } from "./answers.ts";
import { findSession, type Owned } from "./find-session.ts";
import { respondAccepted, respondFailure } from "../respond.ts";

/** The transport has no headers of its own: what a client says there beside it is not heard. */
export const NO_HEADERS: InboundHeaders = { version: null, session: null, method: null, name: null };
/** Whoever holds the stream may be coming back after an accident. */
const HOLDER_RETRY_MS = [50, 250, 700, 1500] as const;

export const UNAVAILABLE: Failure = {
  ...failure("unavailable", "Service unavailable: this session cannot be reached right now"),
  retryAfter: 5,
};

/** The session that the URL names; null: none, as in every other request. */
export function postedTo({ url }: Request, era: Era): string | null {
  return era === "2025" && url.includes("sessionId=") ? new URL(url).searchParams.get("sessionId") : null;
}

export async function answerPosted(
  owned: Owned,
  id: string,
  { text, value }: { readonly text: string; readonly value: unknown },
): Promise<Response> {
  const classified = classify(value, NO_HEADERS);
  if (classified.kind === "rejected") return respondFailure(classified.era, classified.id, classified.failure);
  if (classified.kind === "ignored") return respondAccepted();
  const message = classified.kind === "message2025" ? classified.message : undefined;
  const asked = message?.kind === "request" ? message.id : undefined;
  try {
    const session = await findSession(owned, id);
    if (session && message && message.kind !== "request") return await hear(owned, message, session);
    const post = crypto.randomUUID();
    if (session && (await delivered(() => owned.doors.sessionObject(session).deliver(post, text)))) {
      return respondAccepted();
    }
    return respondFailure("2025", asked, failure("sessionNotFound"));
  } catch (error) {
    owned.onError(error);
    // With any status of success its client would wait for an answer on the stream.
    return respondFailure("2025", asked, UNAVAILABLE);
  }
}

async function delivered(deliver: () => Promise<boolean>): Promise<boolean> {
  for (const wait of HOLDER_RETRY_MS) {
    if (await persistently(deliver)) return true;
    await scheduler.wait(wait);
  }
  return persistently(deliver);
}
