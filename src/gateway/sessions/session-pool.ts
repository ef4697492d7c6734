// Owns the sessions that this isolate uses at upstreams of era 2025, each for one principal with one set of credentials
// and capabilities, and shared with other isolates where an object keeps them. What an anonymous caller begins ends with
// the call. Refuses to share a session between two callers.

import type { OpenedSession2025 } from "../../mcp-client/channel-2025.ts";
import { pause } from "../../mcp-client/clock.ts";
import type { Fault } from "../../mcp-client/fault.ts";
import type { RemoteEndpoint } from "../../mcp-client/remote-endpoint.ts";
import { end2025, open2025 } from "../../mcp-client/streamable-2025.ts";
import type { LogLevel } from "../../protocol/meta.ts";
import { isSessionRefused } from "../upstream-error.ts";
import {
  requestLogLevel,
  createIdCounter,
  toInitializeParams,
  createLink2025,
  type LinkConfig,
  type UpstreamLink,
} from "../upstream-link.ts";
import type { SharedSessionClient, SharedSessionClaim } from "./shared-session-client.ts";
import { QUESTION_MS, REPORT_AFTER_MS, MAX_UNREPORTED_MS } from "./upstream-object.ts";

/** For whom a session is. */
export interface PooledSessionOwner {
  readonly tenant: string;
  readonly principal: string;
}

/** What the object that keeps it knows of a session. */
interface SharedState {
  readonly tag: string;
  /** When the object was told last that it is used; milliseconds since the epoch. */
  reportedAt: number;
  isReporting: boolean;
}

export interface PooledSession {
  readonly key: string;
  readonly owner: PooledSessionOwner;
  /** That of the call that used it last: a later call may bring a newer access token. */
  endpoint: RemoteEndpoint;
  opened: Pick<OpenedSession2025, "session">;
  /** Gives the id of the next request: two requests with one id must not be under way in one session. */
  readonly nextId: () => number;
  usedAt: number;
  /** How many run in it now: it is not ended before they are. */
  calls: number;
  /** `over`: nobody is lent it any more, and the last call in it ends it. `gone`: the upstream does not know it. */
  state: "held" | "over" | "gone";
  /** Other isolates use it too, so none of them ends it: the object does. */
  shared: SharedState | undefined;
  /** What it was refused when it had just begun says nothing of whether the upstream knows it. */
  isKnownGood: boolean;
}

const MAX_POOLED = 200;
/** Servers forget sessions that are idle; one that is older than this is ended and begun again. */
const MAX_IDLE_MS = 240_000;
const END_TIMEOUT_MS = 2000;
/** While another isolate makes the session. After these a call has a session of its own. */
const CLAIM_DELAYS_MS = [50, 100, 200, 400, 800] as const;
/** Each isolate has ids of its own in a session, of those that fit into 31 bits. */
const IDS_PER_ISOLATE = 2 ** 20;
const MAX_ID = 2 ** 31;

type WaitUntil = (work: Promise<unknown>) => void;

/** By key, least recently used first. Bound: MAX_HELD; whoever has most loses one. */
const pool = new Map<string, PooledSession>();

/** A link, and what is to be done when the call is over. */
export interface LinkHandle {
  readonly link: UpstreamLink;
  readonly release?: () => Promise<unknown>;
  /** To be called where a call in it failed: whether the upstream may not know it, and nobody is lent it now. Never rejects. */
  readonly reportFailure?: (fault: Fault) => Promise<boolean>;
  /** To be called when a person is asked, which may take long. */
  readonly onQuestion?: () => void;
  readonly session?: PooledSession;
}

export interface AcquireOptions {
  /** Calls with the same key may share a session, so it has everything in it that they must have in common. */
  readonly key: string;
  readonly owner: PooledSessionOwner;
  readonly linkConfig: LinkConfig;
  /** The level of log messages that the session is asked for. */
  readonly level: LogLevel | undefined;
  readonly isAnonymous: boolean;
  readonly signal: AbortSignal;
  readonly waitUntil: WaitUntil;
  /** How long the call may take. */
  readonly callMs?: number;
  /** How it is shared with other isolates; absent: it is not. */
  readonly createShare?: () => SharedSessionClient;
  /** The tag of one that the upstream does not know any more. */
  readonly staleTag?: string | undefined;
}

/** A link in a session that is there, or in a new one. */
export async function acquireLink(options: AcquireOptions): Promise<LinkHandle> {
  const pooled = takePooled(options);
  if (pooled) return createHandle(pooled, options);
  const share = options.isAnonymous ? undefined : options.createShare?.();
  if (!share) return createHandle(await openUnsharedSession(options), options, true);
  const askedAt = Date.now();
  const claim = await claimSession(options, share);
  if ("held" in claim) return createHandle(claim.held, options);
  switch (claim.state) {
    case "lent": {
      const { tag, session, times } = claim;
      const nextId = createIdCounter((times * IDS_PER_ISOLATE) % MAX_ID);
      const sharedSession = createSession(options, { session }, nextId);
      dropHandshakeData(sharedSession);
      return createHandle(poolSharedSession(sharedSession, { tag, askedAt }, options), options);
    }
    case "make": {
      const session = await openSharedSession(options, share, claim.tag);
      poolSharedSession(session, { tag: claim.tag, askedAt }, options);
      options.waitUntil(publishSession(session, options, share));
      return createHandle(session, options, true);
    }
    case "away":
      return createHandle(await openUnsharedSession(options), options, true);
    // Nobody knows of it but this call.
    case "alone":
    case "wait":
      return createHandle(await openUnsharedSession(options, true), options, true);
  }
}

