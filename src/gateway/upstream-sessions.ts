// Owns the sessions that this isolate has at upstreams of era 2025, each for one principal with one set of credentials
// and capabilities. What an anonymous caller begins ends with the call. Refuses to share a session between two callers.

import type { Opened2025 } from "../mcp-client/channel-2025.ts";
import type { RemoteEndpoint } from "../mcp-client/remote-endpoint.ts";
import { end2025, open2025 } from "../mcp-client/streamable-2025.ts";
import type { LogLevel } from "../protocol/meta.ts";
import type { StopSignal } from "../protocol/plain-signal.ts";
import { askForLogs, counting, helloOf, link2025, type LinkHow, type UpstreamLink } from "./upstream-link.ts";

/** For whom a session is. */
export interface LinkOwner {
  readonly tenant: string;
  readonly principal: string;
}

export interface HeldSession {
  readonly key: string;
  readonly owner: LinkOwner;
  /** That of the call that used it last: a later call may bring a newer access token. */
  endpoint: RemoteEndpoint;
  readonly opened: Opened2025;
  /** Gives the id of the next request: two requests with one id must not be under way in one session. */
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

/** A link, and what is to be done when the call is over. */
export interface Lent {
  readonly link: UpstreamLink;
  readonly held?: HeldSession;
  readonly over?: () => Promise<unknown>;
}

export interface Lending {
  /** Calls with the same key may share a session, so it has everything in it that they must have in common. */
  readonly key: string;
  readonly owner: LinkOwner;
  readonly how: LinkHow;
  /** The level of log messages that the session is asked for. */
  readonly level: LogLevel | undefined;
  readonly isAnonymous: boolean;
  readonly signal: StopSignal;
  readonly later: Later;
}

/** A link in a session that is there, or in a new one. */
export async function lendLink(lending: Lending): Promise<Lent> {
  const { key, owner, how, level, isAnonymous, signal, later } = lending;
  const now = Date.now();
  const { endpoint, about } = how;
  const known = lendSession(key, now, later);
  if (known) {
    known.endpoint = endpoint;
    return lent(known, how);
  }
  const nextId = counting();
  const opened = await open2025(endpoint, helloOf(about), nextId(), { signal });
  const session: HeldSession = { key, owner, endpoint, opened, nextId, usedAt: now, calls: 1, state: "over" };
  try {
    // A server that keeps no session would not remember the level.
    if (level !== undefined && opened.session.id !== undefined) {
      await askForLogs(link2025(how, nextId, opened), level, { signal });
    }
  } catch (error) {
    later(returnSession(session, now));
    throw error;
  }
  // Anonymous callers do not share a session. Where the server keeps none, there is nothing that they could share.
  if (!isAnonymous || opened.session.id === undefined) holdSession(session, now, later);
  return lent(session, how);
}

function lent(session: HeldSession, how: LinkHow): Lent {
  const link = link2025(how, session.nextId, session.opened);
  return { link, held: session, over: async () => returnSession(session, Date.now()) };
}

/** Counts one more call in it, which `returnSession` takes back. `later` is handed the ending of sessions that were idle too long. */
function lendSession(key: string, now: number, later: Later): HeldSession | undefined {
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

/** From now on other calls may share the session. If another call was faster with one, this one ends with its own call. */
function holdSession(session: HeldSession, now: number, later: Later): void {
  if (held.has(session.key)) return;
  session.state = "held";
  keepUsed(session, now);
  while (held.size > MAX_HELD) {
    const [oldest] = mostOf(
      mostOf([...held.values()], ({ owner }) => owner.tenant),
      ({ owner }) => owner.principal,
    );
    if (!oldest) return;
    letGo(oldest, later);
  }
}

/** Those of whoever has most: nobody loses a session to somebody who begins ever new ones. */
function mostOf(sessions: readonly HeldSession[], ownerOf: (session: HeldSession) => string): readonly HeldSession[] {
  const all = [...Map.groupBy(sessions, ownerOf).values()];
  return all.toSorted((a, b) => b.length - a.length)[0] ?? [];
}

/** A call in it is over. Never rejects. */
async function returnSession(session: HeldSession, now: number): Promise<void> {
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
