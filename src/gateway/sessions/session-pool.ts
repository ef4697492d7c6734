// Pools this isolate's sessions at upstreams of era 2025. A session belongs to one principal with one set of
// credentials and capabilities; the upstream's Durable Object shares it with other isolates. A session of an anonymous
// caller ends with its call. Two callers never share a session.

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

export interface PooledSessionOwner {
  readonly tenant: string;
  readonly principal: string;
}

interface SharedState {
  readonly tag: string;
  /** When the object last learned that the session is in use, milliseconds since the epoch. */
  reportedAt: number;
  isReporting: boolean;
}

export interface PooledSession {
  readonly key: string;
  readonly owner: PooledSessionOwner;
  /** Endpoint of the latest call, which may have a newer access token. */
  endpoint: RemoteEndpoint;
  opened: Pick<OpenedSession2025, "session">;
  /** Returns the next request id. Two open requests in one session must not have the same id. */
  readonly nextId: () => number;
  usedAt: number;
  /** Open calls. The session is not ended before they are. */
  calls: number;
  /**
   * `pooled`: calls may share it. `retired`: no new calls, and the last open call ends it. `abandoned`: the upstream does not
   * know it.
   */
  state: "pooled" | "retired" | "abandoned";
  /** Other isolates use the session too, so the object ends it and no isolate does. */
  shared: SharedState | undefined;
  /** A refusal of a new session says nothing about whether the upstream knows it. */
  isKnownGood: boolean;
}

const MAX_POOLED = 200;
/** Servers forget idle sessions, so an idle session older than this is ended and replaced. */
const MAX_IDLE_MS = 240_000;
const END_TIMEOUT_MS = 2000;
/** Delays while another isolate opens the session. After them, the call opens its own. */
const CLAIM_DELAYS_MS = [50, 100, 200, 400, 800] as const;
/** Each isolate uses its own range of request ids in a session, within 31 bits. */
const IDS_PER_ISOLATE = 2 ** 20;
const MAX_ID = 2 ** 31;

type WaitUntil = (work: Promise<unknown>) => void;

/** By key, least recently used first. Bound: MAX_POOLED; the tenant and principal with the most sessions loses one. */
const pool = new Map<string, PooledSession>();

/** A link, and what to do when the call ends. */
export interface LinkHandle {
  readonly link: UpstreamLink;
  readonly release?: () => Promise<unknown>;
  /**
   * Call when a request in the session failed. Resolves to true if the upstream may not know the session, which is then
   * no longer shared. Never rejects.
   */
  readonly reportFailure?: (fault: Fault) => Promise<boolean>;
  /** Call when a person is asked, which may take long. */
  readonly onQuestion?: () => void;
  readonly session?: PooledSession;
}

export interface AcquireOptions {
  /** Calls with the same key may share a session, so the key contains everything that they must have in common. */
  readonly key: string;
  readonly owner: PooledSessionOwner;
  readonly linkConfig: LinkConfig;
  readonly level: LogLevel | undefined;
  readonly isAnonymous: boolean;
  readonly signal: AbortSignal;
  readonly waitUntil: WaitUntil;
  /** Maximum duration of the call in milliseconds. */
  readonly callMs?: number;
  /** Shares the session with other isolates. Absent if it is not shared. */
  readonly createShare?: () => SharedSessionClient;
  /** Tag of a session that the upstream no longer knows. */
  readonly staleTag?: string | undefined;
}

