// Owns giving a local client a new 2025 session for one that the server lost: opened with the client's own words, and
// asked for all that the lost one had been asked for.

import { resultOf } from "../../../mcp-client/message.ts";
import { request2025 } from "../../../mcp-client/outgoing.ts";
import { responseOf } from "../../../mcp-client/mcp-reply.ts";
import type { Session2025 } from "../../../mcp-client/session-2025.ts";
import { open2025, send2025 } from "../../../mcp-client/streamable-2025.ts";
import { nextRequestId } from "../mcp-endpoint.ts";
import { mcpReason } from "../terminal/mcp-problem.ts";
import type { Remembered, Repeated } from "./remembered.ts";
import type { Wiring } from "./wiring.ts";

export async function beginAgain(lost: Session2025, remembered: Remembered, wiring: Wiring): Promise<Session2025> {
  const session = await open(lost, wiring);
  if (session.revision !== lost.revision) {
    wiring.log(`the new session speaks ${session.revision}, not ${lost.revision}`);
  }
  for (const repeated of remembered.toRepeat()) {
    if (await repeat(session, repeated, wiring)) continue;
    wiring.log(`${repeated.method} could not be repeated in the new session`);
  }
  return session;
}

async function open(lost: Session2025, { endpoint, signal }: Wiring): Promise<Session2025> {
  try {
    return (await open2025(endpoint, lost.hello, ownId(), { signal })).session;
  } catch (error) {
    const why = mcpReason(error, endpoint);
    throw new Error(`the session is lost, and no new one is given: ${why}`, { cause: error });
  }
}

async function repeat(session: Session2025, repeated: Repeated, { endpoint, signal }: Wiring): Promise<boolean> {
  const request = request2025({ id: ownId(), ...repeated });
  return resultOf(await responseOf(await send2025(endpoint, session, request, { signal }))) !== undefined;
}

/** An id that the local client will hardly have chosen for a request of its own. */
function ownId(): string {
  return `tenantry-${nextRequestId()}`;
}
