// Replaces a 2025 session that the server lost: initializes with the client's own parameters, and repeats its
// subscriptions and log level.

import { resultOf } from "../../mcp-client/message.ts";
import { buildRequest2025 } from "../../mcp-client/prepared-request.ts";
import { readResponse } from "../../mcp-client/mcp-reply.ts";
import type { Session2025 } from "../../mcp-client/session-2025.ts";
import { open2025, send2025 } from "../../mcp-client/streamable-2025.ts";
import { nextMessageId } from "../mcp-endpoint.ts";
import { mcpErrorMessage } from "../terminal/mcp-error.ts";
import type { SessionState, ReplayableRequest } from "./session-state.ts";
import type { BridgeOptions } from "./bridge-options.ts";

export async function reconnect(
  lostSession: Session2025,
  state: SessionState,
  options: BridgeOptions,
): Promise<Session2025> {
  const session = await openSession2025(lostSession, options);
  if (session.revision !== lostSession.revision) {
    options.log(`the new session speaks ${session.revision}, not ${lostSession.revision}`);
  }
  for (const request of state.requestsToReplay()) {
    if (await replay(session, request, options)) continue;
    options.log(`${request.method} could not be repeated in the new session`);
  }
  return session;
}

async function openSession2025(lostSession: Session2025, { endpoint, signal }: BridgeOptions): Promise<Session2025> {
  try {
    return (await open2025(endpoint, lostSession.hello, ownId(), { signal })).session;
  } catch (error) {
    const why = mcpErrorMessage(error, endpoint);
    throw new Error(`the session is lost, and the server gave no new one: ${why}`, { cause: error });
  }
}

async function replay(
  session: Session2025,
  replayed: ReplayableRequest,
  { endpoint, signal }: BridgeOptions,
): Promise<boolean> {
  const request = buildRequest2025({ id: ownId(), ...replayed });
  return resultOf(await readResponse(await send2025(endpoint, session, request, { signal }))) !== undefined;
}

/** An id that is unlikely to clash with the local client's ids. */
function ownId(): string {
  return `tenantry-${nextMessageId()}`;
}