export async function acquireLink(options: AcquireOptions): Promise<LinkHandle> {
  const pooled = takePooled(options);
  if (pooled) return createHandle(pooled, options);
  const share = options.isAnonymous ? undefined : options.createShare?.();
  if (!share) return createHandle(await openUnsharedSession(options), options, true);
  const askedAt = Date.now();
  const claim = await claimSession(options, share);
  if ("pooled" in claim) return createHandle(claim.pooled, options);
  switch (claim.state) {
    case "shared": {
      const { tag, session, uses } = claim;
      const nextId = createIdCounter((uses * IDS_PER_ISOLATE) % MAX_ID);
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
    // The session is used by this call only.
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

/** The object's answer, or a session that a parallel call pooled meanwhile. `away` if the object cannot be reached. */
async function claimSession(
  options: AcquireOptions,
  share: SharedSessionClient,
): Promise<SharedSessionClaim | { readonly state: "away" } | { readonly pooled: PooledSession }> {
  const { signal, linkConfig, callMs = 0, staleTag } = options;
  for (const waitMs of [...CLAIM_DELAYS_MS, 0]) {
    const claim = await share.claim(callMs, staleTag).catch(() => ({ state: "away" }) as const);
    if (claim.state !== "wait" || waitMs === 0) return claim;
    if (!(await pause(linkConfig.endpoint.clock, waitMs, signal))) break;
    const pooled = takePooled(options);
    if (pooled) return { pooled };
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
    state: "retired",
    shared: undefined,
    isKnownGood: false,
  };
}

/** The handshake may be megabytes, an isolate holds many sessions, and no call needs it. */
function dropHandshakeData(session: PooledSession): void {
  session.opened = { session: { ...session.opened.session, hello: {}, capabilities: {} } };
}

async function openSession2025(options: AcquireOptions): Promise<PooledSession> {
  const { linkConfig, level, signal, waitUntil } = options;
  const nextId = createIdCounter();
  const opened = await open2025(linkConfig.endpoint, toInitializeParams(linkConfig.client), nextId(), { signal });
  const session = createSession(options, opened, nextId);
  // A server without sessions would not remember the level.
  if (level !== undefined && opened.session.id !== undefined) {
    await requestLogLevel(createLink2025(linkConfig, nextId, opened), level, {
      clock: linkConfig.endpoint.clock,
      signal,
      waitUntil,
    });
  }
  return session;
}

/** Opens a session that this isolate ends. `isSingleUse`: it ends with the call. */
async function openUnsharedSession(options: AcquireOptions, isSingleUse = options.isAnonymous): Promise<PooledSession> {
  const session = await openSession2025(options);
  dropHandshakeData(session);
  // Anonymous callers must not share a session. If the server has no session id, there is nothing to share.
  if (!isSingleUse || session.opened.session.id === undefined) addToPool(session, options.waitUntil);
  return session;
}

/** Call only after a claim answered `make`. */
async function openSharedSession(
  options: AcquireOptions,
  share: SharedSessionClient,
  tag: string,
): Promise<PooledSession> {
  try {
    return await openSession2025(options);
  } catch (error) {
    // The error thrown next says more. If this fails, the object notices at the next claim.
    options.waitUntil(share.invalidate(tag).catch(() => undefined));
    throw error;
  }
}

/** Stores the session in the object, or retires it if the object does not accept it. Never rejects. */
async function publishSession(
  session: PooledSession,
  { callMs = 0 }: AcquireOptions,
  share: SharedSessionClient,
): Promise<void> {
  const { shared, opened } = session;
  if (!shared) return;
  const { tag } = shared;
  // A lost answer may mean that the session was stored and other isolates use it. The store is repeated, and the
  // session is not ended under them.
  const store = () => share.store(tag, opened.session, callMs);
  const isStored = await store()
    .catch(store)
    .catch(() => true);
  dropHandshakeData(session);
  if (isStored) return;
  session.shared = undefined;
  if (session.state !== "abandoned") await retireSession(session);
}

function poolSharedSession(
  session: PooledSession,
  { tag, askedAt }: { readonly tag: string; readonly askedAt: number },
  { waitUntil }: AcquireOptions,
): PooledSession {
  session.shared = { tag, reportedAt: askedAt, isReporting: false };
  const previous = pool.get(session.key);
  // If this isolate has two, the newer session is known to be valid.
  if (previous) waitUntil(retireSession(previous));
  addToPool(session, waitUntil);
  return session;
}

/** Counts one more call, which `releaseSession` takes back. Sessions that were idle too long are retired. */
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

/** Whether the object still has the session, as far as this isolate knows. Reports its use from time to time. */
function isFresh(session: PooledSession, options: AcquireOptions, now: number): boolean {
  const { shared } = session;
  if (!shared) return true;
  const age = now - shared.reportedAt;
  // If the clock was set back, the age is unknown.
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

/** Lets other calls share the session. If a parallel call was faster, this session ends with its own call. */
function addToPool(session: PooledSession, later: WaitUntil): void {
  if (pool.has(session.key)) return;
  session.state = "pooled";
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

/** The largest group, so that a caller who opens many sessions evicts only its own. */
function largestGroup(
  sessions: readonly PooledSession[],
  ownerOf: (session: PooledSession) => string,
): readonly PooledSession[] {
  const all = [...Map.groupBy(sessions, ownerOf).values()];
  return all.toSorted((a, b) => b.length - a.length)[0] ?? [];
}

/** Call when a call in the session has ended. Never rejects. */
async function releaseSession(session: PooledSession, now: number): Promise<void> {
  session.calls -= 1;
  if (session.state === "pooled") touchSession(session, now);
  else await endIfUnused(session);
}

/** The upstream does not know the session, so no isolate may use it. A newer session under the key stays. */
async function invalidateSession(session: PooledSession, { createShare }: AcquireOptions): Promise<void> {
  abandonSession(session);
  const { shared } = session;
  if (shared)
    await createShare?.()
      .invalidate(shared.tag)
      // If the object does not hear of it, the claim expires there.
      .catch(() => undefined);
}

/** The session may still exist. Its owner, this isolate or the object, ends it when no call uses it. */
async function suspectSession(session: PooledSession, { createShare }: AcquireOptions): Promise<void> {
  const { shared } = session;
  if (!shared) return retireSession(session);
  abandonSession(session);
  await createShare?.()
    .suspect(shared.tag)
    // If the object does not hear of it, the claim expires there.
    .catch(() => undefined);
}

/** No call here uses it any more, and this isolate does not end it. */
function abandonSession(session: PooledSession): void {
  if (pool.get(session.key) === session) pool.delete(session.key);
  session.state = "abandoned";
}

/** Stops sharing the session. Never rejects. */
async function retireSession(session: PooledSession): Promise<void> {
  if (pool.get(session.key) === session) pool.delete(session.key);
  session.state = "retired";
  await endIfUnused(session);
}

function touchSession(session: PooledSession, now: number): void {
  session.usedAt = now;
  pool.delete(session.key);
  pool.set(session.key, session);
}

async function endIfUnused({ endpoint, opened: { session }, state, calls, shared }: PooledSession): Promise<void> {
  if (state !== "retired" || calls > 0 || shared || session.id === undefined) return;
  // Best effort: the server may be gone.
  await end2025(endpoint, session, { limits: { totalMs: END_TIMEOUT_MS } }).catch(() => undefined);
}