function createHandle(session: PooledSession, options: AcquireOptions, isNew = false): LinkHandle {
  session.endpoint = options.linkConfig.endpoint;
  const link = createLink2025(options.linkConfig, session.nextId, session.opened);
  return {
    link,
    session: session,
    release: async () => releaseSession(session, Date.now()),
    reportFailure: async (fault) => {
      const isGone = fault.kind === "sessionGone";
      if (!isGone && !isSessionRefused(fault)) return false;
      if (!isGone && isNew) session.isKnownGood = true;
      if (!isGone && session.isKnownGood) return false;
      await (isGone ? invalidateSession(session, options) : suspectSession(session, options));
      return true;
    },
    onQuestion: () => {
      if (session.shared) reportUse(session, session.shared, options, QUESTION_MS);
    },
  };
}

/** What the object says, or the session that a call beside this one was given meanwhile. `away`: it cannot be asked. */
async function claimSession(
  options: AcquireOptions,
  share: SharedSessionClient,
): Promise<SharedSessionClaim | { readonly state: "away" } | { readonly held: PooledSession }> {
  const { signal, linkConfig, callMs = 0, staleTag } = options;
  for (const waitMs of [...CLAIM_DELAYS_MS, 0]) {
    const claim = await share.claim(callMs, staleTag).catch(() => ({ state: "away" }) as const);
    if (claim.state !== "wait" || waitMs === 0) return claim;
    if (!(await pause(linkConfig.endpoint.clock, waitMs, signal))) break;
    const pooled = takePooled(options);
    if (pooled) return { held: pooled };
  }
  return { state: "alone" };
}

function createSession(
  { key, owner, linkConfig }: AcquireOptions,
  opened: PooledSession["opened"],
  nextId: () => number,
): PooledSession {
  const { endpoint } = linkConfig;
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
    isKnownGood: false,
  };
}

/** What both sides said when it began may be megabytes, and an isolate holds many: no call in it needs that. */
function dropHandshakeData(session: PooledSession): void {
  session.opened = { session: { ...session.opened.session, hello: {}, capabilities: {} } };
}

async function openSession2025(options: AcquireOptions): Promise<PooledSession> {
  const { linkConfig, level, signal, waitUntil } = options;
  const nextId = createIdCounter();
  const opened = await open2025(linkConfig.endpoint, toInitializeParams(linkConfig.client), nextId(), { signal });
  const session = createSession(options, opened, nextId);
  // A server that keeps no session would not remember the level.
  if (level !== undefined && opened.session.id !== undefined) {
    await requestLogLevel(createLink2025(linkConfig, nextId, opened), level, {
      clock: linkConfig.endpoint.clock,
      signal,
      waitUntil,
    });
  }
  return session;
}

/** One that this isolate ends. `isAlone`: with the call. */
async function openUnsharedSession(options: AcquireOptions, isSingleUse = options.isAnonymous): Promise<PooledSession> {
  const session = await openSession2025(options);
  dropHandshakeData(session);
  // Anonymous callers do not share a session. Where the server keeps none, there is nothing that they could share.
  if (!isSingleUse || session.opened.session.id === undefined) addToPool(session, options.waitUntil);
  return session;
}

/** For whoever was told to make it. */
async function openSharedSession(
  options: AcquireOptions,
  share: SharedSessionClient,
  tag: string,
): Promise<PooledSession> {
  try {
    return await openSession2025(options);
  } catch (error) {
    // What is thrown next says more; the object finds out at the next claim.
    options.waitUntil(share.invalidate(tag).catch(() => undefined));
    throw error;
  }
}

/** Hands it to the object, or keeps it from other calls where the object does not take it. Never rejects. */
async function publishSession(
  session: PooledSession,
  { callMs = 0 }: AcquireOptions,
  share: SharedSessionClient,
): Promise<void> {
  const { shared, opened } = session;
  if (!shared) return;
  const { tag } = shared;
  // It may have arrived although nothing says so, and other isolates use it: it is said again, and not ended under them.
  const store = () => share.store(tag, opened.session, callMs);
  const isStored = await store()
    .catch(store)
    .catch(() => true);
  dropHandshakeData(session);
  if (isStored) return;
  session.shared = undefined;
  if (session.state !== "gone") await retireSession(session);
}

