// Owns the sessions that this isolate has at upstreams of era 2025, each for one principal with one set of credentials
// and capabilities. What an anonymous caller begins ends with the call. Refuses to share a session between two callers.

import type { Opened2025 } from "../mcp-client/channel-2025.ts";
import type { RemoteEndpoint } from "../mcp-client/remote-endpoint.ts";
import { end2025 } from "../mcp-client/streamable-2025.ts";

export interface HeldSession {
  readonly key: string;
  /** As it was used last: by then it may have another access token. */
  endpoint: RemoteEndpoint;
  readonly opened: Opened2025;
  /** Counts requests on: two with one id must not be under way in one session. */
  readonly nextId: () => number;
  usedAt: number;
  /** How many run in it now: it is not ended before they are. */
  calls: number;
  /** `over`: nobody is lent it any more, and the last call in it ends it. `gone`: the upstream does not know it. */
  state: "held" | "over" | "gone";
}

const MAX_HELD = 200;
/** Servers forget sessions that are idle; one that is older than this is ended and begun again. */
const MAX_IDLE_MS = 240_000;
const GOODBYE_MS = 2000;

type Later = (work: Promise<unknown>) => void;

/** By key, least recently used first. */
const held = new Map<string, HeldSession>();

/** For one more call, which has to return it. `later`: takes the work of ending sessions whose time is over. */
export function lendSession(key: string, now: number, later: Later): HeldSession | undefined {
  for (const session of held.values()) {
    if (now - session.usedAt <= MAX_IDLE_MS) break;
    letGo(session, later);
  }
  const found = held.get(key);
  if (!found) return undefined;
  found.calls += 1;
  keepUsed(found, now);
  return found;
}

/** Lends one that a call has begun to others as well, unless there is another by now: then it ends with its call. */
export function holdSession(session: HeldSession, now: number, later: Later): void {
  if (held.has(session.key)) return;
  session.state = "held";
  keepUsed(session, now);
  for (const oldest of held.values()) {
    if (held.size <= MAX_HELD) break;
    letGo(oldest, later);
  }
}

/** A call in it is over. Never rejects. */
export async function returnSession(session: HeldSession, now: number): Promise<void> {
  session.calls -= 1;
  if (session.state === "held") keepUsed(session, now);
  else if (session.state === "over" && session.calls === 0) await leaveUpstream(session);
}

/** The upstream does not know it any more. */
export function dropSession(session: HeldSession): void {
  if (held.get(session.key) === session) held.delete(session.key);
  session.state = "gone";
}

function letGo(session: HeldSession, later: Later): void {
  held.delete(session.key);
  session.state = "over";
  if (session.calls === 0) later(leaveUpstream(session));
}

function keepUsed(session: HeldSession, now: number): void {
  session.usedAt = now;
  held.delete(session.key);
  held.set(session.key, session);
}

async function leaveUpstream({ endpoint, opened: { session } }: HeldSession): Promise<void> {
  if (session.id === undefined) return;
  await end2025(endpoint, session, { limits: { totalMs: GOODBYE_MS } }).catch(() => undefined);
}
