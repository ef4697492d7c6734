// Owns the sessions that this isolate uses at upstreams of era 2025, each for one principal with one set of credentials
// and capabilities, and shared with other isolates where an object keeps them. What an anonymous caller begins ends with
// the call. Refuses to share a session between two callers.

import type { Opened2025 } from "../../mcp-client/channel-2025.ts";
import { pause } from "../../mcp-client/clock.ts";
import type { Fault } from "../../mcp-client/fault.ts";
import type { RemoteEndpoint } from "../../mcp-client/remote-endpoint.ts";
import { end2025, open2025 } from "../../mcp-client/streamable-2025.ts";
import type { LogLevel } from "../../protocol/meta.ts";
import { isSessionRefused } from "../translate-error.ts";
import { askForLogs, counting, helloOf, link2025, type LinkHow, type UpstreamLink } from "../upstream-link.ts";
import type { SessionShare, SharedClaim } from "./session-share.ts";
import { ASKED_MS, REPORTED_MS, TRUSTED_MS } from "./upstream-object.ts";

/** For whom a session is. */
export interface LinkOwner {
  readonly tenant: string;
  readonly principal: string;
}

/** What the object that keeps it knows of a session. */
interface Shared {
  readonly tag: string;
  /** When the object was told last that it is used; milliseconds since the epoch. */
  toldAt: number;
  isTelling: boolean;
}

export interface HeldSession {
  readonly key: string;
  readonly owner: LinkOwner;
  /** That of the call that used it last: a later call may bring a newer access token. */
  endpoint: RemoteEndpoint;
  opened: Pick<Opened2025, "session">;
  /** Gives the id of the next request: two requests with one id must not be under way in one session. */
  readonly nextId: () => number;
  usedAt: number;
  /** How many run in it now: it is not ended before they are. */
  calls: number;
  /** `over`: nobody is lent it any more, and the last call in it ends it. `gone`: the upstream does not know it. */
  state: "held" | "over" | "gone";
  /** Other isolates use it too, so none of them ends it: the object does. */
  shared: Shared | undefined;
  /** What it was refused when it had just begun says nothing of whether the upstream knows it. */
  isSound: boolean;
}

const MAX_HELD = 200;
/** Servers forget sessions that are idle; one that is older than this is ended and begun again. */
const MAX_IDLE_MS = 240_000;
const GOODBYE_MS = 2000;
/** While another isolate makes the session. After these a call has a session of its own. */
const WAITS_MS = [50, 100, 200, 400, 800] as const;
/** Each isolate has ids of its own in a session, of those that fit into 31 bits. */
const IDS_EACH = 2 ** 20;
const IDS_IN_ALL = 2 ** 31;

type Later = (work: Promise<unknown>) => void;

/** By key, least recently used first. Bound: MAX_HELD; whoever has most loses one. */
const held = new Map<string, HeldSession>();

/** A link, and what is to be done when the call is over. */
export interface Lent {
  readonly link: UpstreamLink;
  readonly over?: () => Promise<unknown>;
  /** To be called where a call in it failed: whether the upstream may not know it, and nobody is lent it now. Never rejects. */
  readonly lost?: (fault: Fault) => Promise<boolean>;
  /** To be called when a person is asked, which may take long. */
  readonly asked?: () => void;
  readonly held?: HeldSession;
}

export interface Lending {
  /** Calls with the same key may share a session, so it has everything in it that they must have in common. */
  readonly key: string;
  readonly owner: LinkOwner;
  readonly how: LinkHow;
  /** The level of log messages that the session is asked for. */
  readonly level: LogLevel | undefined;
  readonly isAnonymous: boolean;
  readonly signal: AbortSignal;
  readonly later: Later;
  /** How long the call may take. */
  readonly callMs?: number;
  /** How it is shared with other isolates; absent: it is not. */
  readonly share?: () => SessionShare;
  /** The tag of one that the upstream does not know any more. */
  readonly dead?: string | undefined;
}