function poolSharedSession(
  session: PooledSession,
  { tag, askedAt }: { readonly tag: string; readonly askedAt: number },
  { waitUntil }: AcquireOptions,
): PooledSession {
  session.shared = { tag, reportedAt: askedAt, isReporting: false };
  const previous = pool.get(session.key);
  // Of one that this isolate has anew, the newer is known to be in force.
  if (previous) waitUntil(retireSession(previous));
  addToPool(session, waitUntil);
  return session;
}

/** Counts one more call in it, which `returnSession` takes back. What was idle too long is ended later. */
function takePooled(options: AcquireOptions): PooledSession | undefined {
  const now = Date.now();
  for (const session of pool.values()) {
    if (now - session.usedAt <= MAX_IDLE_MS) break;
    options.waitUntil(retireSession(session));
  }
  const pooled = pool.get(options.key);
  if (!pooled || !isFresh(pooled, options, now)) return undefined;
  pooled.calls += 1;
  touchSession(pooled, now);
  return pooled;
}

/** Whether the object still has it, as far as this isolate can know. Tells the object now and then that it is used. */
function isFresh(session: PooledSession, options: AcquireOptions, now: number): boolean {
  const { shared } = session;
  if (!shared) return true;
  const age = now - shared.reportedAt;
  // A clock that was set back says nothing.
  if (age < 0 || age >= MAX_UNREPORTED_MS) {
    options.waitUntil(retireSession(session));
    return false;
  }
  if (age >= REPORT_AFTER_MS && !shared.isReporting) reportUse(session, shared, options, options.callMs ?? 0);
  return true;
}

function reportUse(
  session: PooledSession,
  shared: SharedState,
  { createShare, waitUntil }: AcquireOptions,
  callMs: number,
): void {
  const now = Date.now();
  shared.isReporting = true;
  const reported = createShare?.().touch(shared.tag, callMs) ?? Promise.resolve(true);
  const done = (isThere: boolean) => {
    if (isThere) shared.reportedAt = Math.max(shared.reportedAt, now);
    else abandonSession(session);
  };
  waitUntil(
    reported
      .then(done, () => undefined)
      .finally(() => {
        shared.isReporting = false;
      }),
  );
}

/** From now on other calls may share the session. If another call was faster with one, this one ends with its own call. */
function addToPool(session: PooledSession, later: WaitUntil): void {
  if (pool.has(session.key)) return;
  session.state = "held";
  touchSession(session, Date.now());
  while (pool.size > MAX_POOLED) {
    const [oldest] = largestGroup(
      largestGroup([...pool.values()], ({ owner }) => owner.tenant),
      ({ owner }) => owner.principal,
    );
    if (!oldest) return;
    later(retireSession(oldest));
  }
}

/** Those of whoever has most: nobody loses a session to somebody who begins ever new ones. */
function largestGroup(
  sessions: readonly PooledSession[],
  ownerOf: (session: PooledSession) => string,
): readonly PooledSession[] {
  const all = [...Map.groupBy(sessions, ownerOf).values()];
  return all.toSorted((a, b) => b.length - a.length)[0] ?? [];
}

/** A call in it is over. Never rejects. */
async function releaseSession(session: PooledSession, now: number): Promise<void> {
  session.calls -= 1;
  if (session.state === "held") touchSession(session, now);
  else await endIfUnused(session);
}

/** The upstream does not know it any more, so no isolate is to be lent it. Another one in its place stays. */
async function invalidateSession(session: PooledSession, { createShare }: AcquireOptions): Promise<void> {
  abandonSession(session);
  const { shared } = session;
  if (shared)
    await createShare?.()
      .invalidate(shared.tag)
      // Its claim ends by its time.
      .catch(() => undefined);
}

/** It may be there: whoever keeps it ends it, when nobody uses it any more. */
async function suspectSession(session: PooledSession, { createShare }: AcquireOptions): Promise<void> {
  const { shared } = session;
  if (!shared) return retireSession(session);
  abandonSession(session);
  await createShare?.()
    .suspect(shared.tag)
    // Its claim ends by its time.
    .catch(() => undefined);
}

/** Nobody here uses it any more, and nobody ends it. */
function abandonSession(session: PooledSession): void {
  if (pool.get(session.key) === session) pool.delete(session.key);
  session.state = "gone";
}

/** Lends it to nobody any more. Never rejects. */
async function retireSession(session: PooledSession): Promise<void> {
  if (pool.get(session.key) === session) pool.delete(session.key);
  session.state = "over";
  await endIfUnused(session);
}

function touchSession(session: PooledSession, now: number): void {
  session.usedAt = now;
  pool.delete(session.key);
  pool.set(session.key, session);
}

async function endIfUnused({ endpoint, opened: { session }, state, calls, shared }: PooledSession): Promise<void> {
  if (state !== "over" || calls > 0 || shared || session.id === undefined) return;
  // A goodbye: the server may be gone.
  await end2025(endpoint, session, { limits: { totalMs: END_TIMEOUT_MS } }).catch(() => undefined);
}
