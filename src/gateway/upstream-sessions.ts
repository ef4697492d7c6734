// Owns the sessions that this isolate has at upstreams of era 2025, each for one principal with one set of credentials
// and capabilities. What an anonymous caller begins ends with the call. Refuses to share a session between two callers.

import type { Opened2025 } from "../mcp-client/channel-2025.ts";
import type { RemoteEndpoint } from "../mcp-client/remote-endpoint.ts";
import { end2025 } from "../mcp-client/streamable-2025.ts";

export interface HeldSession {
  readonly key: string;
  readonly endpoint: RemoteEndpoint;
  readonly opened: Opened2025;
  /** Counts requests on: two with one id must not be under way in one session. */
  readonly nextId: () => number;
  usedAt: number;
}

const MAX_HELD = 200;
/** Servers forget sessions that are idle; one that is older than this is ended and begun again. */
const MAX_IDLE_MS = 240_000;
const GOODBYE_MS = 2000;

/** By key, least recently used first. */
const held = new Map<string, HeldSession>();

/** `ended`: takes the work of ending sessions whose time is over. */
export function heldSession(
  key: string,
  now: number,
  ended: (work: Promise<unknown>) => void,
): HeldSession | undefined {
  for (const session of held.values()) {
    if (now - session.usedAt <= MAX_IDLE_MS) break;
    held.delete(session.key);
    ended(leaveUpstream(session));
  }
  const found = held.get(key);
  if (found) keepUsed(found, now);
  return found;
}

export function holdSession(session: HeldSession, now: number, ended: (work: Promise<unknown>) => void): void {
  const before = held.get(session.key);
  if (before) ended(leaveUpstream(before));
  keepUsed(session, now);
  for (const oldest of held.values()) {
    if (held.size <= MAX_HELD) break;
    held.delete(oldest.key);
    ended(leaveUpstream(oldest));
  }
}

function keepUsed(session: HeldSession, now: number): void {
  session.usedAt = now;
  held.delete(session.key);
  held.set(session.key, session);
}

/** The upstream does not know it any more. */
export function dropSession(session: HeldSession): void {
  if (held.get(session.key) === session) held.delete(session.key);
}

/** Never rejects. */
export async function leaveUpstream({
  endpoint,
  opened: { session },
}: Omit<HeldSession, "usedAt" | "key">): Promise<void> {
  if (session.id === undefined) return;
  await end2025(endpoint, session, { limits: { totalMs: GOODBYE_MS } }).catch(() => undefined);
}