/** A link in a session that is there, or in a new one. */
export async function lendLink(lending: Lending): Promise<Lent> {
  const known = lendSession(lending);
  if (known) return lent(known, lending);
  const share = lending.isAnonymous ? undefined : lending.share?.();
  if (!share) return lent(await beginSession(lending), lending, true);
  const askedAt = Date.now();
  const claimed = await claimSession(lending, share);
  if ("held" in claimed) return lent(claimed.held, lending);
  switch (claimed.state) {
    case "lent": {
      const { tag, session, times } = claimed;
      const nextId = counting((times * IDS_EACH) % IDS_IN_ALL);
      const another = newSession(lending, { session }, nextId);
      forgetHello(another);
      return lent(holdShared(another, { tag, askedAt }, lending), lending);
    }
    case "make": {
      const begun = await beginShared(lending, share, claimed.tag);
      holdShared(begun, { tag: claimed.tag, askedAt }, lending);
      lending.later(keepShared(begun, lending, share));
      return lent(begun, lending, true);
    }
    case "away":
      return lent(await beginSession(lending), lending, true);
    // Nobody knows of it but this call.
    case "alone":
    case "wait":
      return lent(await beginSession(lending, true), lending, true);
  }
}

function lent(session: HeldSession, lending: Lending, isNew = false): Lent {
  session.endpoint = lending.how.endpoint;
  const link = link2025(lending.how, session.nextId, session.opened);
  return {
    link,
    held: session,
    over: async () => returnSession(session, Date.now()),
    lost: async (fault) => {
      const isGone = fault.kind === "sessionGone";
      if (!isGone && !isSessionRefused(fault)) return false;
      if (!isGone && isNew) session.isSound = true;
      if (!isGone && session.isSound) return false;
      await (isGone ? dropSession(session, lending) : doubtSession(session, lending));
      return true;
    },
    asked: () => {
      if (session.shared) tellUsed(session, session.shared, lending, ASKED_MS);
    },
  };
}

/** What the object says, or the session that a call beside this one was given meanwhile. `away`: it cannot be asked. */
async function claimSession(
  lending: Lending,
  share: SessionShare,
): Promise<SharedClaim | { readonly state: "away" } | { readonly held: HeldSession }> {
  const { signal, how, callMs = 0, dead } = lending;
  for (const waitMs of [...WAITS_MS, 0]) {
    const claimed = await share.claim(callMs, dead).catch(() => ({ state: "away" }) as const);
    if (claimed.state !== "wait" || waitMs === 0) return claimed;
    if (!(await pause(how.endpoint.clock, waitMs, signal))) break;
    const known = lendSession(lending);
    if (known) return { held: known };
  }
  return { state: "alone" };
}

function newSession({ key, owner, how }: Lending, opened: HeldSession["opened"], nextId: () => number): HeldSession {
  const { endpoint } = how;
  const usedAt = Date.now();
  const { session } = opened;
  return {
    key,
    owner,
    endpoint,
    opened: { session },
    nextId,
    usedAt,
    calls: 1,
    state: "over",
    shared: undefined,
    isSound: false,
  };
}

/** What both sides said when it began may be megabytes, and an isolate holds many: no call in it needs that. */
function forgetHello(begun: HeldSession): void {
  begun.opened = { session: { ...begun.opened.session, hello: {}, capabilities: {} } };
}

async function openSession2025(lending: Lending): Promise<HeldSession> {
  const { how, level, signal, later } = lending;
  const nextId = counting();
  const opened = await open2025(how.endpoint, helloOf(how.about), nextId(), { signal });
  const session = newSession(lending, opened, nextId);
  // A server that keeps no session would not remember the level.
  if (level !== undefined && opened.session.id !== undefined) {
    await askForLogs(link2025(how, nextId, opened), level, { clock: how.endpoint.clock, signal, later });
  }
  return session;
}

/** One that this isolate ends. `isAlone`: with the call. */
async function beginSession(lending: Lending, isAlone = lending.isAnonymous): Promise<HeldSession> {
  const session = await openSession2025(lending);
  forgetHello(session);
  // Anonymous callers do not share a session. Where the server keeps none, there is nothing that they could share.
  if (!isAlone || session.opened.session.id === undefined) holdSession(session, lending.later);
  return session;
}

/** For whoever was told to make it. */
async function beginShared(lending: Lending, share: SessionShare, tag: string): Promise<HeldSession> {
  try {
    return await openSession2025(lending);
  } catch (error) {
    // What is thrown next says more; the object finds out at the next claim.
    lending.later(share.gone(tag).catch(() => undefined));
    throw error;
  }
}

/** Hands it to the object, or keeps it from other calls where the object does not take it. Never rejects. */
async function keepShared(session: HeldSession, { callMs = 0 }: Lending, share: SessionShare): Promise<void> {
  const { shared, opened } = session;
  if (!shared) return;
  const { tag } = shared;
  // It may have arrived although nothing says so, and other isolates use it: it is said again, and not ended under them.
  const keep = () => share.keep(tag, opened.session, callMs);
  const isKept = await keep()
    .catch(keep)
    .catch(() => true);
  forgetHello(session);
  if (isKept) return;
  session.shared = undefined;
  if (session.state !== "gone") await letGo(session);
}

