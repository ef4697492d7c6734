// Requests other than POST. GET opens a stream of era 2025: in a session, or, in revision 2024-11-05, to start one.
// DELETE ends a session.
// https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#listening-for-messages-from-the-server

import type { Era } from "../../protocol/revisions.ts";
import { failure, type Failure } from "../../protocol/errors.ts";
import { isFailure } from "../../protocol/methods/params.ts";
import { endSession, findSession } from "../../sessions/find-session.ts";
import type { Session } from "../../sessions/session-id.ts";
import { parseAccept } from "../body.ts";
import type { AuthorizedRequest } from "../authorized-request.ts";
import { parseEventId } from "../event-ids.ts";
import { answerStandalone } from "../notifications.ts";
import { respondFailure, respondNothing } from "../respond.ts";
import { DEFAULT_RESUMABLE, replayCallEvents } from "./run-call.ts";
import { openSseStream } from "./sse-stream.ts";

export async function answerStreamRequest(authorized: AuthorizedRequest, era: Era): Promise<Response> {
  const { method, headers } = authorized.context.request;
  const id = headers.get("mcp-session-id");
  if (method === "DELETE" && id !== null && era === "2025") {
    const failureOfEnd = await endSession(authorized, id);
    return failureOfEnd ? respondFailure(era, undefined, failureOfEnd) : respondNothing();
  }
  const stream = method === "GET" && era === "2025" ? await answerGet(authorized, id) : undefined;
  if (stream) return isFailure(stream) ? respondFailure("2025", undefined, stream) : stream;
  const response = respondFailure(era, undefined, failure("methodNotAllowed", "Method not allowed: use POST"));
  response.headers.set("allow", id === null || era === "2026" ? "POST, OPTIONS" : "GET, POST, DELETE, OPTIONS");
  return response;
}

/**
 * Returns undefined if no stream is requested. A wildcard in Accept does not request one: a program that only probes
 * the URL would hang.
 */
async function answerGet(authorized: AuthorizedRequest, id: string | null): Promise<Response | Failure | undefined> {
  const accept = authorized.context.request.headers.get("accept");
  // Clients of HTTP+SSE accept nothing else. Other clients probe for a stream, and would mistake this one for theirs.
  if (id === null) return /^text\/event-stream *(;|$)/i.test(accept ?? "") ? openSseStream(authorized) : undefined;
  if (!parseAccept(accept).stream) return undefined;
  const session = await findSession(authorized, id);
  return session ? openSessionStream(authorized, session) : failure("sessionNotFound");
}

async function openSessionStream(authorized: AuthorizedRequest, session: Session): Promise<Response | Failure> {
  const lastEventId = authorized.context.request.headers.get("last-event-id");
  if (lastEventId === null) return answerStandalone(authorized, session, undefined);
  const from = await parseEventId(authorized.ring, lastEventId);
  if (from) return answerStandalone(authorized, session, from);
  const [, key, seq] = /^([0-9a-f]{16})-(\d{1,9})$/.exec(lastEventId) ?? [];
  const replayFrom = { key: key ?? "", after: Number(seq), resumable: DEFAULT_RESUMABLE };
  const replayed = key === undefined ? 404 : await replayCallEvents(authorized, session, replayFrom);
  if (typeof replayed !== "number") return replayed;
  // Everything was shown already: 204 makes a browser's EventSource stop reconnecting.
  if (replayed === 410) return respondNothing();
  return failure("invalidRequest", "Invalid Request: Last-Event-ID names no stream of this session");
}
