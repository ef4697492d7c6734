// Owns what is not a POST: the streams that era 2025 opens with GET, in a session or (2024-11-05) as one, and DELETE,
// which ends a session.
// https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#listening-for-messages-from-the-server

import type { Era } from "../../protocol/era.ts";
import { failure, type Failure } from "../../protocol/errors.ts";
import { isFailure } from "../../protocol/methods/params.ts";
import { parseAccept } from "../body.ts";
import { DEFAULT_RESUMABLE, showCall } from "./calls.ts";
import { endSession, findSession, type Owned } from "./find-session.ts";
import { holdStream } from "./http-sse.ts";
import { answerStandalone, stateOf } from "../notifications.ts";
import { respondFailure } from "../respond.ts";
import type { Session } from "../../sessions/session-id.ts";

export async function answerStreams(owned: Owned, era: Era): Promise<Response> {
  const { method, headers } = owned.request;
  const id = headers.get("mcp-session-id");
  if (method === "DELETE" && id !== null && era === "2025") {
    const refused = await endSession(owned, id);
    return refused ? respondFailure(era, undefined, refused) : new Response(null, { status: 204 });
  }
  const opened = method === "GET" ? await answerGet(owned, id) : undefined;
  if (opened) return isFailure(opened) ? respondFailure("2025", undefined, opened) : opened;
  const response = respondFailure(era, undefined, failure("methodNotAllowed", "Method not allowed: use POST"));
  response.headers.set("allow", id === null ? "POST, OPTIONS" : "GET, POST, DELETE, OPTIONS");
  return response;
}

/** undefined: no stream is wanted. A wildcard is no wish for one: whoever only looks would wait for ever. */
async function answerGet(owned: Owned, id: string | null): Promise<Response | Failure | undefined> {
  const accept = owned.request.headers.get("accept");
  if (id === null) return /\btext\/event-stream\b/i.test(accept ?? "") ? holdStream(owned) : undefined;
  if (!parseAccept(accept).stream) return undefined;
  const session = await findSession(owned, id);
  return session ? openStream(owned, session) : failure("sessionNotFound");
}

async function openStream(owned: Owned, session: Session): Promise<Response | Failure> {
  const lastEventId = owned.request.headers.get("last-event-id");
  if (lastEventId === null || stateOf(lastEventId)) return answerStandalone(owned, session, lastEventId);
  const [, key, seq] = /^([0-9a-f]{16})-(\d{1,9})$/.exec(lastEventId) ?? [];
  const shown =
    key === undefined ? 404 : await showCall(owned, session, { key, after: Number(seq), resumable: DEFAULT_RESUMABLE });
  if (typeof shown !== "number") return shown;
  // Everything was shown already: a browser's EventSource stops asking.
  if (shown === 410) return new Response(null, { status: 204 });
  return failure("invalidRequest", "Invalid Request: Last-Event-ID names no stream of this session");
}
