// Owns what is not a POST: the streams that era 2025 opens with GET, in a session or, in 2024-11-05, to begin one, and
// DELETE, which ends a session.
// https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#listening-for-messages-from-the-server

import type { Era } from "../../protocol/era.ts";
import { failure, type Failure } from "../../protocol/errors.ts";
import { isFailure } from "../../protocol/methods/params.ts";
import { endSession, findSession } from "../../sessions/find-session.ts";
import type { Session } from "../../sessions/session-id.ts";
import { parseAccept } from "../body.ts";
import type { Entered } from "../entered.ts";
import { stateOf } from "../event-ids.ts";
import { answerStandalone } from "../notifications.ts";
import { respondFailure, respondNothing } from "../respond.ts";
import { DEFAULT_RESUMABLE, showCall } from "./calls.ts";
import { holdStream } from "./http-sse.ts";

export async function answerStreams(entered: Entered, era: Era): Promise<Response> {
  const { method, headers } = entered.visit.request;
  const id = headers.get("mcp-session-id");
  if (method === "DELETE" && id !== null && era === "2025") {
    const refused = await endSession(entered, id);
    return refused ? respondFailure(era, undefined, refused) : respondNothing();
  }
  const opened = method === "GET" && era === "2025" ? await answerGet(entered, id) : undefined;
  if (opened) return isFailure(opened) ? respondFailure("2025", undefined, opened) : opened;
  const response = respondFailure(era, undefined, failure("methodNotAllowed", "Method not allowed: use POST"));
  response.headers.set("allow", id === null || era === "2026" ? "POST, OPTIONS" : "GET, POST, DELETE, OPTIONS");
  return response;
}

/** undefined: no stream is wanted. A wildcard in Accept does not ask for one: a program that only looks would hang. */
async function answerGet(entered: Entered, id: string | null): Promise<Response | Failure | undefined> {
  const accept = entered.visit.request.headers.get("accept");
  // Clients of HTTP+SSE accept nothing else. Others try whether there is a stream, and would take this one for theirs.
  if (id === null) return /^text\/event-stream *(;|$)/i.test(accept ?? "") ? holdStream(entered) : undefined;
  if (!parseAccept(accept).stream) return undefined;
  const session = await findSession(entered, id);
  return session ? openStream(entered, session) : failure("sessionNotFound");
}

async function openStream(entered: Entered, session: Session): Promise<Response | Failure> {
  const lastEventId = entered.visit.request.headers.get("last-event-id");
  if (lastEventId === null) return answerStandalone(entered, session, undefined);
  const from = await stateOf(entered.ring, lastEventId);
  if (from) return answerStandalone(entered, session, from);
  const [, key, seq] = /^([0-9a-f]{16})-(\d{1,9})$/.exec(lastEventId) ?? [];
  const place = { key: key ?? "", after: Number(seq), resumable: DEFAULT_RESUMABLE };
  const shown = key === undefined ? 404 : await showCall(entered, session, place);
  if (typeof shown !== "number") return shown;
  // Everything was shown already: a browser's EventSource stops asking.
  if (shown === 410) return respondNothing();
  return failure("invalidRequest", "Invalid Request: Last-Event-ID names no stream of this session");
}