function holdShared(
  session: HeldSession,
  { tag, askedAt }: { readonly tag: string; readonly askedAt: number },
  { later }: Lending,
): HeldSession {
  session.shared = { tag, toldAt: askedAt, isTelling: false };
  const before = held.get(session.key);
  // Of one that this isolate has anew, the newer is known to be in force.
  if (before) later(letGo(before));
  holdSession(session, later);
  return session;
}

/** Counts one more call in it, which `returnSession` takes back. What was idle too long is ended later. */
function lendSession(lending: Lending): HeldSession | undefined {
  const now = Date.now();
  for (const session of held.values()) {
    if (now - session.usedAt <= MAX_IDLE_MS) break;
    lending.later(letGo(session));
  }
  const found = held.get(lending.key);
  if (!found || !isTrusted(found, lending, now)) return undefined;
  found.calls += 1;
  keepUsed(found, now);
  return found;
}

/** Whether the object still has it, as far as this isolate can know. Tells the object now and then that it is used. */
function isTrusted(session: HeldSession, lending: Lending, now: number): boolean {
  const { shared } = session;
  if (!shared) return true;
  const age = now - shared.toldAt;
  // A clock that was set back says nothing.
  if (age < 0 || age >= TRUSTED_MS) {
    lending.later(letGo(session));
    return false;
  }
  if (age >= REPORTED_MS && !shared.isTelling) tellUsed(session, shared, lending, lending.callMs ?? 0);
  return true;
}

function tellUsed(session: HeldSession, shared: Shared, { share, later }: Lending, callMs: number): void {
  const now = Date.now();
  shared.isTelling = true;
  const told = share?.().used(shared.tag, callMs) ?? Promise.resolve(true);
  const done = (isThere: boolean) => {
    if (isThere) shared.toldAt = Math.max(shared.toldAt, now);
    else forget(session);
  };
  later(
    told
      .then(done, () => undefined)
      .finally(() => {
        shared.isTelling = false;
      }),
  );
}

/** From now on other calls may share the session. If another call was faster with one, this one ends with its own call. */
function holdSession(session: HeldSession, later: Later): void {
  if (held.has(session.key)) return;
  session.state = "held";
  keepUsed(session, Date.now());
  while (held.size > MAX_HELD) {
    const [oldest] = mostOf(
      mostOf([...held.values()], ({ owner }) => owner.tenant),
      ({ owner }) => owner.principal,
    );
    if (!oldest) return;
    later(letGo(oldest));
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
  else await leaveUpstream(session);
}

/** The upstream does not know it any more, so no isolate is to be lent it. Another one in its place stays. */
async function dropSession(session: HeldSession, { share }: Lending): Promise<void> {
  forget(session);
  const { shared } = session;
  if (shared)
    await share?.()
      .gone(shared.tag)
      // Its claim ends by its time.
      .catch(() => undefined);
}

/** It may be there: whoever keeps it ends it, when nobody uses it any more. */
async function doubtSession(session: HeldSession, { share }: Lending): Promise<void> {
  const { shared } = session;
  if (!shared) return letGo(session);
  forget(session);
  await share?.()
    .doubted(shared.tag)
    // Its claim ends by its time.
    .catch(() => undefined);
}

/** Nobody here uses it any more, and nobody ends it. */
function forget(session: HeldSession): void {
  if (held.get(session.key) === session) held.delete(session.key);
  session.state = "gone";
}

/** Lends it to nobody any more. Never rejects. */
async function letGo(session: HeldSession): Promise<void> {
  if (held.get(session.key) === session) held.delete(session.key);
  session.state = "over";
  await leaveUpstream(session);
}

function keepUsed(session: HeldSession, now: number): void {
  session.usedAt = now;
  held.delete(session.key);
  held.set(session.key, session);
}

async function leaveUpstream({ endpoint, opened: { session }, state, calls, shared }: HeldSession): Promise<void> {
  if (state !== "over" || calls > 0 || shared || session.id === undefined) return;
  // A goodbye: the server may be gone.
  await end2025(endpoint, session, { limits: { totalMs: GOODBYE_MS } }).catch(() => undefined);
}
